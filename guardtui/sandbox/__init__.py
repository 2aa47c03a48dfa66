"""A local AIRS-compatible server with faults on demand; the embedded engine judges."""
