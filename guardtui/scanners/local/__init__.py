"""The embedded scanner: offline, by semantic similarity. A stand-in, never the cloud's verdict."""
