"""Makers of what the life of a dispatched Workload is decided from. Times are seconds after START."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from api.jobs import JobStatus, TemplatedJob
from api.meta import Condition, ObjectMeta
from api.times import rfc3339
from api.workloads import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    AdmissionCheckState,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from controllers.multikueue.life.decision import Decision
from controllers.multikueue.life.life import decide
from controllers.multikueue.life.memory import EMPTY, Memory
from controllers.multikueue.life.seen import (
    ClusterSeen,
    Copy,
    Cost,
    Mark,
    RemoteJob,
    Said,
    Seen,
    Settings,
    Turn,
)
from runtime.exchange.dispatch_reports import CheckReport

SECOND: Final = 1_000_000
START: Final = 1_700_000_000
MANAGER: Final = "manager"
CHECK: Final = "clusters"
ATTEMPT: Final = rfc3339(START)
MARK: Final = Mark(MANAGER, "uid", ATTEMPT)
OLD: Final = Mark(MANAGER, "uid", rfc3339(START - 100))
FOREIGN: Final = Mark("another", "uid", ATTEMPT)
DIGEST: Final = b"spec"
SETTINGS: Final = Settings(has_gates=True, by_cost=True, window=5 * SECOND, turn=300 * SECOND, give_up=None)


def at(seconds: float) -> int:
    """Microseconds since 1970."""
    return round((START + seconds) * SECOND)


def copy(*true: str, waits: str = "", message: str = "", **fields: Any) -> Copy:
    """A copy with these conditions True. `waits`: the reason of QuotaReserved=False."""
    reason = fields.pop("reason", "")
    conditions = {kind: Said(True, reason or kind, message, 0) for kind in true}
    if waits:
        conditions[QUOTA_RESERVED] = Said(False, waits, message, 0)
    given = {
        "uid": "c-1",
        "version": "7",
        "mark": MARK,
        "digest": DIGEST,
        "priority": 10,
        "has_gate": True,
        "gate": "Closed",
        **fields,
    }
    return Copy(namespace="team", name="train", conditions=conditions, **given)


def gated(**fields: Any) -> Copy:
    """A copy whose cluster would preempt. It says so as Kueue does."""
    return copy(BLOCKED_ON_PREEMPTION_GATES, waits=fields.pop("waits", "PendingEvaluation"), **fields)


def admitted(*more: str, **fields: Any) -> Copy:
    """A copy that is Admitted."""
    return copy(QUOTA_RESERVED, ADMITTED, *more, **fields)


def job(active: int = 0, **fields: Any) -> RemoteJob:
    """A Job in a worker cluster."""
    given = {"uid": "j-1", "version": "9", "mark": MARK, "suspended": not active, **fields}
    status = fields.pop("status", JobStatus(active=active))
    given.pop("status", None)
    return RemoteJob(namespace="team", name="train", workload="train", status=status, **given)


def cluster(name: str, found: Copy | None = None, its: RemoteJob | None = None, **fields: Any) -> ClusterSeen:
    """A cluster, with this copy and this Job."""
    return ClusterSeen(name, fields.pop("reach", "Connected"), copy=found, job=its, **fields)


def cost(priority: int = 0, **fields: Any) -> Cost:
    """What a preemption costs."""
    given = {"workloads": 1, "pods": 1, "pod_seconds": 10, "cluster_queue": "q", "seen": at(1), **fields}
    return Cost(priority, given.pop("priority_sum", priority), **given)


def workload(
    *true: str,
    chosen: str = "",
    state: str = "Pending",
    since: float = 0,
    others: Mapping[str, str] | None = None,
    nominated: tuple[str, ...] = (),
    **spec: Any,
) -> Workload:
    """The Workload here, which holds quota. `state`: of its check, since then."""
    conditions = [Condition(kind, "True", kind, "why", ATTEMPT) for kind in (QUOTA_RESERVED, *true)]
    checks = [AdmissionCheckState(CHECK, state, rfc3339(START + since), "")]  # type: ignore[arg-type] # a state
    checks += [AdmissionCheckState(name, each, ATTEMPT, "") for name, each in (others or {}).items()]  # type: ignore[arg-type] # a state
    status = WorkloadStatus(
        conditions=conditions,
        admission_checks=checks,
        cluster_name=chosen or None,
        nominated_cluster_names=list(nominated) or None,
    )
    meta = ObjectMeta(name="train", namespace="team", uid="uid", generation=1)
    return Workload(metadata=meta, spec=WorkloadSpec(**{"priority": 10, **spec}), status=status)


def seen(*clusters: ClusterSeen, of: Workload | None = None, **fields: Any) -> Seen:
    """What the manager sees."""
    local = TemplatedJob(metadata=ObjectMeta(name="train", namespace="team", uid="job"))
    given = {
        "check": CHECK,
        "job": local,
        "digest": DIGEST,
        "attempt": ATTEMPT,
        "fenced": frozenset(each.name for each in clusters),
        **fields,
    }
    return Seen("team/train", of or workload(), MANAGER, clusters=clusters, **given)


def turn(number: int, name: str, began: float, *, seconds: float = 300, is_over: bool = False) -> Turn:
    """A stored turn."""
    return Turn(f"turn-{number}", number, name, at(began), at(began + seconds), is_over)


def follows(
    what: Seen, seconds: float = 0, memory: Memory = EMPTY, settings: Settings = SETTINGS
) -> Decision:
    """What follows at this time."""
    return decide(what, memory.about("uid", what.attempt), settings, at(seconds))


def said(decision: Decision) -> CheckReport:
    """The report of the check."""
    assert decision.report is not None
    assert decision.report.check is not None
    return decision.report.check


__all__ = [
    "ADMITTED",
    "ATTEMPT",
    "BLOCKED_ON_PREEMPTION_GATES",
    "CHECK",
    "EVICTED",
    "FINISHED",
    "FOREIGN",
    "MANAGER",
    "MARK",
    "OLD",
    "QUOTA_RESERVED",
    "SECOND",
    "SETTINGS",
    "START",
    "admitted",
    "at",
    "cluster",
    "copy",
    "cost",
    "follows",
    "gated",
    "job",
    "said",
    "seen",
    "turn",
    "workload",
]
