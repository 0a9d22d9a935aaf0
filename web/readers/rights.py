"""What a reader may list, and so see. Pure: `web.readers.authority` asks the API server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from answers.names import EVERYWHERE, Listed, right
from answers.why import WhyKind
from kube.access import Access

__all__ = ["CLUSTER_WIDE", "MOST_NAMESPACES", "NAMESPACED", "Granted"]

MOST_NAMESPACES: Final = 20
"""That somebody may name who may not list in all of them."""
REPRIEVE: Final = "reprieve.dev"
KUEUE: Final = "kueue.x-k8s.io"

NAMESPACED: Final[Mapping[Listed, Access]] = {
    "pods": Access("", "pods", "list"),
    "podgroups": Access(REPRIEVE, "podgroups", "list"),
    "jobs": Access("batch", "jobs", "list"),
    "workloads": Access(KUEUE, "workloads", "list"),
    "localqueues": Access(KUEUE, "localqueues", "list"),
    "preemptionplans": Access(REPRIEVE, "preemptionplans", "list"),
    "dispatchplans": Access(REPRIEVE, "dispatchplans", "list"),
    "poddisruptionbudgets": Access("policy", "poddisruptionbudgets", "list"),
    "events": Access("", "events", "list"),
}
CLUSTER_WIDE: Final[Mapping[Listed, tuple[Access, ...]]] = {
    "nodes": (Access("", "nodes", "list"),),
    "clusterpreemptionplans": (Access(REPRIEVE, "clusterpreemptionplans", "list"),),
    "preemptionreports": (Access(REPRIEVE, "preemptionreports", "list"),),
    "clusterqueues": (Access(KUEUE, "clusterqueues", "list"), Access(KUEUE, "cohorts", "list")),
}
"""The tree of queues is shown to whoever may list both."""
ASKED: Final[Mapping[WhyKind, tuple[Listed, ...]]] = {
    "pod": ("pods",),
    "podgroup": ("podgroups", "pods"),
    "job": ("jobs", "pods"),
    "workload": ("workloads",),
}
"""By what an answer is about: what the reader has to list to get it."""


@dataclass(frozen=True)
class Granted:
    """What the API server has granted. Two readers with equal rights get the same answers."""

    rights: frozenset[tuple[Listed, str]]
    """What is listed, and the namespace or EVERYWHERE."""
    asked: tuple[str, ...] = ()
    """The namespaces that were asked about, besides all of them."""

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """See `answers.names.Names`."""
        return (what, EVERYWHERE) in self.rights or (what, namespace) in self.rights

    @cached_property
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

    def lacking(self, kind: WhyKind, namespace: str) -> str:
        """The first right that an answer about such an object needs, and that is not granted; empty if none is."""
        return next((right(what, namespace) for what in ASKED[kind] if not self.lists(what, namespace)), "")

    def missing(self) -> list[str]:
        """The rights that would show more."""
        lacking: list[Listed] = [what for what in (*NAMESPACED, *CLUSTER_WIDE) if not self.lists(what)]
        return [
            right(what, namespace)
            for what in lacking
            for namespace in ((EVERYWHERE,) if what in CLUSTER_WIDE else self.asked or (EVERYWHERE,))
            if namespace == EVERYWHERE or not self.lists(what, namespace)
        ]
