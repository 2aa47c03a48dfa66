"""The terminal, the desktop and the clipboard, as the app uses them."""
