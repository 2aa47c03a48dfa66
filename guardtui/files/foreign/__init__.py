"""Labelled prompts in the formats of other tools; each format has a module of its own."""
