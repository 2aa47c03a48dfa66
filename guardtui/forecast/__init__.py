"""What a guardrail would answer at a definition that it has not been asked about yet."""
