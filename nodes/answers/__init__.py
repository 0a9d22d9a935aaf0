"""Explanations for people: why a pod, group or Job waits, and what would happen. Nothing here decides."""
