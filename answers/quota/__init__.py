"""Whether a Workload gets its quota, and who would be preempted for it."""
