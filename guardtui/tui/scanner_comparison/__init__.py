"""Several scanners side by side, and labels that they contradict."""
