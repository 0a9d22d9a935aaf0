"""The admission server. It checks and completes preemption settings when they are written."""
