"""Ideas for the definition: refinement, wordings, labels."""
