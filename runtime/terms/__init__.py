"""Who leads, and what runs in the process."""
