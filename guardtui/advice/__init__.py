"""Measured advice: what to change in a definition, and the effect of each of its parts."""
