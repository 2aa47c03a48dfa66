"""Comparison of two evaluations: its data, its document, and JSON."""
