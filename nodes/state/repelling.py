"""Whether pods on other nodes may keep a pod off a node: their anti-affinity names a wider topology than the host."""

from __future__ import annotations

import numpy as np

from nodes.filters.filter import Tenant
from nodes.filters.registry import COUNTING_FILTERS, POD_FILTERS
from nodes.state.columns.classes import PodClass, tenant_of
from nodes.state.tables import Tables

__all__ = ["may_repel"]


def may_repel(tables: Tables, row: int, node: str) -> bool:
    """Whether pods on other nodes than this may keep the pod in this row off it.

    Their anti-affinity names a wider topology than the host name, say, or the pod asks for pods beside it.
    """
    its_class, labels = tables.view(row).pod_class, tables.pods.labels.array.item(row)
    for place, counting in COUNTING_FILTERS:
        member = _tenant(tables, its_class, place, labels)
        if member.asks and member.needs is not None and counting.condition(member) is not None:
            return True
    for place, each in POD_FILTERS:
        member = _tenant(tables, its_class, place, labels)
        if not member.asks:
            continue
        for theirs, their_labels in _elsewhere(tables, place, node):
            if each.reaches(_tenant(tables, theirs, place, their_labels), member):
                return True
    return False


def _elsewhere(tables: Tables, place: int, node: str) -> set[tuple[PodClass, int]]:
    """Classes and label sets of the pods on other nodes that matter to the filter at this place."""
    keys = tables.classes.classes.keys
    apart = ((row, keys[row]) for row in tables.classes.keeping_apart)
    classes = {row: each for row, each in apart if each is not None and each.needs[place] is not None}
    if not classes:
        return set()
    pods, here = tables.pods, tables.nodes.find(node)
    there = pods.live.array & (pods.node.array >= 0) & np.isin(pods.pod_class.array, list(classes))
    if here is not None:
        there &= pods.node.array != here
    kinds = zip(pods.pod_class.array[there].tolist(), pods.labels.array[there].tolist(), strict=True)
    return {(classes[row], labels) for row, labels in kinds}


def _tenant(tables: Tables, its_class: PodClass, place: int, labels: int) -> Tenant:
    return tenant_of(its_class, place, tables.label_sets.sets[labels], tables.namespaces)
