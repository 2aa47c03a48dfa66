"""Reports on sessions and evaluations, one file per format."""
