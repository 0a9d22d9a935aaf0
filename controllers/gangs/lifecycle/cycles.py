"""Preemption cycles: owners that evict each other, or that one preemptor evicts again and again. Pure functions.

The owner of a pod is who would create it again: its PodGroup, else its controller. A pod without either does not come
back. Stored plans name the owners of their victims, and the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from controllers.gangs.lifecycle.stored_plan import StoredPlan

__all__ = ["Cycle", "cycles"]

MOST_PLANS: Final = 3
"""After so many plans for one preemptor, it evicts nobody of the owner for a while."""


class Cycle(NamedTuple):
    """Why a preemptor evicts nobody of an owner for now."""

    until: float
    """Seconds since the epoch."""
    mutual: bool
    """They have evicted each other. Otherwise the preemptor has evicted pods of the owner MOST_PLANS times."""


def cycles(
    preemptor: str, plans_of: Callable[[str], Iterable[StoredPlan]], now: float, seconds: float
) -> dict[str, Cycle]:
    """The owners (UIDs) that the preemptor (UID) spares at `now`.

    `plans_of`: the plans of a preemptor (UID) that evicted. A cycle ends `seconds` after the last eviction in it.
    """
    found: dict[str, Cycle] = {}
    for owner, times in _times(plans_of(preemptor)).items():
        back = _times(plans_of(owner)).get(preemptor, [])
        if _meet(times, back, seconds):
            found[owner] = Cycle(max(*times, *back) + seconds, mutual=True)
        elif _in_a_row(times, seconds) >= MOST_PLANS:
            found[owner] = Cycle(times[-1] + seconds, mutual=False)
    return {owner: cycle for owner, cycle in found.items() if now < cycle.until}


def _times(plans: Iterable[StoredPlan]) -> dict[str, list[float]]:
    """When pods of each owner were evicted, oldest first."""
    times: dict[str, list[float]] = {}
    for plan in sorted(plans, key=lambda plan: plan.evicting):
        for owner in plan.status.victim_owners or ():
            times.setdefault(owner, []).append(plan.evicting)
    return times


def _meet(there: Sequence[float], back: Sequence[float], seconds: float) -> bool:
    return any(abs(one - other) <= seconds for one in there for other in back)


def _in_a_row(times: Sequence[float], seconds: float) -> int:
    """How many of the last evictions followed one another within `seconds`."""
    count = 1
    for before, after in zip(reversed(times[:-1]), reversed(times[1:]), strict=True):
        if after - before > seconds:
            break
        count += 1
    return count
