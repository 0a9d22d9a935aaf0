"""The decision for one workload: which flavors it gets, and which workloads are preempted for it. A function of
the snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from api.workloads import PreemptionReason, Workload
from native.quota.quotas import Ask, Found
from quota.search.asks import Options, ask_for
from quota.search.assignment import Assignment, Mode, NoFitReason, Tried
from quota.search.explain import REASONS, Explanation, explained
from quota.search.flavors import assign
from quota.search.reducer import can_shrink, largest
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
    full: Assignment | None
    """Set in a partial admission: the flavors for all pods, for which it gets no quota. None if `assignment` is for all
    pods."""
    tried_fewer: bool
    """Whether fewer pods were tried, down to minCount, because all of them get no quota."""
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

    All pods come first, also with a preemption. Only if they neither fit nor find victims, fewer pods are tried.
    """
    options = options or Options()
    queue = _active(snapshot, workload)
    search = _Search(snapshot, queue, workload, options, now, only, last_tried, explain)
    full = search.attempt()
    tried_fewer = not full.succeeds and can_shrink(workload.spec.pod_sets)
    part = search.in_part() if tried_fewer else None
    assignment, ask, found = part or full
    fits = assignment.mode != "NoFit"
    return Decision(
        workload=key_of(workload),
        queue=queue.name,
        mode=assignment.mode,
        flavors=_flavors(assignment) if fits else {},
        borrowing=assignment.borrowing if fits else 0,
        targets=_targets(found),
        gated=has_closed_preemption_gate(workload),
        full=full.assignment if part is not None else None,
        tried_fewer=tried_fewer,
        message=assignment.message,
        no_fit_reason=assignment.no_fit_reason,
        tried=assignment.tried,
        assignment=assignment,
        explanation=explained(snapshot, queue, ask, assignment, found, options.fair_sharing)
        if explain
        else None,
    )


class _Attempt(NamedTuple):
    """A decision for certain numbers of pods."""

    assignment: Assignment
    ask: Ask
    found: Found

    @property
    def succeeds(self) -> bool:
        """Whether it fits, or there are victims whose preemption makes room."""
        return self.assignment.mode == "Fit" or bool(self.found.targets)


@dataclass(frozen=True, slots=True)
class _Search:
    snapshot: QuotaSnapshot
    queue: Queue
    workload: Workload
    options: Options
    now: int
    only: Mapping[str, Mapping[str, str]] | None
    last_tried: Tried | None
    trace: bool

    def attempt(self, counts: Sequence[int] | None = None) -> _Attempt:
        """The decision for these numbers of pods; None: for all."""
        where = self.snapshot, self.queue, self.workload
        assignment = assign(
            *where, self.options, self.now, only=self.only, last_tried=self.last_tried, counts=counts
        )
        ask = ask_for(*where, self.now, self.options, assignment)
        found = Found([], [])
        if assignment.mode == "Preempt":
            found = self.snapshot.ledger.search(ask, self.options.search, self.trace)
        return _Attempt(assignment, ask, found)

    def in_part(self) -> _Attempt | None:
        """The decision for as many pods as possible; None if it gets no quota with any number of them."""
        return largest(self.workload.spec.pod_sets, self._succeeding)

    def _succeeding(self, counts: Sequence[int]) -> _Attempt | None:
        try:
            tried = self.attempt(counts)
        except QuotaError:
            return None  # too much to be counted: more pods than it asks for, because some are reclaimable
        return tried if tried.succeeds else None


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
