"""A manager and worker clusters in memory, for the life of one dispatched Workload."""
