"""Evaluation of a topic against labelled prompts."""
