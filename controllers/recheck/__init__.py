"""Checks stored objects again, by the rules of admission."""
