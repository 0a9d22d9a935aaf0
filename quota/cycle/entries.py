"""What a cycle says of the heads of queues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from api.workloads import Workload
from quota.cycle.queues import Requeue, RequeueReason, requeue
from quota.search.decision import Decision, Tried

__all__ = ["Entry", "Outcome", "pending", "put_off"]

Outcome = Literal["Admit", "Preempt", "DeferredFit", "Skip", "Gated", "NoCandidates", "NoFit", "Inadmissible"]
"""The result for a head.

Admit: it gets its quota. Preempt: the targets of its decision are preempted. DeferredFit: it fits once the targets of
other heads, or the victims of promises to others, are gone. Skip: other heads took what it needs. Gated: its targets
stay while its preemption gate is closed. NoCandidates: it needs a preemption, but no workload may be preempted. NoFit:
the quota does not suffice. Inadmissible: there was no decision about it.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """The result for one head of a queue."""

    workload: Workload
    outcome: Outcome
    decision: Decision | None
    """None only if the outcome is Inadmissible."""
    message: str
    quota_reserved_reason: str
    """The reason of the condition QuotaReserved=False; "" if the outcome is Admit."""
    requeue: Requeue | None = None
    """When the workload is tried again: in the next cycle, or after a change. None: it does not go
    back to the queue."""
    requeue_reason: RequeueReason | None = None
    tried: Tried | None = None
    """The flavors that this search tried, for the next search; None if all were tried (Kueue: LastAssignment)."""
    retry_at: int | None = None
    """When minAdmitDuration ends for the next holder of equal priority, in microseconds. No object changes at that
    time, so the caller has to set a timer."""


def pending(decision: Decision) -> str:
    """The message of a preemptor."""
    return f"{decision.message}. Pending the preemption of {len(decision.targets)} workload(s)"


def put_off(entry: Entry, why: str, strategy: str, reason: RequeueReason = "Generic") -> Entry:
    """The entry of a preemptor that waits although the cycle found victims for it.

    `why` follows its message; if its preemption gates are closed, that which it would have with open ones. `strategy`:
    of its ClusterQueue. `reason` says when it is tried again.
    """
    gated = entry.decision if entry.outcome == "Gated" else None
    message = pending(gated) if gated is not None else entry.message
    return replace(
        entry,
        outcome="NoCandidates",
        message=f"{message}; {why}",
        quota_reserved_reason="WaitingForQuota",
        requeue=requeue(strategy, reason, pending_flavors=False, backing_off=False),
        requeue_reason=reason,
        tried=None,
    )
