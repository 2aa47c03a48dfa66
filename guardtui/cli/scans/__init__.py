"""Scans of commands by the engine, AIRS, judges and decision models."""
