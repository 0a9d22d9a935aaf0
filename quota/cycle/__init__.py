"""Queues of Workloads, and one cycle of the scheduler over their heads."""
