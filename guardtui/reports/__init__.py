"""What is written about a session or an evaluation, one file per format."""
