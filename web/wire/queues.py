"""How quota is used: what `reprieve queue -o json` prints.

What a reader may not know has no field.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from web.wire.base import Wire
from web.wire.why import PodCount

__all__ = [
    "Account",
    "HeldByQueue",
    "LocalQueue",
    "QueueAnswer",
    "QueueNode",
    "QueueVictim",
    "Queues",
    "Reclaim",
    "WaitingWorkload",
]


class Account(Wire):
    """One flavor and resource of a ClusterQueue or Cohort. Amounts are quantities."""

    flavor: str
    resource: str
    nominal: str
    borrowing_limit: str | None
    lending_limit: str | None
    quota: str
    used: str
    borrowed: str
    lent_at_least: str
    lent_at_most: str
    free: str


class QueueNode(Wire):
    """A ClusterQueue or a Cohort in its tree."""

    kind: Literal["Cohort", "ClusterQueue"]
    name: str
    depth: int
    inactive: str | None
    """Why it admits nothing; null if it does."""
    waiting: int | None
    """Workloads that wait there; null for a Cohort."""
    quota: list[Account]


class QueueVictim(Wire):
    """A Workload that would lose its quota. Without a name it is of a namespace that the reader may not see."""

    cluster_queue: str
    reason: str
    workload: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    holds: str | UnsetType = UNSET
    evicting: bool | UnsetType = UNSET


class Reclaim(Wire):
    """What a ClusterQueue could get by preemption for one Workload."""

    cluster_queue: str
    flavor: str
    resource: str
    amount: str
    free: str
    within_nominal: bool
    rules: list[str]
    victims: list[QueueVictim]
    above_priority: int | UnsetType | None = UNSET


class Queues(Wire):
    """All queues, as the trees of their Cohorts."""

    trees: list[list[QueueNode]]
    """A node comes after the one above it."""
    reclaims: list[Reclaim]
    trouble: str | UnsetType = UNSET
    """Why this may be old, if it may be."""
    missing: list[str] | UnsetType = UNSET
    """The rights that would show more, if there are any."""


class HeldByQueue(Wire):
    """What Workloads of a LocalQueue hold."""

    flavor: str
    resource: str
    quantity: str


class LocalQueue(Wire):
    """The LocalQueue that was asked for."""

    name: str
    stop_policy: str
    reserving_workloads: int
    admitted_workloads: int
    used: list[HeldByQueue]


class WaitingWorkload(Wire):
    """A Workload that waits, and what becomes of it if it is tried next, alone."""

    workload: str
    local_queue: str
    priority: int
    created: str | None
    outcome: str
    not_modelled: list[str]
    message: str
    victims: list[str]
    """An empty one is of a namespace that the reader may not see."""
    pod_sets: list[PodCount]


class QueueAnswer(Wire):
    """One ClusterQueue."""

    cluster_queue: str
    local_queue: LocalQueue | None
    waiting: list[WaitingWorkload]
    path: str | UnsetType = UNSET
    cohort: str | UnsetType | None = UNSET
    inactive: str | UnsetType | None = UNSET
    reserving_workloads: int | UnsetType = UNSET
    admitted_workloads: int | UnsetType = UNSET
    quota: list[Account] | UnsetType = UNSET
    could_take: list[Reclaim] | UnsetType = UNSET
    could_lose: list[Reclaim] | UnsetType = UNSET
    others_waiting: int | UnsetType = UNSET
    """How many Workloads wait there that the reader may not see, if there are any."""
    missing: list[str] | UnsetType = UNSET
    """The rights that would show more, if there are any."""
