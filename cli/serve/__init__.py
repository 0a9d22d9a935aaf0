"""`reprieve serve`."""
