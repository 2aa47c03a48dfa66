"""Checks of the installation, of AIRS, and of a judge."""
