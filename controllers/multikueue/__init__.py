"""The manager of several clusters (KEP-8303): it copies Workloads to worker clusters, lets one of them win, and opens
their preemption gates one cluster at a time.

`life/` is the life of a dispatched Workload, as pure functions. `clusters/` has the connections to worker clusters.
`turns/` has the stored DispatchPlans. `acting/` gathers what is seen, and carries out what follows.
"""
