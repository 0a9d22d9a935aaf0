"""Objects that have a view, by a part of their namespace or name: whatever the reader may list, waiting or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Final, Literal

import numpy as np

from answers.details import Details
from answers.names import Listed, Names
from answers.picture import Picture
from answers.stored_plans import StoredPlans
from api.meta import ObjectMeta, controller_reference
from api.workloads import JOB_UID_LABEL
from nodes.groups.keys import short_name

__all__ = ["FoundKind", "FoundObject", "Searched", "search"]

JOB: Final = ("batch/v1", "Job")
FoundKind = Literal[
    "podgroup",
    "workload",
    "job",
    "pod",
    "clusterqueue",
    "localqueue",
    "node",
    "preemptionplan",
    "dispatchplan",
]
"""Kinds in small letters."""
NEEDS: Final[dict[FoundKind, tuple[Listed, ...]]] = {
    "podgroup": ("podgroups", "pods"),
    "workload": ("workloads",),
    "job": ("jobs", "pods"),
    "pod": ("pods",),
    "clusterqueue": ("clusterqueues",),
    "localqueue": ("localqueues",),
    "node": ("nodes",),
    "preemptionplan": ("preemptionplans",),
    "dispatchplan": ("dispatchplans",),
}
"""What the reader has to list to learn that there is such an object."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """One of them."""

    kind: FoundKind
    namespace: str
    """Empty for a ClusterQueue and a node."""
    name: str


@dataclass(frozen=True, slots=True)
class Searched:
    """Where to look."""

    picture: Picture
    details: Callable[[str], Details]
    """By namespace: at least the pods that have no node."""
    plans: Mapping[str, StoredPlans]
    """By namespace."""


def search(
    where: Searched, text: str, names: Names, namespaces: Collection[str] | None, most: int
) -> tuple[list[FoundObject], bool]:
    """The first `most` objects, and whether there are more. `text`: in lower case. `namespaces`: only those; None: all.

    Those come first whose own name begins with the text. Groups come before queues, nodes, Workloads, Jobs, plans and
    pods, and pods without a node before others.
    """

    @cache
    def may(kind: FoundKind, namespace: str) -> bool:
        is_asked = namespaces is None or not namespace or namespace in namespaces
        return is_asked and all(names.lists(what, namespace) for what in NEEDS[kind])

    found = [
        each
        for each in _all_of(where)
        if text in (f"{each[1]}/{each[2]}" if each[1] else each[2]).lower() and may(each[0], each[1])
    ]
    # sorted keeps the order of kinds
    ordered = sorted(found, key=lambda each: not each[2].lower().startswith(text))
    return [FoundObject(*each) for each in ordered[:most]], len(ordered) > most


def _all_of(where: Searched) -> Iterable[tuple[FoundKind, str, str]]:
    """Kind, namespace and name. Objects that could not be read are not there."""
    picture = where.picture
    quota, plans = (_queues(picture), _workloads(picture)), _plans(where)
    if picture.looked is None:
        return chain(*quota, plans)
    queues, workloads = quota
    return chain(_groups(picture), queues, _nodes(picture), workloads, _jobs(where), plans, _pods(picture))


def _nodes(picture: Picture) -> Iterator[tuple[FoundKind, str, str]]:
    return (("node", "", name) for name in sorted(filter(None, picture.nodes.snapshot.node_names)))


def _jobs(where: Searched) -> Iterator[tuple[FoundKind, str, str]]:
    """Those that were read, and those that own a Workload, by its label, too, or a pod without a node."""
    workloads = [each.metadata for each in where.picture.quota.workloads.values()]
    snapshot = where.picture.nodes.snapshot
    waiting = np.flatnonzero(snapshot.pod_live & (snapshot.pod_node < 0)).tolist()
    namespaces = {
        *where.picture.namespaces,
        *(meta.namespace for meta in workloads),
        *snapshot.pod_namespaces.at(waiting),
    }
    found = {(meta.namespace, name) for meta in workloads if (name := _job_of_workload(meta))}
    for namespace in namespaces:
        details = where.details(namespace)
        found |= {(namespace, name) for name in details.jobs}
        found |= {(namespace, name) for pod in details.pods.values() if (name := _job_of(pod.metadata))}
    return (("job", *key) for key in sorted(found))


def _job_of_workload(meta: ObjectMeta) -> str:
    """The same, if the label that Kueue writes for an owner says so, too. A reference alone may name anything."""
    owner = controller_reference(meta)
    has_label = owner is not None and (meta.labels or {}).get(JOB_UID_LABEL) == owner.uid
    return _job_of(meta) if has_label else ""


def _job_of(meta: ObjectMeta) -> str:
    """The name of the Job that controls the object; empty if no Job controls it."""
    owner = controller_reference(meta)
    return owner.name if owner is not None and (owner.api_version, owner.kind) == JOB else ""


def _plans(where: Searched) -> Iterator[tuple[FoundKind, str, str]]:
    for namespace, plans in sorted(where.plans.items()):
        for name in sorted(each.brief.metadata.name for each in plans):
            yield "preemptionplan", namespace, name
    turns = (each.metadata for each in where.picture.worker_clusters.plans)
    for key in sorted((meta.namespace, meta.name) for meta in turns):
        yield "dispatchplan", *key


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
