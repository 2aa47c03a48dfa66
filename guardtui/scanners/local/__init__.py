"""The embedded scanner: offline, by semantic similarity. A proxy, never the cloud's verdict."""
