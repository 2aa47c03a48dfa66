"""The history of iterations, and of the definitions measured between them."""
