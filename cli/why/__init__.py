"""`reprieve why`."""
