"""The threshold sweep."""
