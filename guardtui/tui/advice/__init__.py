"""What to change next: ideas, the effect of each part, lint."""
