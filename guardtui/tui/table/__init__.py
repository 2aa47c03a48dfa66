"""The table of prompts, which draws only the rows in sight."""
