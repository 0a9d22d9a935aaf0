"""Jobs in queues: owners become Workloads, admission starts them, eviction stops them."""
