"""The pure core: topics, prompt sets, verdicts, metrics, comparisons. No input, no output."""
