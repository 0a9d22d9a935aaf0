"""In which pass of kube-scheduler each of its own gangs is, in one term: see `controllers.gangs.lifecycle.passes`."""

from __future__ import annotations

from api.clock import Clock
from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.observations import HandedOver
from controllers.gangs.lifecycle.passes import Call, Offering, Pass, answer, closed, resumed
from controllers.gangs.lifecycle.settings import PASS_SECONDS
from controllers.gangs.lifecycle.stored_plan import StoredPlan
from controllers.gangs.metrics import HAND_OVER_SECONDS
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.writing.stored import StoredPlans
from nodes.groups.keys import is_native_name
from runtime.failpoints import kill_here

__all__ = ["Passing"]


class Passing:
    """It gets every filter call for a gang that has, or had, a plan, and reports to the gang's life."""

    def __init__(self, roster: Roster, gangs: Gangs, clock: Clock) -> None:
        self._roster, self._gangs, self._clock = roster, gangs, clock
        self._passes: dict[GroupKey, Pass] = {}
        self._handed_over: dict[GroupKey, str] = {}
        """The last plan of each group that was handed over."""
        self._taken_over = clock.monotonic()

    def __len__(self) -> int:
        return len(self._passes)

    def knows(self, group: GroupKey) -> bool:
        """Whether a plan may have made offers in the pass that goes on."""
        return group in self._passes

    def take_over(self, stored: StoredPlans) -> None:
        """Former processes may have made offers by these plans in passes that go on."""
        self._taken_over = self._clock.monotonic()
        for owner in stored.owners():
            plans, current = stored.of(owner), stored.to_carry_out(owner)
            if passing := self._resumed(plans, current):
                self._passes[plans[-1].group] = passing

    def _resumed(self, plans: list[StoredPlan], current: StoredPlan | None) -> Pass | None:
        if not any(_is_native(each) for each in plans):
            return None
        since = self._clock.wall() - PASS_SECONDS
        is_new = current is None or current.committed >= since
        others = is_new and any(each is not current and each.touched >= since for each in plans)
        if current is None and not others:
            return None
        return resumed(current.meta.name if current is not None else None, others=others)

    def answer(
        self, group: GroupKey, plan: ActivePlan | None, uid: str, nodes: list[str], offered: str | None
    ) -> str | None:
        """The node that filter offers the member (UID) now; None: it is held.

        `nodes`: the names in the call. `offered`: what the gang's plan offers the member.
        """
        passing = self._passes.get(group, Pass())
        if passing.is_open and self._clock.monotonic() >= self._taken_over + PASS_SECONDS:
            passing = closed(passing)
        offering = self._offering(group, plan, offered) if plan is not None else None
        passing, node, seen = answer(passing, Call(uid, nodes), offering)
        self._passes[group] = passing
        if node is not None and passing.offers == 2:
            kill_here("plan.offered_twice")  # in the middle of a pass: one member has its answer
        for each in seen:
            if isinstance(each, HandedOver) and plan is not None:
                self._measure(group, plan)
            self._gangs.report(group, each)
            if isinstance(each, HandedOver):
                kill_here("plan.handed_over")  # its answer is lost
        return node

    def _measure(self, group: GroupKey, plan: ActivePlan) -> None:
        """Measure how long the plan waited for its first hand-over."""
        if self._handed_over.get(group) != plan.name and plan.made is not None:
            HAND_OVER_SECONDS.observe(self._clock.monotonic() - plan.made)
        self._handed_over[group] = plan.name

    def _offering(self, group: GroupKey, plan: ActivePlan, offered: str | None) -> Offering:
        return Offering(
            plan.name,
            offered,
            self._roster.needed(group, but=()),
            is_steered=plan.is_steered,
            given_up=plan.given_up or self._clock.monotonic() >= plan.ends_at,
        )

    def forget(self, group: GroupKey) -> None:
        """No offers count any longer: the gang has reached minCount, or is gone."""
        self._passes.pop(group, None)
        self._handed_over.pop(group, None)


def _is_native(plan: StoredPlan) -> bool:
    """Whether the plan's preemptor is a gang of kube-scheduler's own kind."""
    if is_native_name(plan.group[1]):
        return True
    return plan.active is not None and plan.active.evicted_by in ("Scheduler", "Reprieve")
