"""Search for edits of a topic that raise its coverage."""
