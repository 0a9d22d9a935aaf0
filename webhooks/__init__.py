"""The admission server: preemption settings are checked, and completed, where they are written."""
