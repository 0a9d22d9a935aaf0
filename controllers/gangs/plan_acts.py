"""What is done to carry out a plan: its phases are written, its victims evicted, and stored plans kept in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Set
from typing import Final

import structlog
from msgspec import UNSET

from api.plan_names import PlanKey
from controllers.gangs.evicting.evictions import Evictions
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.lifecycle.effects import Advance, End, Record, SayAttempt
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.observations import NotStored, Stored
from controllers.gangs.metrics import NATIVE_PLANS, STEERED_VICTIMS
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.writing.housekeeping import Housekeeping
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.writes import Key, Writes
from runtime.failpoints import failpoint
from runtime.plans.plan_objects import PlanNotStoredError

__all__ = ["Keeps", "PlanActs", "Records"]

log = structlog.get_logger(__name__)

HOUSEKEEPING: Final[Key] = ("", "housekeeping")
"""Work of our own, which is not about one object. No namespace has an empty name."""


Keeps = Callable[[], Iterable[PlanKey]]
"""Returns the plans that have ended, and have left something to be withdrawn or finished."""


def _none() -> Iterable[PlanKey]:
    return ()


class _Either(Set[PlanKey]):
    """Plans that are in one of two sets, as these are now."""

    def __init__(self, one: Set[PlanKey], other: Set[PlanKey]) -> None:
        self._one, self._other = one, other

    def __contains__(self, key: object) -> bool:
        return key in self._one or key in self._other

    def __iter__(self) -> Iterator[PlanKey]:
        return iter({*self._one, *self._other})

    def __len__(self) -> int:
        return len({*self._one, *self._other})


class Records:
    """Stores decisions for which nothing is done, and keeps stored plans in order."""

    def __init__(
        self,
        store: PlanStore,
        housekeeping: Housekeeping,
        gangs: Gangs,
        writes: Writes,
        keeps: Keeps = _none,
    ) -> None:
        """`keeps`: their finalizers stay for now."""
        self._keeps, self._kept = keeps, frozenset[PlanKey]()
        self._store, self._housekeeping = store, housekeeping
        self._gangs, self._writes = gangs, writes

    async def record(self, gang: Gang, effect: Record) -> None:
        """Store a decision for which nothing is done."""
        try:
            await self._store.record(effect.spec, effect.phase, effect.reason, changed=effect.changed)
        except PlanNotStoredError as error:
            log.warning("a decision could not be written", group=gang.key, error=str(error))

    # ---- the clock

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        return self._housekeeping.next_sweep()

    def tick(self, *, trusted: bool) -> bool:
        """Put stored plans in order. A round that is still being written is not begun again."""
        before, self._kept = self._kept, frozenset(self._keeps())
        if before - self._kept:
            self._housekeeping.look_again()
        if trusted and self._housekeeping.next_sweep() <= 0.0 and self._writes.is_idle(HOUSEKEEPING):
            self._writes.put(HOUSEKEEPING, self._sweep)
        return False

    async def _sweep(self) -> None:
        gangs = (self._gangs.get(key) for key in self._gangs.planned)
        plans = (gang.life.plan for gang in gangs if gang is not None)
        carried_out = {(plan.namespace, plan.name) for plan in plans if plan is not None}
        await self._housekeeping.sweep(carried_out, self._at_work())

    def _at_work(self) -> Set[PlanKey]:
        """Plans whose evictions go on."""
        return self._kept


class PlanActs(Records):
    """Nothing is done for a plan before it is stored. What is written waits for its turn: see `Writes`."""

    def __init__(
        self,
        store: PlanStore,
        housekeeping: Housekeeping,
        evictions: Evictions,
        reservations: Reservations,
        gangs: Gangs,
        writes: Writes,
        keeps: Keeps = _none,
    ) -> None:
        super().__init__(store, housekeeping, gangs, writes, keeps)
        self._evictions, self._reservations = evictions, reservations

    # ---- one plan

    async def commit(self, gang: Gang, plan: ActivePlan) -> bool:
        """Store the plan; whether it is stored. Room is reserved already, so that nobody takes it meanwhile."""
        try:
            await self._store.record(plan.spec, "Planned", plan.spec.reason)
        except PlanNotStoredError as error:
            log.warning("a plan that cannot be written is not acted on", group=gang.key, error=str(error))
            self._gangs.observe(gang, NotStored("Planned", str(error), error.for_good))
            return False
        _count_native(plan)
        self._gangs.observe(gang, Stored("Planned"))
        await failpoint("plan.committed")
        return True

    async def advance(self, gang: Gang, effect: Advance, owners: list[str] | None) -> None:
        """Store the plan's next phase. `owners`: who would create the victims again (UIDs); None: as it is stored."""
        plan, phase = effect.plan, effect.phase
        try:
            await self._store.advance(plan, phase, effect.message, owners=owners)
        except PlanNotStoredError as error:
            log.warning("a plan goes on only once that is written", plan=plan.name, error=str(error))
            self._gangs.observe(gang, NotStored(phase, str(error), error.for_good))
        else:
            if phase == "Evicting" and plan.is_steered:
                STEERED_VICTIMS.inc(len(plan.victims))
            self._gangs.observe(gang, Stored(phase))
            await failpoint(f"plan.{phase.lower()}")

    async def unplanned(self, plan: ActivePlan, pods: Collection[str]) -> None:
        """Store which pods (UIDs) the scheduler has evicted for the plan although it does not name them."""
        try:
            await self._store.unplanned((plan.namespace, plan.name), pods)
        except PlanNotStoredError as error:
            log.warning("what the scheduler evicts could not be written", plan=plan.name, error=str(error))

    async def say_attempt(self, effect: SayAttempt) -> None:
        """Store when the scheduler tries the gang again. It is only for people."""
        plan = effect.plan
        try:
            await self._store.attempt((plan.namespace, plan.name), effect)
        except PlanNotStoredError as error:
            log.warning("the time of an attempt could not be written", plan=plan.name, error=str(error))

    def rehearse(self, gang: Gang, plan: ActivePlan) -> None:
        """Have the API server check the plan's evictions. Observed as Rehearsed."""
        self._evictions.rehearse(gang, plan)

    def evict(self, gang: Gang, plan: ActivePlan) -> None:
        """Evict the plan's victims. Observed as EvictorStopped."""
        self._evictions.start(gang, plan)

    def finish(self, plan: ActivePlan) -> None:
        """The plan has ended: units that have begun are finished, and marks withdrawn. `write_end` follows."""
        self._housekeeping.begin_end((plan.namespace, plan.name))
        self._evictions.finish(plan)

    async def write_end(self, effect: End, owners: list[str] | None) -> None:
        """Write how the plan ended, now or later. `owners` as in `advance`."""
        plan, ending = effect.plan, effect.ending
        key = (plan.namespace, plan.name)
        try:
            at_work = _Either(self._evictions.at_work, frozenset(self._keeps()))
            await self._store.end(key, ending, evicting=at_work, owners=owners)
        except PlanNotStoredError as error:
            log.warning("how a plan ended is written later", plan=plan.name, error=str(error))
            self._housekeeping.owe(key, ending, for_good=error.for_good)
        finally:
            self._housekeeping.end_written(key)

    # ---- the clock

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`. Promised room has a deadline."""
        return 0.0 if len(self._reservations) else super().due_in()

    def _at_work(self) -> Set[PlanKey]:
        return _Either(self._evictions.at_work, self._kept)


def _count_native(plan: ActivePlan) -> None:
    """Count a stored plan for a gang of kube-scheduler's own kind."""
    by, reason = plan.spec.evicted_by, plan.spec.evictor_reason
    if by is not UNSET and reason is not UNSET:
        NATIVE_PLANS.labels(by, reason).inc()
