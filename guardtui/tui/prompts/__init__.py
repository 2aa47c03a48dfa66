"""Prompts: adding, editing and copying them, and checks of the whole set."""
