"""kube-scheduler's filters, one module each, as far as the search models them.

To add a filter, write a module with one subclass of a class in `nodes.filters.filter`. Then add it to
`nodes.filters.registry`. What the filter needs of a pod becomes a part of the pod's class. A StaticFilter narrows the
mask of admitted nodes. A PodFilter makes tokens, and the placement kernel checks them. `docs/nodes.md` lists what is
modelled.
"""
