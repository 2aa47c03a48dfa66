"""A language model as the guardrail: given the topic and a prompt, it says whether that belongs."""
