"""Forecast of a guardrail's verdicts from recorded ones."""
