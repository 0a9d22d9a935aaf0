"""Carries out what a gang's life asks for: what others must see at once, and then what is written.

Room is promised and given back between two events of the loop, so that the next decision knows of it. What is written
waits for its turn beside the planner (`controllers.gangs.writing.writes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial

import structlog

from api.clock import Clock
from controllers.gangs.evicting.evictions import Evictions
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.lifecycle.effects import (
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
    SayAstray,
    SayKept,
    SayPreempting,
    SayReleasing,
    SayScheduled,
    Wake,
)
from controllers.gangs.lifecycle.life import ActivePlan, Ending, GroupKey
from controllers.gangs.lifecycle.observations import NotStored, Stored
from controllers.gangs.metrics import CONFIRMATIONS
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.planning.exclusions import Exclusions
from controllers.gangs.planning.refusals import Refusals
from controllers.gangs.planning.singles import Singles
from controllers.gangs.planning.verdicts import Verdicts
from controllers.gangs.promised.claims import Claims
from controllers.gangs.telling.events import Reporter
from controllers.gangs.telling.group_status import GroupStatusWriter
from controllers.gangs.waking.asking import AskedMember, Asking, Parking
from controllers.gangs.waking.kept_out import KeptOut
from controllers.gangs.waking.nominations import Nominations
from controllers.gangs.waking.parked import Why
from controllers.gangs.waking.waker import Waker
from controllers.gangs.writing.housekeeping import Housekeeping
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.writes import Work, Writes
from runtime.failpoints import failpoint
from runtime.plans.plan_objects import PlanNotStoredError

__all__ = ["Hands", "Performer"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Hands:
    """Those who act in one term."""

    store: PlanStore
    evictions: Evictions
    asking: Asking
    waker: Waker
    reporter: Reporter
    status: GroupStatusWriter
    housekeeping: Housekeeping
    verdicts: Verdicts
    nominations: Nominations
    singles: Singles
    writes: Writes
    kept_out: KeptOut


class Performer:
    """Carries out effects, in the order in which a gang's life asks for them."""

    def __init__(
        self,
        hands: Hands,
        gangs: Gangs,
        roster: Roster,
        claims: Claims,
        waiting: WaitingPods,
        refusals: Refusals,
        exclusions: Exclusions,
        clock: Clock,
        promised: Callable[[Set[str], bool], None],
    ) -> None:
        """`promised` is told of nodes on which room is promised (True), or is promised no longer (False)."""
        self._hands, self._gangs, self._roster, self._claims = hands, gangs, roster, claims
        self._waiting, self._refusals, self._exclusions = waiting, refusals, exclusions
        self._clock, self._promised = clock, promised

    def perform(self, gang: Gang) -> None:
        """Carry out everything that is to do for the gang."""
        while gang.todo:
            work = self._begin(gang, gang.todo.pop(0))
            if work is not None:
                self._hands.writes.put(gang.key, work)

    def _begin(self, gang: Gang, effect: Effect) -> Work | None:
        """Do what others must see at once. Returns what is to be written."""
        hands = self._hands
        match effect:
            case Commit(plan):
                hands.singles.planned(gang.key)
                self._claims.propose((plan.namespace, plan.name), plan.spec)
                self._promised(_nodes(plan), True)
                return partial(self._commit, gang, plan)
            case Advance():
                return partial(self._advance, gang, effect)
            case Count(by_scheduler, by_model):
                CONFIRMATIONS.labels("scheduler").inc(by_scheduler)
                CONFIRMATIONS.labels("model").inc(by_model)
            case Ask(plan, members):
                self.ask(gang, members)
            case Evict(plan):
                hands.evictions.start(gang, plan)
            case Rehearse(plan):
                hands.evictions.rehearse(gang, plan)
            case End():
                return self._end(gang, effect)
            case GiveBack(plan):
                self._withdraw(plan)
                hands.asking.reason_passed(Why.RESERVED)
            case Record():
                return partial(self._record, gang, effect)
            case CannotSchedule(_, reason):
                hands.singles.give_up(gang.key, again=reason == "NotStored")
                return partial(hands.reporter.cannot_schedule, gang.key, effect)
            case Nominate(plan) | Remind(plan):
                return partial(self._bring_back, plan, nominate=isinstance(effect, Nominate))
            case SayAstray(message):
                hands.reporter.astray(gang.key, message)
            case SayKept(reason):
                hands.reporter.kept(gang.key, reason)
            case SayReleasing(plan):
                hands.reporter.releasing(plan)
            case SayPreempting(plan):
                hands.verdicts.begin(plan)
                hands.reporter.preempting(plan)
            case Judge():
                return partial(hands.verdicts.judge, gang.key, effect)
            case SayScheduled():
                return partial(hands.reporter.scheduled, gang.key)
            case Wake(reason, message):
                hands.asking.let_go(gang.key)
                return partial(hands.waker.wake, gang.key, reason, message)
        return None

    def wake(self, key: GroupKey, reason: str, message: str) -> None:
        """Bring back the pods that were held because of the group."""
        self._hands.asking.let_go(key)
        self._hands.writes.put(key, partial(self._hands.waker.wake, key, reason, message))

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        self._hands.reporter.forget(key)
        self._hands.status.forget(key)
        self._hands.asking.forget_group(key)
        self._hands.verdicts.forget(key)
        self._hands.singles.forget(key)

    # ---- plans

    async def _commit(self, gang: Gang, plan: ActivePlan) -> None:
        """Room is reserved already, so that nobody takes it meanwhile."""
        try:
            await self._hands.store.record(plan.spec, "Planned", plan.spec.reason)
        except PlanNotStoredError as error:
            log.warning("a plan that cannot be written is not acted on", group=gang.key, error=str(error))
            self._gangs.observe(gang, NotStored("Planned", str(error), error.for_good))
            return
        self._gangs.observe(gang, Stored("Planned"))
        await failpoint("plan.committed")
        await self._hands.nominations.withdraw_others(plan)

    async def _advance(self, gang: Gang, effect: Advance) -> None:
        plan, phase = effect.plan, effect.phase
        try:
            preempts = phase == "Evicting" and not plan.releases
            owners = self._hands.verdicts.owners(plan) if preempts else None
            await self._hands.store.advance(plan, phase, effect.message, owners=owners)
        except PlanNotStoredError as error:
            log.warning("a plan goes on only once that is written", plan=plan.name, error=str(error))
            self._gangs.observe(gang, NotStored(phase, str(error), error.for_good))
        else:
            self._gangs.observe(gang, Stored(phase))
            await failpoint(f"plan.{phase.lower()}")

    async def _record(self, gang: Gang, effect: Record) -> None:
        try:
            await self._hands.store.record(effect.spec, effect.phase, effect.reason)
        except PlanNotStoredError as error:
            log.warning("a decision could not be written", group=gang.key, error=str(error))

    def _end(self, gang: Gang, effect: End) -> Work:
        """Give the room back now."""
        plan, ending, hands = effect.plan, effect.ending, self._hands
        self._refusals.note(plan.refused, self._clock.monotonic())
        self._exclude(plan, ending)
        self._withdraw(plan)
        self._gangs.touch(gang.key)  # its members are counted before the next plan
        hands.asking.cancel(gang.key)
        hands.housekeeping.begin_end((plan.namespace, plan.name))
        hands.evictions.finish(plan)
        owners = hands.verdicts.end(plan)
        hands.asking.reason_passed(Why.RESERVED)
        if ending.phase != "Bound":
            hands.singles.give_up(gang.key, again=True)
        return partial(self._write_end, gang, effect, owners)

    async def _write_end(self, gang: Gang, effect: End, owners: list[str] | None) -> None:
        """Write how the plan ended, and wake whoever was held because of it."""
        plan, ending, hands = effect.plan, effect.ending, self._hands
        key = (plan.namespace, plan.name)
        try:
            await hands.store.end(key, ending, evicting=hands.evictions.at_work, owners=owners)
        except PlanNotStoredError as error:
            log.warning("how a plan ended is written later", plan=plan.name, error=str(error))
            hands.housekeeping.owe(key, ending, for_good=error.for_good)
        finally:
            hands.housekeeping.end_written(key)
        await hands.reporter.ended(plan, ending)
        await hands.waker.wake(gang.key, ending.reason, ending.message)

    def _withdraw(self, plan: ActivePlan) -> None:
        self._claims.withdraw((plan.namespace, plan.name), plan.spec)
        self._promised(_nodes(plan), False)
        self._hands.kept_out.plan_ended({member.node for member in plan.members.values()})

    def _exclude(self, plan: ActivePlan, ending: Ending) -> None:
        """Remember where the scheduler did not take members: the next plans leave these nodes out."""
        for each in ending.contradictions:
            pod_class = self._roster.class_key(each.uid)
            if pod_class is not None:
                pod = f"{plan.namespace}/{each.name}"
                self._exclusions.note(pod_class, each.node, pod, each.seen)
            CONFIRMATIONS.labels("contradicted").inc()

    # ---- members

    def ask(self, gang: Gang, members: Sequence[str]) -> None:
        """Bring members back to the scheduler. The answer comes as Asked.

        A member without the scheduler's verdict is in its queue, or nobody schedules it. Nothing brings it back sooner.
        """
        asked = []
        for uid in members:
            pod = self._waiting.find(uid)
            if pod is not None and pod.is_turned_down:
                parking = Parking.HELD if self._hands.waker.is_held(uid) else Parking.UNKNOWN
                asked.append(AskedMember(uid, pod.namespace, pod.name, pod.scheduler, pod.priority, parking))
        self._hands.asking.ask(gang.key, self._roster.rank(gang.key), asked)

    async def _bring_back(self, plan: ActivePlan, *, nominate: bool) -> None:
        await self._hands.nominations.withdraw_others(plan)
        await self._hands.waker.bring_back(plan, nominate=nominate)


def _nodes(plan: ActivePlan) -> set[str]:
    """Where the plan claims room or frees some."""
    evicting = {pod.node for victim in plan.spec.victims for pod in victim.pods}
    return evicting | {member.node for member in plan.members.values()}
