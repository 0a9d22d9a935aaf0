"""The loop that moves gangs through their lives: it looks, lets the reducer decide, and carries the effects out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import structlog

from api.clock import Clock
from api.plans import VictimPod
from controllers.gangs.claims import Claims
from controllers.gangs.decide import Decider
from controllers.gangs.effects import (
    Advance,
    CannotSchedule,
    Commit,
    Effect,
    End,
    Evict,
    GiveBack,
    Nominate,
    Record,
    Remind,
    SayPreempting,
    SayScheduled,
    Wake,
)
from controllers.gangs.events import Reporter
from controllers.gangs.evictor import Evictor
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.housekeeping import Housekeeping
from controllers.gangs.life import ActivePlan, GangPhase
from controllers.gangs.look import difference, look, protected
from controllers.gangs.metrics import GANGS
from controllers.gangs.observations import (
    Compared,
    DeletionRefused,
    EvictorStopped,
    Failed,
    GroupGone,
    NotStored,
    PlanSeen,
    RoomFreed,
    Stored,
)
from controllers.gangs.plans import PlanNotStoredError, PlanStore
from controllers.gangs.refusals import Refusals
from controllers.gangs.release import Waker
from controllers.gangs.reservations import Reservations
from controllers.gangs.roster import Roster
from runtime.failpoints import failpoint

__all__ = ["Hands", "Planner", "World"]

log = structlog.get_logger(__name__)

TICK_SECONDS: Final = 1.0
"""How often plans being carried out are looked at when the mirror is quiet: for deadlines and missed wake-ups."""

RETRY_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class World:
    """What the planner looks at."""

    roster: Roster
    reservations: Reservations
    claims: Claims
    trusted: Callable[[], bool]
    """Whether the mirror may be trusted: without it nothing is decided and nobody evicted."""
    tell_time: Callable[[], bool]
    """Have the tables know which pods are overdue; whether that has changed for any pod."""


@dataclass(frozen=True, slots=True)
class Hands:
    """Those who act for the planner. They are made for one term and end with it."""

    store: PlanStore
    evictor: Evictor
    waker: Waker
    reporter: Reporter
    housekeeping: Housekeeping


class Planner:
    """One actor. Plans are committed one at a time; evictions run beside it, and the mirror shows them."""

    def __init__(
        self,
        world: World,
        gangs: Gangs,
        decider: Decider,
        refusals: Refusals,
        hands: Hands,
        clock: Clock,
        nudged: asyncio.Event,
    ) -> None:
        """`nudged` is set by whoever wants the planner to look again."""
        self._world, self._gangs, self._decider = world, gangs, decider
        self._refusals, self._hands, self._clock, self._nudged = refusals, hands, clock, nudged
        self._evictions: dict[str, asyncio.Task[None]] = {}
        self._ticked = 0.0

    async def run(self) -> None:
        """Follow the mirror until cancelled."""
        try:
            while True:
                try:
                    more = await self.step()
                except Exception:
                    log.exception("the planner failed and goes on")
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if not more:
                    await self._wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Stop evicting, wherever that is; the next term goes on."""
        evictions = list(self._evictions.values())
        for task in evictions:
            task.cancel()
        await asyncio.gather(*evictions, return_exceptions=True)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._patience()):
                await self._nudged.wait()
        except TimeoutError:
            return
        finally:
            self._nudged.clear()

    def _patience(self) -> float:
        """Seconds until there is something to do on a quiet cluster."""
        idle = not (len(self._world.reservations) or len(self._refusals) or self._hands.waker.behind)
        if not idle or not self._world.trusted():
            return TICK_SECONDS
        sweep = max(TICK_SECONDS, self._hands.housekeeping.next_sweep())
        due = self._gangs.next_due()
        return sweep if due is None else min(due, sweep)

    async def step(self) -> bool:
        """Everything that is due, and one new plan. Returns whether another plan is due at once."""
        await self._follow_groups()
        for gang in self._gangs:
            await self._guarded(gang, self._move(gang))
        await self._hands.waker.retry()
        if self._clock.monotonic() >= self._ticked + TICK_SECONDS:
            await self._tick()
        due = self._gangs.to_plan() if self._world.trusted() else []
        if due:
            await self._guarded(due[0], self._plan(due[0]))
        return bool(due)

    async def _follow_groups(self) -> None:
        gone, basic = self._gangs.refresh()
        for gang in gone:
            self._gangs.observe(gang, GroupGone())
            await self._guarded(gang, self._carry_out(gang))
            self._hands.reporter.forget(gang.key)
        for key in basic:
            await self._hands.waker.wake(key, "Basic", "the pod group is not a gang")

    async def _guarded(self, gang: Gang, work: Coroutine[Any, Any, None]) -> None:
        """A fault with one gang must not hold up the others."""
        try:
            await work
        except Exception:
            log.exception("a gang is passed over for now", group=gang.key)
            self._gangs.observe(gang, Failed())

    async def _move(self, gang: Gang) -> None:
        """Look at the gang until nothing more follows from what is seen."""
        while True:
            await self._carry_out(gang)
            self._look(gang)
            if not gang.todo:
                return

    def _look(self, gang: Gang) -> None:
        plan = gang.life.plan
        if plan is None:
            self._gangs.count_members(gang)
        else:
            self._gangs.observe(gang, self._seen(plan))

    def _seen(self, plan: ActivePlan) -> PlanSeen:
        world = self._world
        return look(plan, world.roster, world.reservations, trusted=world.trusted())

    async def _plan(self, gang: Gang) -> None:
        self._gangs.observe(gang, await self._decider.decide(gang.key))
        await self._move(gang)

    # ---- what looks at every gang, or waits for the clock alone

    async def _tick(self) -> None:
        self._ticked = self._clock.monotonic()
        if self._world.tell_time():
            self._nudged.set()
        phases = self._gangs.phases()
        for phase in get_args(GangPhase):
            GANGS.labels(phase).set(phases[phase])
        await self._let_go()
        if self._refusals.expire(self._clock.monotonic()):
            self._room_freed()
        if self._world.trusted():
            plans = (gang.life.plan for gang in self._gangs)
            await self._hands.housekeeping.sweep({(p.namespace, p.name) for p in plans if p is not None})

    async def _let_go(self) -> None:
        """Wake pods that filter turned down and would let pass now, although no plan has ended because of which they
        would be woken: they came when the mirror could not be trusted, or the group changed between two looks.
        """
        if not self._world.trusted():
            return
        for key in self._hands.waker.kept:
            passes = not len(self._world.reservations) if key is None else self._gangs.lets_pass(key)
            if passes:
                await self._hands.waker.wake(key, "Released", "nothing holds it back any longer")

    def _room_freed(self) -> None:
        for gang in self._gangs:
            self._gangs.observe(gang, RoomFreed())

    # ---- effects

    async def _carry_out(self, gang: Gang) -> None:
        while gang.todo:
            await self._perform(gang, gang.todo.pop(0))

    async def _perform(self, gang: Gang, effect: Effect) -> None:
        hands = self._hands
        match effect:
            case Commit(plan):
                await self._commit(gang, plan)
            case Advance(plan, phase):
                await self._advance(gang, plan, phase)
            case Evict(plan):
                self._start_evicting(gang, plan)
            case End():
                await self._end(gang, effect)
            case GiveBack(plan):
                self._world.claims.withdraw((plan.namespace, plan.name), plan.spec)
                await hands.waker.wake(None, "NotStored", "room is no longer reserved")
            case Record():
                await self._record(gang, effect)
            case CannotSchedule():
                await hands.reporter.cannot_schedule(gang.key, effect)
            case Nominate(plan):
                await failpoint("plan.ready")
                await hands.waker.bring_back(plan, nominate=True)
            case Remind(plan):
                await hands.waker.bring_back(plan, nominate=False)
            case SayPreempting(plan):
                hands.reporter.preempting(plan)
            case SayScheduled():
                await hands.reporter.scheduled(gang.key)
            case Wake(reason, message):
                await hands.waker.wake(gang.key, reason, message)

    async def _record(self, gang: Gang, effect: Record) -> None:
        try:
            await self._hands.store.record(effect.spec, effect.phase, effect.reason)
        except PlanNotStoredError as error:
            log.warning("a decision could not be written", group=gang.key, error=str(error))

    async def _commit(self, gang: Gang, plan: ActivePlan) -> None:
        """Reserve first, so that nobody takes the room meanwhile; then write."""
        self._world.claims.propose((plan.namespace, plan.name), plan.spec)
        try:
            await self._hands.store.record(plan.spec, "Planned", plan.spec.reason)
        except PlanNotStoredError as error:
            log.warning("a plan that cannot be written is not acted on", group=gang.key, error=str(error))
            self._gangs.observe(gang, NotStored("Planned", str(error), error.for_good))
            return
        self._gangs.observe(gang, Stored("Planned"))
        await failpoint("plan.committed")

    async def _advance(self, gang: Gang, plan: ActivePlan, phase: Literal["Evicting", "Ready"]) -> None:
        try:
            await self._hands.store.advance(plan, phase)
        except PlanNotStoredError as error:
            log.warning("a plan goes on only once that is written", plan=plan.name, error=str(error))
            self._gangs.observe(gang, NotStored(phase, str(error), error.for_good))
        else:
            self._gangs.observe(gang, Stored(phase))

    async def _end(self, gang: Gang, effect: End) -> None:
        """Give the room back, write how the plan ended, and wake whoever was held because of it."""
        plan, ending = effect.plan, effect.ending
        key = (plan.namespace, plan.name)
        self._world.claims.withdraw(key, plan.spec)
        self._room_freed()
        gang.touched = -1  # its members are counted before the next plan
        self._refusals.note(plan.refused, self._clock.monotonic())
        try:
            await self._hands.store.end(key, ending)
        except PlanNotStoredError as error:
            log.warning("how a plan ended is written later", plan=plan.name, error=str(error))
            self._hands.housekeeping.owe(key, ending, for_good=error.for_good)
        await self._hands.reporter.ended(plan, ending)
        await self._hands.waker.wake(gang.key, ending.reason, ending.message)

    # ---- evictions

    def _start_evicting(self, gang: Gang, plan: ActivePlan) -> None:
        task = asyncio.create_task(self._evict(gang, plan), name=f"evict {plan.name}")
        self._evictions[plan.name] = task

    async def _evict(self, gang: Gang, plan: ActivePlan) -> None:
        done = False
        try:
            done = await self._hands.evictor.evict(
                plan,
                may_evict=lambda pod: self._may_evict(gang, plan, pod),
                refused=lambda uid, why: self._refused(gang, plan, uid, why),
            )
        except Exception:
            log.exception("an eviction failed and will be tried again", plan=plan.name)
            await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._evictions.pop(plan.name, None)
            if _is_current(gang, plan):
                self._gangs.observe(gang, EvictorStopped(done))
            self._nudged.set()

    def _may_evict(self, gang: Gang, plan: ActivePlan, pod: VictimPod) -> bool:
        """Asked before every pod. Before the first one, the plan must still be what a new look would give."""
        current = gang.life.plan
        if (
            current is None
            or not _is_current(gang, plan)
            or not current.may_evict
            or not self._world.trusted()
        ):
            return False
        roster = self._world.roster
        changed = protected(current, pod, roster) if current.begun else difference(current, roster)
        self._gangs.observe(gang, Compared(changed))
        return not changed

    def _refused(self, gang: Gang, plan: ActivePlan, uid: str, why: str) -> None:
        if _is_current(gang, plan):
            self._gangs.observe(gang, DeletionRefused(uid, why))


def _is_current(gang: Gang, plan: ActivePlan) -> bool:
    """Whether this is still the plan that is being carried out: the same decision may be committed again."""
    current = gang.life.plan
    return current is not None and (current.name, current.deadline) == (plan.name, plan.deadline)
