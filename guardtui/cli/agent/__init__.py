"""What a coding agent needs to work with guardtui by command."""
