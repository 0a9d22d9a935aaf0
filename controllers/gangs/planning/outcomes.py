"""What planning makes of the beginning and the end of a gang's plan."""

from __future__ import annotations

from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.effects import End, Judge
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.planning.lessons import Lessons
from controllers.gangs.planning.singles import Singles
from controllers.gangs.planning.verdicts import Verdicts

__all__ = ["Outcomes"]


class Outcomes:
    """The next plan is another one: it learns from this one, it waits, or a pod comes back to wish again."""

    def __init__(self, lessons: Lessons, verdicts: Verdicts, singles: Singles) -> None:
        self._lessons, self._verdicts, self._singles = lessons, verdicts, singles

    def planned(self, key: GroupKey) -> None:
        """The gang has a plan."""
        self._singles.planned(key)

    def not_planned(self, key: GroupKey, *, again: bool) -> None:
        """It has none. `again`: another attempt may find one although nothing changes."""
        self._singles.give_up(key, again=again)

    def evicts(self, plan: ActivePlan) -> None:
        """The plan begins to evict."""
        self._verdicts.begin(plan)

    def owners(self, plan: ActivePlan) -> list[str]:
        """Who would create the plan's victims again (UIDs)."""
        return self._verdicts.owners(plan)

    def ended(self, key: GroupKey, effect: End) -> list[str] | None:
        """The plan has ended so. Returns the owners to be stored: see `Verdicts.end`."""
        self._lessons.learn(effect.plan, effect.ending)
        owners = self._verdicts.end(effect.plan)
        if effect.ending.phase != "Bound":
            self._singles.give_up(key, again=True)
        return owners

    async def judge(self, key: GroupKey, verdict: Judge) -> None:
        """Store whether the gang got to run on the room that was made for it."""
        await self._verdicts.judge(key, verdict)
