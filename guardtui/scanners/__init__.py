"""Scanners, which decide whether a prompt triggers a topic, behind one protocol."""
