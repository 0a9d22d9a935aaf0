"""`reprieve validate`."""
