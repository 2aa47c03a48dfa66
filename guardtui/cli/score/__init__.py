"""Scores of a model's outputs against their targets."""
