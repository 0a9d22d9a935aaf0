"""`reprieve ungate`, `unprotect` and `release`: what a cluster needs that reprieve leaves."""
