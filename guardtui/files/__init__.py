"""Reading and writing the author's files: topics, prompt sets, atomic writes, backups."""
