"""What to change next: suggested edits, lint, and the list of all advice."""
