"""What the cluster shows of a plan: whether its preemptor still waits, and which victims still hold their quota.

Nothing that is stored is believed: each look compares the plan with the newest objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, Protocol

from api.meta import Condition
from api.workloads import EVICTED, FINISHED, QUOTA_RESERVED, Workload
from controllers.quota.life.plan_life import Ending, Look
from controllers.quota.life.planned import Planned, PlannedVictim
from controllers.quota.life.preempting import WAITS
from quota.cycle.queues import ADMISSION_GATED_BY
from quota.search.asks import Options
from quota.search.policies import may_still_preempt
from quota.state.amounts import QuotaError
from quota.state.snapshot import Queue
from quota.state.workloads import (
    effective_priority,
    has_closed_preemption_gate,
    holds_quota,
    is_evicting,
    is_true,
    reserved_at,
    time_us,
)

__all__ = ["Cluster", "holds_same", "holds_still", "look", "returned", "why_paused"]

SECOND: Final = 1_000_000
RESERVED: Final = Ending("QuotaReserved", "QuotaReserved", "the preemptor got its quota")


class Cluster(Protocol):
    """The newest objects as the API server has shown them: without what is about to be written."""

    def find(self, key: str, uid: str) -> Workload | None:
        """The Workload `namespace/name` of this UID, if it exists."""

    def queue_of(self, workload: Workload) -> str:
        """The name of the ClusterQueue that the Workload waits for; "" if it waits for none."""

    def queue(self, name: str) -> Queue | None:
        """The ClusterQueue, if it exists."""

    def why_paused(self, preemptor: str, victims: Collection[str]) -> str:
        """Why no Workload of the namespaces `victims` may be evicted for one of `preemptor`; empty if they may be."""


def look(plan: Planned, cluster: Cluster, now: int, options: Options, announced: str) -> Look:
    """What the cluster shows of the plan. `now` is in microseconds. `announced`: what a preemptor with gates says
    before the first victim is evicted."""
    preemptor = cluster.find(plan.preemptor, plan.uid)
    ending = _ending(plan, preemptor, cluster)
    if ending is not None or preemptor is None:
        return Look(now, ending, frozenset())
    remaining = dict(_remaining(plan, cluster, now))
    if paused := why_paused(plan, cluster):
        return Look(now, None, frozenset(), paused, has_evicted=len(remaining) < len(plan.victims))
    if not _is_ready(preemptor, announced):
        return Look(now, None, frozenset())
    for uid, workload in remaining.items():
        problem = _problem(plan.victims[uid], preemptor, workload, cluster.queue(plan.queue), now, options)
        if problem:
            return Look(now, Ending("Aborted", "VictimChanged", problem), frozenset())
    return Look(now, None, frozenset(remaining))


def why_paused(plan: Planned, cluster: Cluster) -> str:
    """Why nobody may be evicted for the plan now; empty if they may be."""
    victims = {_namespace(victim.key) for victim in plan.victims.values()}
    return cluster.why_paused(_namespace(plan.preemptor), victims - {""})


def _namespace(key: str) -> str:
    """Of a Workload's key. That of a victim that is gone may be unknown."""
    return key.partition("/")[0]


def _remaining(plan: Planned, cluster: Cluster, now: int) -> Iterator[tuple[str, Workload]]:
    """The victims that hold the quota that the plan is about, and are not on their way out."""
    for uid, victim in plan.victims.items():
        workload = cluster.find(victim.key, uid)
        if workload is None or is_evicting(workload):
            continue
        if holds_still(victim, workload, plan.decided, now):
            yield uid, workload


def holds_still(victim: PlannedVictim, workload: Workload, decided: int, now: int) -> bool:
    """Whether the Workload holds the same quota as when the plan was made (`decided`). Times are in microseconds.

    Quota that it got later has nothing to do with the plan: no Workload is evicted twice for one preemptor.
    """
    return holds_same(victim, workload) and not _came_back(workload, decided, now)


def holds_same(victim: PlannedVictim, workload: Workload) -> bool:
    """Whether the Workload got the quota that it holds in the second that the plan names. A time that cannot be read is
    another one."""
    if not holds_quota(workload):
        return False
    try:
        return reserved_at(workload) // SECOND * SECOND == victim.since
    except QuotaError:
        return False


def returned(plan: Planned, cluster: Cluster, decided: int, now: int) -> frozenset[str]:
    """The victims of the plan (keys) that came back at or after `decided`: a plan of that time leaves them alone."""
    found = ((victim.key, cluster.find(victim.key, uid)) for uid, victim in plan.victims.items())
    return frozenset(key for key, each in found if each is not None and _came_back(each, decided, now))


def _came_back(workload: Workload, decided: int, now: int) -> bool:
    """Whether an eviction of the Workload was called off, or it got quota again, after the plan was made (`decided`).

    A time that is still to come says nothing of that: it was written by a clock that is ahead.
    """
    returned = _when(workload, EVICTED, "False")
    return returned is not None and decided <= returned <= now


# ---- the preemptor


def _ending(plan: Planned, preemptor: Workload | None, cluster: Cluster) -> Ending | None:
    if preemptor is None:
        return _aborted("WorkloadDeleted", "the preemptor is gone")
    if is_true(preemptor, QUOTA_RESERVED):
        return RESERVED
    changed = _changed(plan, preemptor)
    if changed is not None:
        return changed
    evicted = [_when(preemptor, EVICTED, status) for status in ("True", "False")]
    if any(when is not None and when > plan.decided for when in evicted):
        return RESERVED  # and has lost it again
    return _kept_back(plan, preemptor, cluster)


def _changed(plan: Planned, preemptor: Workload) -> Ending | None:
    if is_true(preemptor, FINISHED):
        return _aborted("WorkloadFinished", "the preemptor has finished")
    if not preemptor.spec.active:
        return _aborted("WorkloadDeactivated", "the preemptor is not active any longer")
    if effective_priority(preemptor) != plan.priority:
        return _aborted("PriorityChanged", "the preemptor has another priority now")
    if preemptor.metadata.generation != plan.generation:
        return _aborted("WorkloadChanged", "the spec of the preemptor has changed")
    return None


def _kept_back(plan: Planned, preemptor: Workload, cluster: Cluster) -> Ending | None:
    if has_closed_preemption_gate(preemptor):
        return _aborted("PreemptionGated", "a preemption gate of the preemptor is closed")
    if (preemptor.metadata.annotations or {}).get(ADMISSION_GATED_BY):
        return _aborted("AdmissionGated", f"the preemptor has the annotation {ADMISSION_GATED_BY}")
    if cluster.queue_of(preemptor) not in ("", plan.queue):
        return _aborted("QueueChanged", "the preemptor waits for another ClusterQueue now")
    return None


def _aborted(reason: str, message: str) -> Ending:
    return Ending("Aborted", reason, message)


def _is_ready(preemptor: Workload, announced: str) -> bool:
    """Whether victims may be evicted. A Workload with gates says first that it waits for them (KEP-8303).

    That is written for each plan, on condition of a version whose gates were open. If a gate closes first, the write
    fails.
    """
    return not preemptor.spec.preemption_gates or any(
        each.type == QUOTA_RESERVED and each.reason == WAITS and each.message.endswith(announced)
        for each in preemptor.status.conditions or ()
    )


# ---- victims


def _problem(
    victim: PlannedVictim,
    preemptor: Workload,
    workload: Workload,
    queue: Queue | None,
    now: int,
    options: Options,
) -> str:
    """Why the victim may not be evicted, or not for this plan; "" if it may. It is not named: see decision 0037."""
    said = f"the Workload with UID {victim.uid}"
    admission = workload.status.admission
    if admission is None or admission.cluster_queue != victim.queue:
        return f"{said} holds its quota in another ClusterQueue than {victim.queue}"
    if queue is None:
        return "the ClusterQueue of the preemptor is gone"
    try:
        may = may_still_preempt(preemptor, queue, workload, victim.reason, now, options)
    except QuotaError as error:
        return f"{said}: {error.field} {error.problem}"
    return "" if may else f"the rule {victim.reason} does not allow the preemption of {said} any longer"


# ---- conditions


def _when(workload: Workload, type_: str, status: str) -> int | None:
    """When the condition got this status, in microseconds; None if it has another one, or no time that can be read."""
    for each in workload.status.conditions or ():
        if each.type == type_ and each.status == status:
            return _time(each)
    return None


def _time(condition: Condition) -> int | None:
    try:
        return time_us(condition.last_transition_time or "", "lastTransitionTime")
    except QuotaError:
        return None
