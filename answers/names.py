"""What the reader of an answer may list, and so may know.

The command asks with the reader's own rights, so the reader may know whatever it has read. The page reads with its
own rights and answers many readers. So names of namespaces that the reader may not list are taken out of decisions
before words are made of them.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol

__all__ = ["ALL", "EVERYWHERE", "Listed", "Names", "right"]

Listed = Literal[
    "nodes",
    "pods",
    "podgroups",
    "jobs",
    "preemptionplans",
    "clusterpreemptionplans",
    "preemptionreports",
    "dispatchplans",
    "workloads",
    "localqueues",
    "clusterqueues",
    "poddisruptionbudgets",
    "events",
]
"""Resources. Cohorts count as ClusterQueues."""
EVERYWHERE: Final = ""
"""In place of a namespace: in all of them."""
NO_NAMESPACE: Final = frozenset({"nodes", "clusterpreemptionplans", "preemptionreports", "clusterqueues"})


class Names(Protocol):
    """The rights of a reader."""

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """Whether the reader may list the resource in this namespace, or in all of them."""


class _All:
    """A reader who may list everything."""

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """See `Names`."""
        del what, namespace
        return True


ALL: Final[Names] = _All()


def right(what: Listed, namespace: str = EVERYWHERE) -> str:
    """The right in words, such as `list pods in team-b`."""
    if what == "clusterqueues":
        return "list clusterqueues and cohorts"
    if what in NO_NAMESPACE:
        return f"list {what}"
    return f"list {what} in {namespace or 'all namespaces'}"
