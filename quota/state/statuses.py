"""What the status of ClusterQueues, LocalQueues and Cohorts says, as Kueue's controllers fill it
(pkg/cache/scheduler/cache.go).

The numbers are counted when a Workload changes. Nothing walks over all Workloads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from api.kueue import ClusterQueueSpec
from api.usage import (
    ClusterQueueStatus,
    FairSharingStatus,
    FlavorUsage,
    LocalQueueFlavorUsage,
    LocalQueueResourceUsage,
    LocalQueueStatus,
    ResourceUsage,
)
from api.workloads import ADMITTED, FINISHED, Workload
from quota.state.amounts import shown
from quota.state.remains import Remains
from quota.state.tree import FlavorResource, Quota
from quota.state.workloads import holds_quota, key_of, local_queue_key, usage

__all__ = [
    "Counts",
    "Tally",
    "cluster_queue_status",
    "fair_sharing_status",
    "local_queue_status",
]

K = TypeVar("K")

MOST: Final = 2**63 - 1
CLUSTER_QUEUE_FLAVORS: Final = 64
LOCAL_QUEUE_FLAVORS: Final = 16
LOCAL_QUEUE_RESOURCES: Final = 16
"""The most that the schemas of the two kinds take. A ClusterQueue may name more flavors than its status can hold."""


class _Part(NamedTuple):
    """What one Workload adds to the numbers."""

    cluster_queue: str
    """"" if it holds no quota."""
    local_queue: str
    """`namespace/name`."""
    admitted: bool
    usage: tuple[tuple[FlavorResource, int], ...]


@dataclass(slots=True)
class Counts:
    """The numbers of one queue. Not to be changed by readers."""

    reserving: int = 0
    """Workloads that hold quota."""
    admitted: int = 0
    """Those of them that are admitted."""
    reservation: dict[FlavorResource, int] = field(default_factory=dict)
    """What they hold, in canonical units. Zeros are left out."""
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    """What the admitted ones hold."""

    def add(self, part: _Part, sign: int) -> None:
        """Count a Workload (1), or count it no longer (-1)."""
        self.reserving += sign
        _add(self.reservation, part.usage, sign)
        if part.admitted:
            self.admitted += sign
            _add(self.usage, part.usage, sign)


NOTHING: Final = Counts()


class Tally:
    """Counts the Workloads that hold quota, by ClusterQueue and by LocalQueue. Cheap for each change of a Workload."""

    def __init__(self, changed: Callable[[str, str], None] = lambda _kind, _key: None) -> None:
        """`changed` is called for each queue whose numbers change: ("ClusterQueue", name) or ("LocalQueue",
        "namespace/name"). It is also called for the LocalQueue of every Workload without quota that changes: others
        count those that wait."""
        self._changed = changed
        self._parts: dict[str, _Part] = {}
        self._cluster_queues: dict[str, Counts] = {}
        self._local_queues: dict[tuple[str, str], Counts] = {}

    def put(self, workload: Workload) -> None:
        """The newest state of a Workload. Raises QuotaError, and changes nothing, if its usage cannot be read."""
        self._set(key_of(workload), _part(workload))

    def keep(self, remains: Remains) -> None:
        """What is left of a Workload that cannot be read."""
        amounts = tuple((fr, amount) for fr, amount in (remains.usage or {}).items() if amount)
        self._set(remains.key, _Part(remains.cluster_queue, remains.local_queue, False, amounts))

    def remove(self, key: str) -> None:
        """The Workload `namespace/name` is gone. Does nothing if it was never put."""
        self._set(key, None)

    def cluster_queue(self, name: str) -> Counts:
        """The numbers of a ClusterQueue."""
        return self._cluster_queues.get(name, NOTHING)

    def local_queue(self, key: str, cluster_queue: str) -> Counts:
        """The numbers of a LocalQueue (`namespace/name`) in its ClusterQueue."""
        return self._local_queues.get((key, cluster_queue), NOTHING)

    def queue_of(self, key: str) -> tuple[str, str] | None:
        """(ClusterQueue, LocalQueue) in which the Workload `namespace/name` is counted; None if it is not counted."""
        part = self._parts.get(key)
        return (part.cluster_queue, part.local_queue) if part is not None and part.cluster_queue else None

    def _set(self, key: str, after: _Part | None) -> None:
        before = self._parts.get(key)
        if before == after and (after is None or after.cluster_queue):
            return
        if before is not None:
            del self._parts[key]
            self._add(before, -1)
        if after is not None:
            self._parts[key] = after
            self._add(after, 1)
        parts = [part for part in (before, after) if part is not None]
        told = {("ClusterQueue", part.cluster_queue) for part in parts if part.cluster_queue}
        told |= {("LocalQueue", part.local_queue) for part in parts}
        for kind, name in sorted(told):
            self._changed(kind, name)

    def _add(self, part: _Part, sign: int) -> None:
        if not part.cluster_queue:
            return
        _count(self._cluster_queues, part.cluster_queue, part, sign)
        _count(self._local_queues, (part.local_queue, part.cluster_queue), part, sign)


def cluster_queue_status(
    spec: ClusterQueueSpec,
    quotas: Mapping[FlavorResource, Quota],
    counts: Counts,
    pending: int,
    weighted_share: float | None,
) -> ClusterQueueStatus:
    """The status without conditions. `weighted_share` is in thousandths; None without fair sharing."""
    limits = quotas if spec.cohort_name else MappingProxyType({})
    return ClusterQueueStatus(
        flavors_reservation=_flavors(spec, limits, counts.reservation),
        flavors_usage=_flavors(spec, limits, counts.usage),
        pending_workloads=pending,
        reserving_workloads=counts.reserving,
        admitted_workloads=counts.admitted,
        fair_sharing=None if weighted_share is None else fair_sharing_status(weighted_share),
    )


def local_queue_status(spec: ClusterQueueSpec | None, counts: Counts, pending: int) -> LocalQueueStatus:
    """The status without conditions. `spec` is of its ClusterQueue; None if there is none."""
    return LocalQueueStatus(
        pending_workloads=pending,
        reserving_workloads=counts.reserving,
        admitted_workloads=counts.admitted,
        flavors_reservation=_local_flavors(spec, counts.reservation),
        flavors_usage=_local_flavors(spec, counts.usage),
    )


def fair_sharing_status(weighted_share: float) -> FairSharingStatus:
    """A share in thousandths, rounded up. An infinite one is the largest number of 64 bits."""
    return FairSharingStatus(MOST if weighted_share >= MOST else max(0, math.ceil(weighted_share)))


# ---- counting


def _part(workload: Workload) -> _Part | None:
    true = {each.type for each in workload.status.conditions or () if each.status == "True"}
    if FINISHED in true:
        return None
    admission = workload.status.admission
    queue = local_queue_key(workload)
    if admission is None or not holds_quota(workload):
        return _Part("", queue, False, ())
    amounts = tuple((fr, amount) for fr, amount in usage(workload).items() if amount)
    return _Part(admission.cluster_queue, queue, ADMITTED in true, amounts)


def _add(amounts: dict[FlavorResource, int], more: Iterable[tuple[FlavorResource, int]], sign: int) -> None:
    for fr, amount in more:
        left = amounts.get(fr, 0) + sign * amount
        if left:
            amounts[fr] = left
        else:
            del amounts[fr]


def _count(counted: dict[K, Counts], key: K, part: _Part, sign: int) -> None:
    counts = counted.setdefault(key, Counts())
    counts.add(part, sign)
    if not counts.reserving:
        del counted[key]


# ---- flavors


def _flavors(
    spec: ClusterQueueSpec, limits: Mapping[FlavorResource, Quota], amounts: Mapping[FlavorResource, int]
) -> list[FlavorUsage]:
    """Every flavor of the ClusterQueue, with its resources sorted by name. `limits`: empty if it cannot borrow."""

    def resource(flavor: str, name: str) -> ResourceUsage:
        used, quota = amounts.get((flavor, name), 0), limits.get((flavor, name))
        borrowed = max(0, used - quota.nominal) if quota is not None else 0
        return ResourceUsage(name, shown(name, used), shown(name, borrowed))

    return [
        FlavorUsage(flavor, [resource(flavor, name) for name in names])
        for flavor, names in _listed(spec)[:CLUSTER_QUEUE_FLAVORS]
    ]


def _local_flavors(
    spec: ClusterQueueSpec | None, amounts: Mapping[FlavorResource, int]
) -> list[LocalQueueFlavorUsage]:
    def resource(flavor: str, name: str) -> LocalQueueResourceUsage:
        return LocalQueueResourceUsage(name, shown(name, amounts.get((flavor, name), 0)))

    return [
        LocalQueueFlavorUsage(flavor, [resource(flavor, name) for name in names[:LOCAL_QUEUE_RESOURCES]])
        for flavor, names in (_listed(spec) if spec is not None else [])[:LOCAL_QUEUE_FLAVORS]
    ]


def _listed(spec: ClusterQueueSpec) -> list[tuple[str, list[str]]]:
    """Pairs of flavor and its resources, in the order of the ClusterQueue."""
    return [
        (flavor.name, sorted(group.covered_resources))
        for group in spec.resource_groups or ()
        for flavor in group.flavors
    ]
