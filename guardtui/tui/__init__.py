"""The terminal app: views of the session, driven by keys."""
