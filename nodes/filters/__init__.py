"""kube-scheduler's filters, one module each, as far as the search models them.

To add a filter, write a module with one subclass of a class in `nodes.filters.filter`. Then add it to
`nodes.filters.registry`. What the filter needs of a pod becomes a part of the pod's class. A StaticFilter narrows the
mask of admitted nodes. A PodFilter makes tokens, and the placement kernel checks them. `docs/nodes.md` lists what is
modelled.

Tests: dynamic_resources, filter and gang_scheduling in test_registry.py; node_affinity, node_declared_features,
node_unschedulable, taint_toleration, volume_binding, volume_restrictions and volume_zone in
tests/property/test_fidelity.py; node_resources in tests/property/test_refusals.py; node_volume_limits in
tests/unit/nodes/search/neighbours/test_volume_claims.py; pod_volumes in tests/property/test_claims.py; profile in
tests/unit/controllers/gangs/scheduler/test_profiles.py; terms in test_inter_pod_affinity.py.
"""
