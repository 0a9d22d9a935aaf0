"""Certificates of the admission server: where they come from, how they are shown, and who is told to trust them."""
