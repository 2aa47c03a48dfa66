"""Reports as one HTML file that works from disk, without a network."""
