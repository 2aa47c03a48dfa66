"""A local AIRS-compatible server with faults on demand; the engine judges."""
