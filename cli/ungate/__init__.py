"""`reprieve ungate`."""
