"""Who waits, and how waiting pods come back to the scheduler."""
