"""Checks stored objects again with the rules of admission."""
