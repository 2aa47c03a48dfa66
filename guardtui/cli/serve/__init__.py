"""The app in a browser on this machine."""
