"""Reports written from the screen."""
