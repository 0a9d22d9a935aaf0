"""Plain twins of what is pure in api/."""
