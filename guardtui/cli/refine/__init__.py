"""Edits of a definition: searched for, or tried in an experiment on the guardrail."""
