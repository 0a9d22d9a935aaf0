"""`reprieve who-evicted`."""
