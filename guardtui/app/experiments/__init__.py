"""Experiments: candidate definitions measured on the guardrail itself."""
