"""`reprieve queue`."""
