"""Preemptors that wait although a cycle found victims for them.

Their preemption would be in vain, two would take turns, their pods would find no place, or evictions are paused.
Whoever is held back takes nothing in the cycle. Otherwise quota that is free would stay unused as long as it waits, and
so would those who could have it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

from api.workloads import Workload
from controllers.quota.plans.mutual import Mutual, paused
from controllers.quota.plans.passers import Passers, in_vain
from controllers.quota.scheduling.agreement import Agreement, without_place
from quota.cycle.entries import Entry, put_off
from quota.state.snapshot import QuotaSnapshot
from quota.state.workloads import key_of

__all__ = ["HeldBack", "cycle_without"]


class HeldBack:
    """Who is held back, in one term."""

    def __init__(
        self,
        promised: Callable[[], Collection[str]],
        passers: Passers,
        mutual: Mutual,
        agreement: Agreement,
        now: Callable[[], int],
        why_paused: Callable[[Entry], str] = lambda _: "",
    ) -> None:
        """`promised`: the keys of preemptors whose plan is under way. `now`: in microseconds.

        `why_paused`: why an entry must evict nobody now; empty if it may.
        """
        self._why_paused = why_paused
        self._promised, self._passers, self._mutual = promised, passers, mutual
        self._agreement, self._now = agreement, now

    def entry(self, entry: Entry, snapshot: QuotaSnapshot) -> Entry | None:
        """The entry of a preemptor that waits; None if nothing holds it back. One whose plan is under way goes on, as
        long as its pods find a place.

        A preemptor with a closed preemption gate says so only if nothing else would hold it back.
        """
        if entry.outcome not in ("Preempt", "Gated") or entry.decision is None:
            return None
        strategy = snapshot.queues[entry.decision.queue].spec.queueing_strategy
        if why := self._why_paused(entry):
            return put_off(entry, why, strategy)
        if key_of(entry.workload) not in self._promised():
            if passer := self._passers.waiting(entry.workload):
                return in_vain(entry, passer, strategy)
            if (by := self._mutual.paused(entry, self._now())) is not None:
                return paused(entry, by, strategy)
        refused = self._agreement.refused(entry, snapshot)
        return without_place(entry, refused.why, strategy) if refused is not None else None


async def cycle_without(
    heads: Sequence[Workload],
    run: Callable[[Sequence[Workload]], Awaitable[Sequence[Entry]]],
    held_back: Callable[[Entry], Entry | None],
) -> list[Entry]:
    """The entries of a cycle in which those who are held back take nothing. Their entries come last.

    `run`: a cycle with these heads. It runs once more if anybody is held back who took something.
    """
    held: dict[str, Entry] = {}
    while True:
        entries = await run([each for each in heads if key_of(each) not in held])
        now_held = {key_of(each.workload): each for each in map(held_back, entries) if each is not None}
        held.update(now_held)
        if not any(each.outcome == "Preempt" and key_of(each.workload) in now_held for each in entries):
            return [*(each for each in entries if key_of(each.workload) not in held), *held.values()]
