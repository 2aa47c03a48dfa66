"""The main screen: panes, services and an explicit list of features."""
