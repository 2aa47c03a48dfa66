"""Use cases without a screen: one application state, and the services that change it."""
