"""Models as guardrails: judges that answer in words, decision models that answer by a score."""
