"""The metrics pane and the header."""
