"""The quota engine: which Workloads hold quota of which ClusterQueue, and which of them are preempted for another
one."""
