"""The engine: scores by semantic similarity, offline; an approximation of a guardrail."""
