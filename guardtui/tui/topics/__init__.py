"""Opening other topics, and companion topics of one profile."""
