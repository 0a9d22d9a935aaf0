"""Plain twins of what the gang controller keeps."""
