"""`reprieve diff`."""
