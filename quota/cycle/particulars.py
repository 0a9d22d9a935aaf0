"""What a plan tells about the decision of an entry: each victim with its rule, and each amount. Data, not text."""

from __future__ import annotations

from dataclasses import dataclass

from api.workloads import PreemptionReason
from quota.cycle.entries import Entry
from quota.search.decision import Decision, Target
from quota.state.snapshot import QuotaSnapshot

__all__ = ["AmountParticulars", "Particulars", "VictimParticulars", "particulars"]


@dataclass(frozen=True, slots=True)
class VictimParticulars:
    """A workload that is preempted."""

    key: str
    """`namespace/name`."""
    uid: str
    reason: PreemptionReason
    """The rule by which it is preempted."""
    queue: str
    """The ClusterQueue whose quota it holds."""
    path: str
    """From the root Cohort to its ClusterQueue, `/root/team/queue`."""
    held: int
    """For how long it has held its quota, in microseconds."""
    priority: int
    evicting: bool
    """Whether it was on its way out before this decision."""


@dataclass(frozen=True, slots=True)
class AmountParticulars:
    """One resource in one flavor. Amounts are in canonical units (see `quota.state.amounts`)."""

    flavor: str
    resource: str
    asked: int
    """By all pod sets together."""
    available: int
    """What the search found available before any victim goes. It leaves out what is promised to others."""
    borrowed: int
    """The part of `asked` that is beyond the nominal quota of the ClusterQueue, once the victims are gone."""


@dataclass(frozen=True, slots=True)
class Particulars:
    """One decision, as a plan tells it."""

    queue: str
    """The ClusterQueue of the preemptor."""
    path: str
    """From the root Cohort to this ClusterQueue, `/root/team/queue`."""
    borrowing: int
    """The height of the smallest subtree whose quota suffices. 0 if its own quota suffices."""
    victims: tuple[VictimParticulars, ...]
    """Sorted by key."""
    amounts: tuple[AmountParticulars, ...]
    """Sorted by flavor and resource. Every `asked` is more than 0."""


def particulars(snapshot: QuotaSnapshot, entry: Entry, now: int) -> Particulars:
    """What a plan tells about this entry. `now` is in microseconds.

    `snapshot`: the one that the cycle got. Raises ValueError if there was no decision about the workload.
    """
    decision = entry.decision
    if decision is None:
        raise ValueError(f"there is no decision about the workload: {entry.message}")
    return Particulars(
        queue=decision.queue,
        path=snapshot.path(snapshot.queues[decision.queue].node),
        borrowing=decision.borrowing,
        victims=tuple(_victim(snapshot, target, now) for target in decision.targets),
        amounts=tuple(
            AmountParticulars(
                flavor,
                resource,
                asked,
                _available(decision, flavor, resource),
                _borrowed(snapshot, decision, flavor, resource),
            )
            for (flavor, resource), asked in sorted(decision.assignment.usage.items())
        ),
    )


def _victim(snapshot: QuotaSnapshot, target: Target, now: int) -> VictimParticulars:
    holder = target.holder
    return VictimParticulars(
        key=holder.key,
        uid=holder.workload.metadata.uid,
        reason=target.reason,
        queue=holder.queue,
        path=snapshot.path(snapshot.queues[holder.queue].node),
        held=max(0, now - holder.reserved),
        priority=holder.priority,
        evicting=holder.evicting,
    )


def _available(decision: Decision, flavor: str, resource: str) -> int:
    """What the first check of this pair found. Later pod sets were checked against the same amount."""
    return next(
        check.available
        for search in decision.assignment.searches
        if search.chosen == flavor
        for attempt in search.attempts
        if attempt.flavor == flavor
        for check in attempt.checks
        if check.resource == resource
    )


def _borrowed(snapshot: QuotaSnapshot, decision: Decision, flavor: str, resource: str) -> int:
    node, pair = snapshot.queues[decision.queue].node, (flavor, resource)
    fr, asked = snapshot.layout.frs[pair], decision.assignment.usage[pair]
    leaving = sum(
        target.holder.usage.get(pair, 0)
        for target in decision.targets
        if target.holder.queue == decision.queue
    )
    beyond = snapshot.ledger.usage(node, fr) - leaving + asked - int(snapshot.layout.quotas.nominal[node, fr])
    return min(asked, max(0, beyond))
