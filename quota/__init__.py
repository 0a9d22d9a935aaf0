"""The quota engine: which Workloads hold quota of which ClusterQueue, and which of them must give it up for another
one."""
