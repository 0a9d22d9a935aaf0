"""Keeps the stored plans in order: writes ends and phases that are owed, removes finalizers, and deletes old plans."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog

from api.clock import Clock
from api.plan_names import PlanKey
from controllers.gangs.lifecycle.life import Ending, GroupKey
from controllers.gangs.lifecycle.stored_plan import ACTIVE, StoredPlan
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.stored import StoredPlans
from controllers.gangs.writing.writes import Writes
from runtime.plans.plan_objects import PlanNotStoredError
from runtime.plans.plan_retention import Retention, surplus

__all__ = ["ABANDONED", "Chores", "Housekeeping", "chores"]

log = structlog.get_logger(__name__)

SWEEP_SECONDS: Final = 60.0
"""How often plans are looked at when none of them changes: they grow old all the same."""
AT_ONCE: Final = 20
"""Writes in one sweep. The rest waits for the next one, so that gangs do not wait for the housekeeping."""

ABANDONED: Final = Ending("Aborted", "NotCarriedOut", "no process carries this plan out")


@dataclass(frozen=True, slots=True)
class Chores:
    """What there is to do; each a list of plans, oldest first."""

    abandoned: list[StoredPlan]
    """Active, and nobody carries them out."""
    unfinished: list[StoredPlan]
    """Ended, and our finalizer is still there."""
    unwritten: list[StoredPlan]
    """Decisions by which nothing is evicted, without a phase."""
    surplus: list[StoredPlan]
    """To be deleted."""


def chores(
    plans: Iterable[StoredPlan],
    carried_out: Set[PlanKey],
    now: float,
    retention: Retention,
    evicting: Set[PlanKey] = frozenset(),
    *,
    lasts: Callable[[StoredPlan], bool],
) -> Chores:
    """What there is to do at `now` (seconds since the epoch). `evicting`: plans whose evictions go on.

    `lasts`: whether the plan's preemptor is a PodGroup that still exists.
    `runtime.plans.plan_retention` says which plans are deleted.
    """
    ordered = sorted(plans, key=lambda plan: (plan.touched, plan.meta.name))
    old = [plan for plan in surplus(ordered, now, retention, lasts) if not plan.is_in_account(now)]
    return Chores(
        abandoned=[plan for plan in ordered if plan.active is not None and plan.key not in carried_out],
        unfinished=[plan for plan in ordered if _is_unfinished(plan) and plan.key not in evicting],
        unwritten=[plan for plan in ordered if plan.unwritten is not None],
        surplus=[*old, *_too_many(ordered, old, retention, now)],
    )


def _is_unfinished(plan: StoredPlan) -> bool:
    return plan.finalized and plan.phase not in ACTIVE


def _too_many(
    ordered: Iterable[StoredPlan], old: Iterable[StoredPlan], retention: Retention, now: float
) -> list[StoredPlan]:
    """The oldest plans in phase Observed, if there are too many beside those that are deleted anyway (`old`).

    Those that the account still needs come last.
    """
    if retention.observed is None:
        return []
    leaving = {plan.key for plan in old}
    stay = [plan for plan in ordered if plan.observed and plan.key not in leaving]
    stay.sort(key=lambda plan: plan.is_in_account(now))
    return stay[: max(0, len(stay) - retention.observed)]


class Housekeeping:
    """Does the chores, a few at a time. Faults are logged: the next sweep tries again."""

    def __init__(
        self,
        stored: StoredPlans,
        store: PlanStore,
        writes: Writes,
        retention: Retention,
        clock: Clock,
        *,
        uid_of: Callable[[GroupKey], str | None],
        abandoned: Ending = ABANDONED,
    ) -> None:
        """`writes`: of the gangs. What a gang still writes itself is left alone.

        `uid_of`: the UID of a preemptor that exists. `abandoned`: how active plans end that nobody carries out.
        """
        self._abandoned = abandoned
        self._stored, self._store, self._writes, self._uid_of = stored, store, writes, uid_of
        self._retention, self._clock = retention, clock
        self._owed: dict[PlanKey, Ending] = {}
        self._ending: set[PlanKey] = set()
        """Plans whose end somebody writes now, or is about to."""
        self._seen, self._swept = -1, float("-inf")

    def begin_end(self, key: PlanKey) -> None:
        """The plan has ended, and its end is about to be written: it is not abandoned."""
        self._ending.add(key)

    def end_written(self, key: PlanKey) -> None:
        """The end of the plan is written, or could not be written."""
        self._ending.discard(key)

    def owe(self, key: PlanKey, ending: Ending, *, for_good: bool) -> None:
        """The end of a plan could not be written: write it later. `for_good`: there is nothing to write to."""
        if not for_good:
            self._owed[key] = ending

    def look_again(self) -> None:
        """Something is due that no change of a plan shows."""
        self._seen = -1

    def next_sweep(self) -> float:
        """Seconds until plans have to be looked at, whether or not anything happens."""
        if self._owed or self._stored.changes != self._seen:
            return 0.0
        return max(0.0, self._swept + SWEEP_SECONDS - self._clock.monotonic())

    async def sweep(self, carried_out: Set[PlanKey], evicting: Set[PlanKey]) -> None:
        """Do what is due. `carried_out`: the plans of living gangs. `evicting`: plans whose evictions go on."""
        if self.next_sweep() > 0.0:
            return
        self._seen, self._swept = self._stored.changes, self._clock.monotonic()
        known, now = carried_out | self._ending, self._clock.wall()
        due = chores(self._stored, known, now, self._retention, evicting, lasts=self._lasts)
        for plan in due.abandoned[:AT_ONCE]:
            ending = self._owed.get(plan.key, self._abandoned)
            await self._try(plan.key, self._store.end(plan.key, ending, evicting=evicting))
        self._owed = {key: ending for key, ending in self._owed.items() if self._is_active(key)}
        for plan in due.unfinished[:AT_ONCE]:
            await self._try(plan.key, self._store.let_go(plan.key))
        idle = [plan for plan in due.unwritten if self._writes.is_idle(plan.group)]
        for plan in idle[:AT_ONCE]:
            self._writes.put(plan.group, partial(self._complete, plan.key))
        for plan in due.surplus[:AT_ONCE]:
            await self._try(plan.key, self._store.delete(plan.key))
        await self._store.whole.sweep()

    def _lasts(self, plan: StoredPlan) -> bool:
        """A group of the same name that was created later is another preemptor."""
        return plan.owner[0] == "PodGroup" and self._uid_of(plan.group) == plan.preemptor

    def _is_active(self, key: PlanKey) -> bool:
        plan = self._stored.get(key)
        return plan is not None and plan.active is not None

    async def _complete(self, key: PlanKey) -> None:
        await self._try(key, self._store.complete(key))

    async def _try(self, key: PlanKey, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except PlanNotStoredError as error:
            log.warning("a stored plan could not be put in order", plan="/".join(key), error=str(error))
