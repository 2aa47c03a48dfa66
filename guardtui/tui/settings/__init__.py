"""The settings of the app, its themes and its scanner."""
