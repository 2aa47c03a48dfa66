"""Forecasts of a guardrail's verdicts on a definition that it has not judged yet."""
