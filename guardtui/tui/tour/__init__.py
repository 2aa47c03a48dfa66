"""The tour of the main screen."""
