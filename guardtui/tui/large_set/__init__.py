"""Large prompt sets, of which the main screen shows a sample."""
