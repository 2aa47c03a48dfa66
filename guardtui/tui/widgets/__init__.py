"""The app's own widgets."""
