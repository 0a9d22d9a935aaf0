"""Objects that have a view, by a part of their namespace or name: whatever the reader may list, waiting or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import merge
from itertools import chain, groupby
from typing import Final, Literal

import numpy as np

from answers.details import Details
from answers.names import Listed, Names
from answers.picture import Picture
from answers.stored_plans import StoredPlans
from api.meta import ObjectMeta, controller_reference
from api.workloads import JOB_UID_LABEL
from nodes.answers.pod_names import JOB, PodNames
from nodes.groups.keys import short_name

__all__ = ["FoundKind", "FoundObject", "Searched", "search"]

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
    pod_names: PodNames
    """What is kept from one question to the next."""


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

    beginning, others = list[FoundObject](), list[FoundObject]()
    for kind, namespace, name in _all_but_pods(where, text):
        if len(beginning) > most:
            break
        if _has(text, namespace, name) and may(kind, namespace):
            part = beginning if name.lower().startswith(text) else others
            if len(part) <= most:
                part.append(FoundObject(kind, namespace, name))
    if where.picture.looked is not None:
        snapshot = where.picture.nodes.snapshot
        pods = where.pod_names.find(snapshot, text, lambda namespace: may("pod", namespace), most + 1)
        beginning += (FoundObject("pod", *each) for each in pods.beginning)
        others += (FoundObject("pod", *each) for each in pods.others)
    ordered = beginning + others
    return ordered[:most], len(ordered) > most


def _has(text: str, namespace: str, name: str) -> bool:
    return text in (f"{namespace}/{name}" if namespace else name).lower()


def _all_but_pods(where: Searched, text: str) -> Iterable[tuple[FoundKind, str, str]]:
    """Kind, namespace and name. Objects that could not be read are not there. Of Jobs, those with the text."""
    picture = where.picture
    quota, plans = (_queues(picture), _workloads(picture)), _plans(where)
    if picture.looked is None:
        return chain(*quota, plans)
    queues, workloads = quota
    return chain(_groups(picture), queues, _nodes(picture), workloads, _jobs(where, text), plans)


def _nodes(picture: Picture) -> Iterator[tuple[FoundKind, str, str]]:
    return (("node", "", name) for name in sorted(filter(None, picture.nodes.snapshot.node_names)))


def _jobs(where: Searched, text: str) -> Iterator[tuple[FoundKind, str, str]]:
    """Those that were read, and those that own a Workload, by its label, too, or a pod."""
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
        found |= {(namespace, name) for name in where.details(namespace).jobs}
    read = sorted(key for key in found if _has(text, *key))
    both = merge(read, where.pod_names.jobs(where.picture.nodes, text))
    return (("job", *key) for key, _ in groupby(both))


def _job_of_workload(meta: ObjectMeta) -> str:
    """The name of the Job that controls the Workload, if the label that Kueue writes for an owner says so, too.

    Else empty. A reference alone may name anything.
    """
    owner = controller_reference(meta)
    if owner is None or (meta.labels or {}).get(JOB_UID_LABEL) != owner.uid:
        return ""
    return owner.name if (owner.api_version, owner.kind) == JOB else ""


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
