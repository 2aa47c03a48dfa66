"""Scorers run on a file of outputs; no widgets."""
