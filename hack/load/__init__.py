"""Makes Workloads, finishes them and ends their evictions, on any cluster where somebody admits them (`python -m
hack.load`). It knows only Kueue's API, and works the same whoever admits. To judge preemptions
it reads our plans, too, where there are any."""
