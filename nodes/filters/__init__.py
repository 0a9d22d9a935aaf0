"""kube-scheduler's filters, one module each, as far as the search models them.

To add a filter: write its module with one class of `nodes.filters.filter`, and name it in `nodes.filters.registry`.
What it needs of a pod becomes a part of the pod's class; a StaticFilter narrows the mask of admitted nodes; a
PodFilter makes tokens, which the placement kernel asks. `docs/nodes.md` lists what is modelled.
"""
