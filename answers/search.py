"""Objects that have an answer, by a part of their namespace or name: whatever the reader may list, waiting or not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Final, Literal

import numpy as np

from answers.names import Listed, Names
from answers.picture import Picture
from nodes.groups.keys import short_name

__all__ = ["FoundKind", "FoundObject", "search"]

FoundKind = Literal["podgroup", "workload", "pod", "clusterqueue", "localqueue"]
"""Kinds of answers, and queues."""
NEEDS: Final[dict[FoundKind, tuple[Listed, ...]]] = {
    "podgroup": ("podgroups", "pods"),
    "workload": ("workloads",),
    "pod": ("pods",),
    "clusterqueue": ("clusterqueues",),
    "localqueue": ("localqueues",),
}
"""What the reader has to list to learn that there is such an object."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """One of them."""

    kind: FoundKind
    namespace: str
    """Empty for a ClusterQueue."""
    name: str


def search(
    picture: Picture, text: str, names: Names, namespaces: Collection[str] | None, most: int
) -> tuple[list[FoundObject], bool]:
    """The first `most` objects, and whether there are more. `text`: in lower case. `namespaces`: only those; None: all.

    Those come first whose own name begins with the text. Groups come before queues, Workloads and pods, and pods
    without a node before others.
    """

    @cache
    def may(kind: FoundKind, namespace: str) -> bool:
        is_asked = namespaces is None or not namespace or namespace in namespaces
        return is_asked and all(names.lists(what, namespace) for what in NEEDS[kind])

    found = [
        each
        for each in _all_of(picture)
        if text in (f"{each[1]}/{each[2]}" if each[1] else each[2]).lower() and may(each[0], each[1])
    ]
    # sorted keeps the order of kinds
    ordered = sorted(found, key=lambda each: not each[2].lower().startswith(text))
    return [FoundObject(*each) for each in ordered[:most]], len(ordered) > most


def _all_of(picture: Picture) -> Iterable[tuple[FoundKind, str, str]]:
    """Kind, namespace and name. Objects that could not be read are not there."""
    parts: list[Iterable[tuple[FoundKind, str, str]]] = [_queues(picture), _workloads(picture)]
    if picture.looked is not None:
        parts = [_groups(picture), *parts, _pods(picture)]
    return chain.from_iterable(parts)


def _groups(picture: Picture) -> Iterator[tuple[FoundKind, str, str]]:
    keys = picture.nodes.snapshot.group_keys
    return (("podgroup", namespace, short_name(name)) for namespace, name in sorted(keys))


def _queues(picture: Picture) -> Iterator[tuple[FoundKind, str, str]]:
    for name in sorted(picture.quota.cluster_queues):
        yield "clusterqueue", "", name
    for key in sorted(picture.quota.local_queues):
        namespace, _, name = key.partition("/")
        yield "localqueue", namespace, name


def _workloads(picture: Picture) -> Iterator[tuple[FoundKind, str, str]]:
    metas = (each.metadata for each in picture.quota.workloads.values())
    return (("workload", *key) for key in sorted((meta.namespace, meta.name) for meta in metas))


def _pods(picture: Picture) -> Iterator[tuple[FoundKind, str, str]]:
    """Those without a node first, and in no other order: there are many."""
    snapshot = picture.nodes.snapshot
    has_node = snapshot.pod_node >= 0
    rows = [
        row for some in (~has_node, has_node) for row in np.flatnonzero(snapshot.pod_live & some).tolist()
    ]
    pairs = zip(snapshot.pod_namespaces.at(rows), snapshot.pod_names.at(rows), strict=True)
    return (("pod", namespace, name) for namespace, name in pairs)
