"""Labelled prompts in the formats of other tools, each read by a module of its own."""
