"""The registry of actions, and what is made of it: keys, menu, footer."""
