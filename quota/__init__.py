"""The quota engine: which Workloads hold quota, in which ClusterQueue, and which are preempted for another one."""
