"""What the rules of a Workload's life need to know besides the Workload."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from api.kueue import ClusterQueue, LocalQueue
from controllers.quota.life.dispatching import NO_REPORT, ClusterReport
from controllers.quota.life.evicting import Preemption
from controllers.quota.life.preempting import Preempting
from controllers.quota.life.saying import Waiting
from runtime.exchange.workload_reports import NOTHING, Reported

__all__ = ["Around", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times, in microseconds."""

    overdue: int
    """After this time an evicted Workload that still holds quota is overdue."""
    frees_overdue: bool
    """Whether the quota of an overdue one is free."""
    message: int
    """The least time between two texts of why a Workload waits."""
    reason: int
    """How long a Workload waits for quota before it says so (`controllers.quota.life.saying`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the rules need to know besides the Workload."""

    local_queue: LocalQueue | None
    cluster_queue: ClusterQueue | None
    """That of the quota it holds, otherwise that of its LocalQueue."""
    inactive: str = ""
    """Why that ClusterQueue admits nothing; empty if it is active."""
    dispatches: bool = False
    """Whether a manager sends the Workloads of that ClusterQueue to other clusters."""
    required: Collection[str] | None = ()
    """The admission checks that it needs for the flavors that it has. None: its ClusterQueue is gone."""
    preemption: Preemption | None = None
    """A plan that names it as a victim."""
    preempting: Preempting | None = None
    """The plan for which it is the preemptor."""
    taken_back: str = ""
    """Why the quota that somebody else gave it is taken back; empty if it is not."""
    waiting: Waiting | None = None
    reported: Reported = NOTHING
    """What those who run its pods report."""
    clusters: ClusterReport = NO_REPORT
    """What a manager of several clusters reports."""
    written: int = 0
    """When the text of why it waits was last written."""
