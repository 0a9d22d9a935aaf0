"""Certificates of listeners: shown by a context that changes while it is in use, and looked after."""
