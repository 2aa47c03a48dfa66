"""The screen of scored outputs."""
