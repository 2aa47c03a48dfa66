"""Editing a definition: opening, previews, decisions, and the files."""
