"""Remote scans on the screen."""
