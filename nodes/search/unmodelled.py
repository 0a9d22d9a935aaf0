"""What a plan does not take into account, in words: a plan with any evicts nobody."""

from __future__ import annotations

from typing import Final

import numpy as np

from nodes.search.problem import Cluster
from nodes.state.classes import anti_affinity_matches
from nodes.state.snapshot import TERMINATING, Snapshot

__all__ = ["not_modelled"]

FOREIGN: Final = "anti-affinity of running pods"


def not_modelled(cluster: Cluster, members: list[int], gone: list[int]) -> list[str]:
    """Filters that these members use and the search lacks, and whether a pod that stays could keep one away; sorted."""
    snapshot = cluster.snapshot
    classes = {int(row) for row in snapshot.pod_class[members]}
    names = {name for row in classes if (each := snapshot.classes[row]) for name in each.unmodelled}
    if _kept_away(snapshot, members, gone):
        names.add(FOREIGN)
    return sorted(names)


def _kept_away(snapshot: Snapshot, members: list[int], gone: list[int]) -> bool:
    """Whether a required anti-affinity of a bound pod, neither going nor a victim, could match a member."""
    repelling = np.array([bool(each and each.anti_affinity) for each in snapshot.classes], np.bool_)
    staying = snapshot.pod_live & (snapshot.pod_node >= 0) & (snapshot.pod_flags & TERMINATING == 0)
    staying[gone] = False
    rows = np.flatnonzero(staying)
    rows = rows[repelling[snapshot.pod_class[rows]]]
    theirs = {(int(snapshot.pod_class[row]), snapshot.pod_namespaces[row]) for row in rows.tolist()}
    ours = {int(row) for row in snapshot.pod_labels[members]}
    label_sets = [each for row in ours if (each := snapshot.label_sets[row]) is not None]
    return any(
        anti_affinity_matches(pod_class, namespace, own_namespace, labels)
        for row, namespace in theirs
        if (pod_class := snapshot.classes[row]) is not None
        for own_namespace, labels in label_sets
    )
