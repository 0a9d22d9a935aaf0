"""The life of a dispatched Workload, as pure functions: from what is seen in all clusters to what follows."""
