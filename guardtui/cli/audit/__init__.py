"""Several topics of one profile together."""
