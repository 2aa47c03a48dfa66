"""Evaluating, remembering and comparing iterations of one topic."""
