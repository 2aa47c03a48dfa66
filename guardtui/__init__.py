"""guardtui: refine custom topic guardrails in the terminal."""

__version__ = "0.1.0"
