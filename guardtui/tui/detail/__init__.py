"""One prompt in full."""
