"""Labels: the inbox of a prompt set."""
