"""Prompt sets too large for one piece: cut into shards, evaluated apart, merged exactly."""
