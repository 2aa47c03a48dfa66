"""The choice of the guardrail, and how well forecasts of it have agreed with it."""
