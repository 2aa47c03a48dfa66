"""The refinement loop for a coding agent; knows no protocol."""
