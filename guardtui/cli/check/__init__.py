"""Errors and warnings on definitions, alone or with their prompts."""
