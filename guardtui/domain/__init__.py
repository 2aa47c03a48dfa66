"""The pure core: topics, prompt sets, verdicts, metrics and comparisons, without input or output."""
