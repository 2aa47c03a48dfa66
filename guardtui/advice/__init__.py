"""What to change next in a definition, and what each part of it does, measured."""
