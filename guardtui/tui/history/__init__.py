"""The history of iterations, and the trials between them."""
