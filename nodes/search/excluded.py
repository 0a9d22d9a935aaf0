"""Which nodes a plan did without, because a scheduler did not take the preemptor's pods there."""

from __future__ import annotations

from typing import Final

import numpy as np

from api.plan_results import Excluded
from api.plans import PreemptionPlanSpec
from nodes.search.cluster import Cluster

__all__ = ["LISTED", "list_excluded"]

LISTED: Final = 200
"""Entries of `spec.excluded`; the others are counted.

The longest names and texts make 2 KiB an entry, and etcd takes 1.5 MiB a request for the whole plan.
"""


def list_excluded(cluster: Cluster, spec: PreemptionPlanSpec) -> None:
    """Write to the plan what its preemptor's unbound pods are excluded from, by node, in the preemptor's domains."""
    snapshot = cluster.snapshot
    if not snapshot.excluded:
        return
    classes = set(snapshot.pod_class[list(cluster.preemptor.unbound)].tolist())
    inside = np.zeros(len(snapshot.node_names), np.bool_)
    inside[cluster.layout.nodes] = True
    found = sorted(
        (snapshot.node_names[node], exclusion.pod, exclusion.seen)
        for (class_row, node), exclusion in snapshot.excluded.items()
        if class_row in classes and inside[node]
    )
    if found:
        spec.excluded = [Excluded(pod, node, seen) for node, pod, seen in found[:LISTED]]
    if len(found) > LISTED:
        spec.other_excluded = len(found) - LISTED
