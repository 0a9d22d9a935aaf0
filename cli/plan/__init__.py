"""`reprieve plan`."""
