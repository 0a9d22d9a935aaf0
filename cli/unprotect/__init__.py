"""`reprieve unprotect`."""
