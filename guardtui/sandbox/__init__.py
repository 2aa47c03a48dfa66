"""An AIRS-compatible server for this machine, with faults on demand, judged by the local engine."""
