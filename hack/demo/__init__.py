"""`make demo`: first a plan for a file, then a live gang with reprieve beside the scheduler alone,
with the same pods."""
