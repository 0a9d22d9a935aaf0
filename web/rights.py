"""What a reader may list, and so see. Pure: `web.authority` asks the API server."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from kube.access import Access

__all__ = ["ALL_NAMESPACES", "CLUSTER_WIDE", "MOST_NAMESPACES", "NAMESPACED", "Granted"]

ALL_NAMESPACES: Final = ""
MOST_NAMESPACES: Final = 20
"""That somebody may name who may not list in all of them."""
REPRIEVE: Final = "reprieve.dev"
KUEUE: Final = "kueue.x-k8s.io"

NAMESPACED: Final[Mapping[str, Access]] = {
    "pods": Access("", "pods", "list"),
    "podgroups": Access(REPRIEVE, "podgroups", "list"),
    "jobs": Access("batch", "jobs", "list"),
    "workloads": Access(KUEUE, "workloads", "list"),
    "preemptionplans": Access(REPRIEVE, "preemptionplans", "list"),
    "dispatchplans": Access(REPRIEVE, "dispatchplans", "list"),
    "poddisruptionbudgets": Access("policy", "poddisruptionbudgets", "list"),
}
"""By what `answers.names` calls them. The kinds that are in namespaces."""
CLUSTER_WIDE: Final[Mapping[str, Access]] = {
    "nodes": Access("", "nodes", "list"),
    "clusterqueues": Access(KUEUE, "clusterqueues", "list"),
    "cohorts": Access(KUEUE, "cohorts", "list"),
    "clusterpreemptionplans": Access(REPRIEVE, "clusterpreemptionplans", "list"),
}
TREE: Final = ("clusterqueues", "cohorts")
"""The tree of queues is shown to whoever may list both."""
ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    "pod": ("pods",),
    "podgroup": ("podgroups", "pods"),
    "job": ("jobs", "pods"),
    "workload": ("workloads",),
}
"""By what an answer is about: what the reader has to list to get it."""


@dataclass(frozen=True, slots=True)
class Granted:
    """What the API server has granted. Two readers with equal rights get the same answers."""

    rights: frozenset[tuple[str, str]]
    """The kind, and the namespace or ALL_NAMESPACES."""
    asked: tuple[str, ...] = ()
    """The namespaces that were asked about, besides all of them."""

    def lists(self, what: str, namespace: str = ALL_NAMESPACES) -> bool:
        """See `answers.names.Names`."""
        if what in TREE:
            return all((each, ALL_NAMESPACES) in self.rights for each in TREE)
        return (what, ALL_NAMESPACES) in self.rights or (what, namespace) in self.rights

    @property
    def mark(self) -> str:
        """Short, and another one for other rights."""
        text = "\n".join(sorted("/".join(each) for each in self.rights))
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

    @property
    def all_namespaces(self) -> bool:
        """Whether no namespace has to be named: pods are listed in all of them."""
        return self.lists("pods")

    @property
    def named(self) -> tuple[str, ...]:
        """The namespaces that were asked about, and in which anything is granted."""
        return tuple(each for each in self.asked if any(self.lists(kind, each) for kind in NAMESPACED))

    def lacking(self, kind: str, namespace: str) -> str:
        """The first right that an answer about such an object needs, and that is not granted; empty if none is."""
        return next((right(what, namespace) for what in ASKED[kind] if not self.lists(what, namespace)), "")

    def missing(self, kinds: Collection[str] = (*NAMESPACED, *CLUSTER_WIDE)) -> list[str]:
        """The rights that would show more of these kinds."""
        lacking = [kind for kind in kinds if not self.lists(kind)]
        return [
            right(kind, each)
            for kind in lacking
            for each in ((ALL_NAMESPACES,) if kind in CLUSTER_WIDE else self.asked or (ALL_NAMESPACES,))
            if each == ALL_NAMESPACES or not self.lists(kind, each)
        ]


def right(what: str, namespace: str = ALL_NAMESPACES) -> str:
    """In words, such as `list pods in team-b`."""
    if what in CLUSTER_WIDE:
        return str(CLUSTER_WIDE[what])
    return f"{NAMESPACED[what]} in {namespace or 'all namespaces'}"
