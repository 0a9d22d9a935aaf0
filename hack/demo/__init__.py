"""`make demo`: a plan for a file, then a gang preempting live, beside the scheduler alone on the same pods."""
