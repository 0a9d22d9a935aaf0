"""The manager of several clusters (KEP-8303): it copies Workloads to worker clusters, lets one of them win, and opens
their preemption gates one cluster at a time.

`life/` is the life of a dispatched Workload, as pure functions. `kinds/` has the bodies of what is sent to clusters.
`clusters/` has the connections to worker clusters. `acting/` gathers what is seen, and carries out what follows.

Tests: configuration in tests/unit/cli/common/test_configuration.py; metrics in test_leading.py.
"""
