"""History and categories beside the results on a broad screen."""
