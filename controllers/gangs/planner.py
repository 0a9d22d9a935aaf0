"""The loop that moves gangs through their lives: it looks, lets the reducer decide, and carries the effects out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

import structlog

from api.clock import Clock
from controllers.gangs.asking import AskedMember, Asking, Parking
from controllers.gangs.claims import Claims
from controllers.gangs.decide import Decider
from controllers.gangs.effects import (
    Advance,
    Ask,
    CannotSchedule,
    Commit,
    Count,
    Effect,
    End,
    Evict,
    GiveBack,
    Judge,
    Nominate,
    Record,
    Rehearse,
    Remind,
    SayPreempting,
    SayScheduled,
    Wake,
)
from controllers.gangs.events import Reporter
from controllers.gangs.evictions import Evictions
from controllers.gangs.evidence import Evidence
from controllers.gangs.exclusions import Exclusions
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.housekeeping import Housekeeping
from controllers.gangs.life import ActivePlan, Ending, GangPhase
from controllers.gangs.look import Looks
from controllers.gangs.metrics import CONFIRMATIONS, GANGS
from controllers.gangs.nominations import Nominations
from controllers.gangs.observations import (
    Decided,
    Failed,
    GroupGone,
    NotStored,
    PlanSeen,
    Relented,
    RoomFreed,
    Stored,
)
from controllers.gangs.parked import Why
from controllers.gangs.plans import PlanNotStoredError, PlanStore
from controllers.gangs.refusals import Refusals
from controllers.gangs.release import Waker
from controllers.gangs.reservations import Reservations
from controllers.gangs.roster import Roster
from controllers.gangs.sparing import Sparing
from controllers.gangs.verdicts import Verdicts
from controllers.gangs.waiting import WaitingPods
from runtime.failpoints import failpoint

__all__ = ["Hands", "Planner", "World"]

log = structlog.get_logger(__name__)

TICK_SECONDS: Final = 1.0
"""How often plans being carried out are looked at when the mirror is quiet: for deadlines and missed wake-ups."""

RETRY_SECONDS: Final = 1.0

BURST_SECONDS: Final = 0.02
"""Changes come in bursts, such as the evictions of a plan. One look serves all changes of so long a time."""


@dataclass(frozen=True, slots=True)
class World:
    """What the planner looks at."""

    roster: Roster
    reservations: Reservations
    claims: Claims
    evidence: Evidence
    waiting: WaitingPods
    trusted: Callable[[], bool]
    """Whether the mirror may be trusted: without it nothing is decided and nobody evicted."""
    tell_time: Callable[[], bool]
    """Have the tables know which pods are overdue; whether that has changed for any pod."""


@dataclass(frozen=True, slots=True)
class Hands:
    """Those who act for the planner. They are made for one term and end with it."""

    store: PlanStore
    evictions: Evictions
    asking: Asking
    waker: Waker
    reporter: Reporter
    housekeeping: Housekeeping
    verdicts: Verdicts
    nominations: Nominations


class Planner:
    """One actor. Plans are committed one at a time; evictions run beside it, and the mirror shows them."""

    def __init__(
        self,
        world: World,
        gangs: Gangs,
        decider: Decider,
        refusals: Refusals,
        exclusions: Exclusions,
        sparing: Sparing,
        hands: Hands,
        clock: Clock,
        nudged: asyncio.Event,
    ) -> None:
        """`nudged` is set by whoever wants the planner to look again."""
        self._world, self._gangs, self._decider = world, gangs, decider
        self._looks = Looks(world.roster, world.reservations, world.evidence)
        self._refusals, self._exclusions, self._sparing = refusals, exclusions, sparing
        self._hands = hands
        self._clock, self._nudged = clock, nudged
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
                    await asyncio.sleep(BURST_SECONDS)
        finally:
            await self._hands.evictions.close()

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
        kept: tuple[Sized, ...] = (
            self._world.reservations,
            self._world.waiting.nominated,
            self._refusals,
            self._exclusions,
            self._sparing,
        )
        barred = any(gang.life.barred for gang in self._gangs)
        idle = not (any(map(len, kept)) or barred or self._hands.waker.behind)
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
            self._hands.asking.forget_group(gang.key)
            self._hands.verdicts.forget(gang.key)
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
        return self._looks.look(plan, trusted=self._world.trusted())

    async def _plan(self, gang: Gang) -> None:
        verdicts = self._hands.verdicts
        decided = await self._decider.decide(gang.key, barred=verdicts.why_barred(gang.key, gang.life))
        if isinstance(decided, Decided) and gang.life.former is not None:
            decided = replace(decided, room=verdicts.room(gang.key, gang.life.former))
        self._gangs.observe(gang, decided)
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
        if self._world.trusted():
            await self._hands.nominations.withdraw_left(self._gangs.keeps_nominations)
        self._world.evidence.expire()
        expired = (
            self._refusals.expire(self._clock.monotonic()),
            self._exclusions.expire(),
            self._sparing.expire(),
        )
        if any(expired):
            self._room_freed()
        for gang in self._gangs:
            if self._hands.verdicts.relents(gang.key, gang.life):
                self._gangs.observe(gang, Relented())
        if self._world.trusted():
            plans = (gang.life.plan for gang in self._gangs)
            carried_out = {(p.namespace, p.name) for p in plans if p is not None}
            await self._hands.housekeeping.sweep(carried_out, self._hands.evictions.at_work)

    async def _let_go(self) -> None:
        """Wake pods that filter turned down and would let pass now, although no plan has ended because of which they
        would be woken: they came when the mirror could not be trusted, or the group changed between two looks.
        """
        if not self._world.trusted():
            return
        self._hands.asking.reason_passed(Why.NOT_READY)
        for key in self._hands.waker.kept:
            passes = not len(self._world.reservations) if key is None else self._gangs.lets_pass(key)
            if passes:
                await self._hands.waker.wake(key, "Released", "nothing holds it back any longer")

    def _room_freed(self) -> None:
        for gang in self._gangs:
            self._gangs.observe(gang, RoomFreed())

    def _exclude(self, plan: ActivePlan, ending: Ending) -> None:
        """Remember where the scheduler did not take members: the next plans leave these nodes out."""
        for each in ending.contradictions:
            pod_class = self._world.roster.class_key(each.uid)
            if pod_class is not None:
                pod = f"{plan.namespace}/{each.name}"
                self._exclusions.note(pod_class, each.node, pod, each.seen)
            CONFIRMATIONS.labels("contradicted").inc()

    # ---- effects

    async def _carry_out(self, gang: Gang) -> None:
        while gang.todo:
            await self._perform(gang, gang.todo.pop(0))

    async def _perform(self, gang: Gang, effect: Effect) -> None:
        hands = self._hands
        match effect:
            case Commit(plan):
                await self._commit(gang, plan)
            case Advance():
                await self._advance(gang, effect)
            case Count(by_scheduler, by_model):
                CONFIRMATIONS.labels("scheduler").inc(by_scheduler)
                CONFIRMATIONS.labels("model").inc(by_model)
            case Ask(plan, members):
                self._ask(gang, plan, members)
            case Evict(plan):
                hands.evictions.start(gang, plan)
            case Rehearse(plan):
                hands.evictions.rehearse(gang, plan)
            case End():
                await self._end(gang, effect)
            case GiveBack(plan):
                self._world.claims.withdraw((plan.namespace, plan.name), plan.spec)
                await hands.waker.wake(None, "NotStored", "room is no longer reserved")
                hands.asking.reason_passed(Why.RESERVED)
            case Record():
                await self._record(gang, effect)
            case CannotSchedule():
                await hands.reporter.cannot_schedule(gang.key, effect)
            case Nominate(plan) | Remind(plan):
                await hands.nominations.withdraw_others(plan)
                await hands.waker.bring_back(plan, nominate=isinstance(effect, Nominate))
            case SayPreempting(plan):
                hands.verdicts.begin(plan)
                hands.reporter.preempting(plan)
            case Judge():
                await hands.verdicts.judge(gang.key, effect)
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
        await self._hands.nominations.withdraw_others(plan)

    def _ask(self, gang: Gang, plan: ActivePlan, members: Sequence[str]) -> None:
        """Bring members back to the scheduler. The answer comes as Asked.

        A member without the scheduler's verdict is in its queue, or nobody schedules it. Nothing brings it back sooner.
        """
        asked = []
        for uid in members:
            pod = self._world.waiting.find(uid)
            if pod is not None and pod.is_turned_down:
                parking = Parking.HELD if self._hands.waker.is_held(uid) else Parking.UNKNOWN
                asked.append(AskedMember(uid, pod.namespace, pod.name, pod.scheduler, pod.priority, parking))
        self._hands.asking.ask(gang.key, self._world.roster.rank(gang.key), asked)

    async def _advance(self, gang: Gang, effect: Advance) -> None:
        plan, phase = effect.plan, effect.phase
        try:
            owners = self._hands.verdicts.owners(plan) if phase == "Evicting" else None
            await self._hands.store.advance(plan, phase, effect.message, owners=owners)
        except PlanNotStoredError as error:
            log.warning("a plan goes on only once that is written", plan=plan.name, error=str(error))
            self._gangs.observe(gang, NotStored(phase, str(error), error.for_good))
        else:
            self._gangs.observe(gang, Stored(phase))
            await failpoint(f"plan.{phase.lower()}")

    async def _end(self, gang: Gang, effect: End) -> None:
        """Give the room back, write how the plan ended, and wake whoever was held because of it."""
        plan, ending = effect.plan, effect.ending
        key = (plan.namespace, plan.name)
        self._world.claims.withdraw(key, plan.spec)
        self._looks.forget(plan.group)
        self._room_freed()
        gang.touched = -1  # its members are counted before the next plan
        self._refusals.note(plan.refused, self._clock.monotonic())
        self._exclude(plan, ending)
        self._hands.asking.cancel(gang.key)
        self._hands.evictions.finish(plan)
        owners = self._hands.verdicts.end(plan)
        try:
            evicting = self._hands.evictions.at_work
            await self._hands.store.end(key, ending, evicting=evicting, owners=owners)
        except PlanNotStoredError as error:
            log.warning("how a plan ended is written later", plan=plan.name, error=str(error))
            self._hands.housekeeping.owe(key, ending, for_good=error.for_good)
        await self._hands.reporter.ended(plan, ending)
        await self._hands.waker.wake(gang.key, ending.reason, ending.message)
        self._hands.asking.reason_passed(Why.RESERVED)
