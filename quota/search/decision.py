"""The decision for one workload: which flavors it gets, and which workloads are preempted for it. A function of
the snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.workloads import PreemptionReason, Workload
from native.quota.quotas import Found
from quota.search.asks import Options, ask_for
from quota.search.assignment import Assignment, Mode, NoFitReason, Tried
from quota.search.explain import REASONS, Explanation, explained
from quota.search.flavors import assign
from quota.state.amounts import QuotaError
from quota.state.snapshot import Holder, Queue, QuotaSnapshot
from quota.state.workloads import has_closed_preemption_gate, key_of

__all__ = ["Decision", "Options", "Target", "Tried", "decide"]


@dataclass(frozen=True, slots=True)
class Target:
    """A workload that is preempted."""

    holder: Holder
    reason: PreemptionReason


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a workload in the present state."""

    workload: str
    """`namespace/name`."""
    queue: str
    """Name of the ClusterQueue."""
    mode: Mode
    """Preempt without targets means: only a preemption could make room, but no workload may be preempted."""
    flavors: Mapping[str, Mapping[str, str]]
    """By pod set and resource; empty if the mode is NoFit."""
    borrowing: int
    """The height of the smallest subtree whose quota suffices. 0 if its own quota suffices, or if the mode is NoFit."""
    targets: tuple[Target, ...]
    """Sorted by key. Together they make room. If any of them stayed, the workload would not fit."""
    gated: bool
    """Whether a preemption gate is closed (KEP-8303). The targets stay until it is open. Without targets the gate
    makes no difference."""
    message: str
    """What prevents the admission, in Kueue's words; "" if nothing does."""
    no_fit_reason: NoFitReason
    tried: Tried | None
    """Where the next search for flavors continues; None if all were tried."""
    assignment: Assignment
    explanation: Explanation | None
    """None if the caller did not ask for it."""


def decide(
    snapshot: QuotaSnapshot,
    workload: Workload,
    now: int,
    options: Options | None = None,
    *,
    explain: bool = False,
    only: Mapping[str, Mapping[str, str]] | None = None,
    last_tried: Tried | None = None,
) -> Decision:
    """The decision for a workload that waits. `now` is in microseconds.

    `only`: flavors by pod set and resource; no other flavors are tried. `last_tried`: the search for flavors
    continues after these. Raises QuotaError if the workload cannot be decided: it has no queue, its queue is
    inactive, or a quantity is invalid.
    """
    options = options or Options()
    queue = _active(snapshot, workload)
    assignment = assign(snapshot, queue, workload, options, now, only=only, last_tried=last_tried)
    ask = ask_for(snapshot, queue, workload, now, options, assignment)
    found = Found([], [])
    if assignment.mode == "Preempt":
        found = snapshot.ledger.search(ask, options.search, explain)
    fits = assignment.mode != "NoFit"
    return Decision(
        workload=key_of(workload),
        queue=queue.name,
        mode=assignment.mode,
        flavors=_flavors(assignment) if fits else {},
        borrowing=assignment.borrowing if fits else 0,
        targets=_targets(found),
        gated=has_closed_preemption_gate(workload),
        message=assignment.message,
        no_fit_reason=assignment.no_fit_reason,
        tried=assignment.tried,
        assignment=assignment,
        explanation=explained(snapshot, queue, ask, assignment, found, options.fair_sharing)
        if explain
        else None,
    )


def _active(snapshot: QuotaSnapshot, workload: Workload) -> Queue:
    queue = snapshot.queue_of(workload)
    if queue.inactive:
        raise QuotaError(f"ClusterQueue {queue.name}", "", f"is not active: {queue.inactive}")
    return queue


def _flavors(assignment: Assignment) -> dict[str, dict[str, str]]:
    return {
        pods.name: {resource: each.flavor for resource, each in pods.flavors.items()}
        for pods in assignment.pod_sets
    }


def _targets(found: Found) -> tuple[Target, ...]:
    targets = [
        Target(holder, REASONS[reason]) for holder, reason in found.targets if isinstance(holder, Holder)
    ]
    return tuple(sorted(targets, key=lambda target: target.holder.key))
