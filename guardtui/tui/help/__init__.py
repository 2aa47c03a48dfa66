"""The help screen and its texts."""
