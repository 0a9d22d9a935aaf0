"""`reprieve what-if`."""
