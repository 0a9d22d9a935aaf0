"""Workloads that would evict each other by turns.

A ClusterQueue takes its quota back from a borrower (`reclaimWithinCohort`). The borrower may then preempt by another
rule, while borrowing (KEP-1337) or by fair sharing, and evict the very Workload that was admitted in its place. Each is
right by its policy, and both start again and again. So for some time nobody evicts by such a rule the Workload for
which it was evicted itself. Quota is taken back at once, and time-based preemption (KEP-8522) takes turns on purpose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from api.workloads import PreemptionReason
from quota.cycle.entries import Entry, put_off
from quota.state.workloads import key_of

__all__ = ["PAUSE_US", "Mutual", "Paused", "paused"]

PAUSE_US: Final = 600_000_000
"""Microseconds."""
BORROWED: Final[frozenset[PreemptionReason]] = frozenset(
    {"InCohortReclaimWhileBorrowing", "InCohortFairSharing"}
)
"""Rules by which quota is taken that is not the ClusterQueue's own."""


class Paused(NamedTuple):
    """Why an entry must not evict yet."""

    victim: str
    """The key of the Workload that stays."""
    until: int
    """In microseconds."""


class Mutual:
    """Remembers for one term who was evicted for whom. It names both by their UIDs. Times are in microseconds."""

    def __init__(self) -> None:
        self._evicted: dict[tuple[str, str], int] = {}
        """When it was decided, by (victim, preemptor)."""

    def begins(self, entry: Entry, now: int) -> None:
        """The victims of this entry go."""
        self._evicted = {pair: at for pair, at in self._evicted.items() if now - at < PAUSE_US}
        preemptor = entry.workload.metadata.uid
        for target in entry.decision.targets if entry.decision is not None else ():
            self._evicted[target.holder.workload.metadata.uid, preemptor] = now

    def paused(self, entry: Entry, now: int) -> Paused | None:
        """Whether the entry evicts a Workload for which it was evicted itself a short time ago."""
        mine = entry.workload.metadata.uid
        found = [
            Paused(key_of(target.holder.workload), at + PAUSE_US)
            for target in (entry.decision.targets if entry.decision is not None else ())
            if target.reason in BORROWED
            and (at := self._evicted.get((mine, target.holder.workload.metadata.uid))) is not None
            and now - at < PAUSE_US
        ]
        return min(found, key=lambda each: each.until, default=None)


def paused(entry: Entry, by: Paused, strategy: str) -> Entry:
    """The entry of a preemptor that waits so as not to take turns. `strategy`: of its ClusterQueue."""
    why = f"it does not preempt Workload {by.victim} yet, for which it was preempted itself"
    return replace(put_off(entry, why, strategy), retry_at=by.until)
