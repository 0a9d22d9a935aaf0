"""Certificates of listeners: how they are served, renewed and read again while the listener runs."""
