"""Remote scans: plan, ask the author, run, record."""
