"""A decision model as the guardrail: a yes/no question, answered by a probability."""
