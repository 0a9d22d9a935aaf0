"""`reprieve doctor`."""
