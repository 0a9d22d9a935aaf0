"""Which gang is planned next, and with what in mind."""
