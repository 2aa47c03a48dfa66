"""Experiments on the guardrail: their questions, line, and page."""
