"""`reprieve quota`."""
