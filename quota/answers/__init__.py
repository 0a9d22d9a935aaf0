"""Explanations for people: how quota is used, who waits and why, and who could lose it. Nothing here decides."""
