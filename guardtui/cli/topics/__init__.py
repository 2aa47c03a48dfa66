"""Topics of AIRS."""
