"""The topic definition as editable fields."""
