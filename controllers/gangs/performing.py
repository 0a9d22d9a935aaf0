"""Carries out what a gang's life asks for: what others must see at once, and then what is written.

Room is promised and given back between two events of the loop, so that the next decision knows of it. What is written
waits for its turn beside the planner (`controllers.gangs.writing.writes`).
"""

from __future__ import annotations

from functools import partial
from typing import Final

from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.lifecycle.effects import (
    Advance,
    Ask,
    CannotSchedule,
    Commit,
    Count,
    CountObserved,
    Effect,
    End,
    Evict,
    GiveBack,
    Judge,
    Nominate,
    NominateFirst,
    Record,
    Rehearse,
    Remind,
    SayAstray,
    SayAttempt,
    SayKept,
    SayPreempting,
    SayReleasing,
    SayScheduled,
    SayUnplanned,
    Wake,
)
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.limits import REACHED
from controllers.gangs.lifecycle.pausing import PAUSED
from controllers.gangs.metrics import CONFIRMATIONS, OBSERVED, UNPLANNED
from controllers.gangs.plan_acts import PlanActs
from controllers.gangs.planning.outcomes import Outcomes
from controllers.gangs.promised.promising import Promising
from controllers.gangs.telling.events import Reporter
from controllers.gangs.waking.waking import Waking
from controllers.gangs.writing.writes import Work, Writes

__all__ = ["Performer"]

AGAIN: Final = frozenset({"NotStored", PAUSED, REACHED})
"""Reasons after which another attempt may find a plan although nothing changes."""


class Performer:
    """Carries out effects, in the order in which a gang's life asks for them."""

    def __init__(
        self,
        promising: Promising,
        acts: PlanActs,
        waking: Waking,
        outcomes: Outcomes,
        reporter: Reporter,
        gangs: Gangs,
        writes: Writes,
    ) -> None:
        self.promising, self._acts, self._waking, self._outcomes = promising, acts, waking, outcomes
        self._reporter, self._gangs, self._writes = reporter, gangs, writes

    def perform(self, gang: Gang) -> None:
        """Carry out everything that is to do for the gang."""
        while gang.todo:
            work = self._begin(gang, gang.todo.pop(0))
            if work is not None:
                self._writes.put(gang.key, work)

    def _begin(self, gang: Gang, effect: Effect) -> Work | None:
        """Do what others must see at once. Returns what is to be written."""
        match effect:
            case Commit(plan):
                self._outcomes.planned(gang.key)
                self.promising.promise(plan)
                return partial(self._commit, gang, plan)
            case Advance():
                return partial(self._advance, gang, effect)
            case Count(by_scheduler, by_model):
                CONFIRMATIONS.labels("scheduler").inc(by_scheduler)
                CONFIRMATIONS.labels("model").inc(by_model)
            case CountObserved(outcome, state):
                OBSERVED.labels(outcome, state).inc()
                self._outcomes.planned(gang.key)
            case Ask(_, members):
                self._waking.ask(gang.key, members)
            case Evict(plan):
                self._acts.evict(gang, plan)
            case Rehearse(plan):
                self._acts.rehearse(gang, plan)
            case End():
                return self._end(gang, effect)
            case GiveBack(plan):
                self.promising.give_back(plan)
                self._waking.plan_ended()
            case Record(phase=phase):
                if phase == "Observed":
                    self._outcomes.planned(gang.key)
                return partial(self._acts.record, gang, effect)
            case CannotSchedule(_, reason):
                self._outcomes.not_planned(gang.key, again=reason in AGAIN)
                return partial(self._reporter.cannot_schedule, gang.key, effect)
            case Nominate(plan) | Remind(plan):
                self._waking.bring_back(plan, nominate=isinstance(effect, Nominate))
            case NominateFirst(plan):
                self._waking.nominate_first(plan)
            case SayAstray(message):
                self._reporter.astray(gang.key, message)
            case SayKept(reason):
                self._reporter.kept(gang.key, reason)
            case SayReleasing(plan):
                self._reporter.releasing(plan)
            case SayPreempting(plan):
                self._outcomes.evicts(plan)
                self._reporter.preempting(plan)
            case SayUnplanned(plan, pods):
                UNPLANNED.inc(len(pods))
                self._reporter.unplanned(plan, len(pods))
                return partial(self._acts.unplanned, plan, plan.unplanned)
            case SayAttempt():
                return partial(self._acts.say_attempt, effect)
            case Judge():
                return partial(self._outcomes.judge, gang.key, effect)
            case SayScheduled():
                return partial(self._reporter.scheduled, gang.key)
            case Wake(reason, message):
                self._waking.wake(gang.key, reason, message)
        return None

    async def _commit(self, gang: Gang, plan: ActivePlan) -> None:
        if await self._acts.commit(gang, plan):
            await self._waking.committed(plan)

    async def _advance(self, gang: Gang, effect: Advance) -> None:
        preempts = effect.phase == "Evicting" and not effect.plan.releases
        owners = self._outcomes.owners(effect.plan) if preempts else None
        await self._acts.advance(gang, effect, owners)

    def _end(self, gang: Gang, effect: End) -> Work:
        """Give the room back now."""
        self.promising.give_back(effect.plan)
        self._gangs.touch(gang.key)  # its members are counted before the next plan
        self._waking.cancel(gang.key)
        self._acts.finish(effect.plan)
        self._waking.plan_ended()
        owners = self._outcomes.ended(gang.key, effect)
        return partial(self._write_end, gang, effect, owners)

    async def _write_end(self, gang: Gang, effect: End, owners: list[str] | None) -> None:
        """Write how the plan ended, and wake whoever was held because of it."""
        plan, ending = effect.plan, effect.ending
        await self._acts.write_end(effect, owners)
        await self._reporter.ended(plan, ending)
        await self._waking.ended(gang.key, ending.reason, ending.message)
