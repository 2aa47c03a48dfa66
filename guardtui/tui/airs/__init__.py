"""AIRS on the screen: its topics, and the dialogs of changes in it."""
