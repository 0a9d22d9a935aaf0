"""Whose a copy or a Job in a worker cluster is, and whether it is as it should be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from api.workloads import Workload
from controllers.multikueue.life.seen import ClusterSeen, Copy, RemoteJob, Seen

__all__ = [
    "Belongs",
    "all_clusters",
    "belonging",
    "chosen_of",
    "differs",
    "find",
    "has_other_priority",
    "present_copy",
    "present_job",
]

Belongs = Literal["Present", "Former", "Foreign"]
"""Present: of the Workload's present attempt. Former: ours, and of no present attempt. Foreign: another manager's; it
is never touched."""


def belonging(thing: Copy | RemoteJob, seen: Seen, cluster: str) -> Belongs:
    """Whose it is.

    A copy without a mark was made by Kueue's manager under the same origin. It is adopted where the Workload names its
    cluster.
    """
    mark = thing.mark
    if mark is None:
        return "Present" if cluster and chosen_of(seen) == cluster else "Former"
    if mark.manager != seen.manager:
        return "Foreign"
    return "Present" if mark == seen.mark else "Former"


def present_copy(cluster: ClusterSeen, seen: Seen) -> Copy | None:
    """The copy of the present attempt that is not being deleted."""
    copy = cluster.copy
    if copy is None or copy.is_deleting or belonging(copy, seen, cluster.name) != "Present":
        return None
    return copy


def present_job(cluster: ClusterSeen, seen: Seen) -> RemoteJob | None:
    """The Job of the present attempt, also if it is being deleted."""
    job = cluster.job
    return job if job is not None and belonging(job, seen, cluster.name) == "Present" else None


def chosen_of(seen: Seen) -> str:
    """The cluster that has the Workload; empty if no cluster was chosen."""
    return (seen.workload.status.cluster_name or "") if seen.workload is not None else ""


def all_clusters(seen: Seen) -> Iterator[ClusterSeen]:
    """Those of the config, and others where something of the Workload is."""
    yield from seen.clusters
    yield from seen.others


def find(seen: Seen, name: str) -> ClusterSeen | None:
    """The cluster of this name."""
    return next((each for each in all_clusters(seen) if each.name == name), None)


def differs(copy: Copy, seen: Seen) -> bool:
    """Whether its spec is another one. Gates and the priority do not count, and `active` is looked at apart."""
    return seen.digest is not None and copy.digest != seen.digest


def has_other_priority(copy: Copy, workload: Workload) -> bool:
    """Whether the priority or its class is another one than here."""
    ref = workload.spec.priority_class_ref
    name = f"{ref.kind}/{ref.name}" if ref is not None else ""
    return (copy.priority, copy.priority_class) != (workload.spec.priority, name)
