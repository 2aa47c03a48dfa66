"""Single-line inputs: plain, secret, with history, paths and filters."""
