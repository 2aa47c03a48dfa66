"""The queue of prompts that wait for a label."""
