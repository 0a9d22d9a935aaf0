"""Follows the mirror: gangs to which something has happened are looked at, and move through their lives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

import structlog

from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.keys import lone_pod
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey
from controllers.gangs.lifecycle.observations import Failed
from controllers.gangs.looking.look import Looks
from controllers.gangs.looking.plan_index import PlanIndex
from controllers.gangs.mirror.mirror import Mirror
from controllers.gangs.mirror.pausing import why_paused
from controllers.gangs.planning.turns import Turns
from controllers.gangs.telling.telling import Telling

__all__ = ["Following", "Performs", "Wakes"]

log = structlog.get_logger(__name__)


class Wakes(Protocol):
    """Who brings back pods that were held or kept out."""

    def wake(self, group: GroupKey, reason: str, message: str) -> None:
        """Bring back the pods that were held because of the group."""

    def forget_group(self, group: GroupKey) -> None:
        """The group is gone."""

    def let_in(self) -> None:
        """Wake the pods that filter would no longer keep out."""


class Performs(Protocol):
    """Who carries out what lives ask for."""

    def perform(self, gang: Gang) -> None:
        """Carry out everything that is to do for the gang."""


class Following:
    """It looks, lets the reducer decide, and has the effects carried out."""

    def __init__(
        self,
        mirror: Mirror,
        gangs: Gangs,
        looks: Looks,
        turns: Turns,
        performer: Performs,
        waking: Wakes,
        telling: Telling,
    ) -> None:
        self._mirror, self._gangs, self._looks, self._turns = mirror, gangs, looks, turns
        self._performer, self._waking, self._telling = performer, waking, telling
        self._index = PlanIndex()
        self._seen = self._classes = self._budgets = -1
        """The tables' last change that was followed, and the last changes of PriorityClasses and of budgets."""

    def follow(self) -> None:
        """Until nothing more follows from what is seen."""
        self._turns.follow()
        self._follow_nodes()
        if self._budgets != self._mirror.tables.budget_changes:
            self._budgets = self._mirror.tables.budget_changes
            self._turns.budgets_changed()
        while True:
            self._follow_groups()
            stirred = self._gangs.take_stirred()
            if not stirred:
                return
            for gang in stirred:
                self._move(gang)

    def stir_plans(self) -> None:
        """Look at every plan: time alone ends some."""
        self._stir(list(self._gangs.planned))

    def promised(self, plan: ActivePlan, is_promised: bool) -> None:
        """Room is promised to the plan, or is no longer: where it claims some, and where it frees some."""
        evicting = {pod.node for victim in plan.spec.victims for pod in victim.pods}
        nodes = evicting | {member.node for member in plan.members.values()}
        if not is_promised:
            self._turns.freed(nodes)
        self._stir({group for node in nodes for group in self._index.on_node(node)})

    def _follow_nodes(self) -> None:
        """Plans on nodes that have changed are looked at, and nominations that have ended give room back."""
        nodes, since = self._mirror.tables.nodes, self._seen
        self._seen = nodes.last_change
        if since == self._seen:
            return
        if len(self._index):
            names = nodes.names_since(since)
            if names is None:
                self._stir(self._gangs.planned)
            else:
                self._stir({group for name in names for group in self._index.on_node(name)})
        if released := nodes.released_since(since):
            self._turns.freed(released)

    def _follow_groups(self) -> None:
        if self._classes != self._mirror.tables.class_changes:
            self._classes = self._mirror.tables.class_changes
            self._gangs.classes_changed()
        for key in self._gangs.touched:
            self._stir(self._index.of_victim(key))
        followed = self._gangs.follow()
        for gang in followed.gone:
            self._forget(gang)
            if lone_pod(gang.key) is None and gang.key not in followed.basic:
                # Its pods still say that they wait for it.
                self._waking.wake(gang.key, "PodGroupDeleted", "the PodGroup is gone")
        for key in followed.basic:
            self._waking.wake(key, "Basic", "the pod group is not a gang")
        for key in followed.mixed:
            self._telling.mixed_priorities(key)

    def _forget(self, gang: Gang) -> None:
        """The gang is gone: carry out what is left to do for it."""
        self._forget_plan(gang.key)
        self._performer.perform(gang)
        self._turns.forget(gang.key)
        self._telling.forget(gang.key)
        self._waking.forget_group(gang.key)

    def _stir(self, groups: Iterable[GroupKey]) -> None:
        for group in groups:
            self._gangs.stir(group)

    # ---- one gang

    def _move(self, gang: Gang) -> None:
        """Look at the gang until nothing more follows from what is seen. A fault with it holds up no other gang."""
        try:
            self._performer.perform(gang)
            while (plan := gang.life.plan) is not None:
                self._look(gang, plan)
                if not gang.todo:
                    break
                self._performer.perform(gang)
        except Exception:
            log.exception("a gang is passed over for now", group=gang.key)
            self._gangs.observe(gang, Failed())
        self._enlist(gang)

    def _look(self, gang: Gang, plan: ActivePlan) -> None:
        seen = self._looks.look(plan, trusted=self._mirror.is_trusted())
        if paused := why_paused(self._mirror.pauses, plan.spec):
            seen = replace(seen, paused=paused)
        if (limited := self._gangs.limits.of_plan(plan)) is not None:
            seen = replace(seen, limited=limited)
        self._telling.looked(plan, seen)
        self._gangs.see(gang, seen)

    def _enlist(self, gang: Gang) -> None:
        """The queue, the index and the PodGroup's status know the gang as it is now."""
        self._telling.moved(gang.key)
        plan = gang.life.plan
        if plan is not None:
            self._index.put(plan)
        else:
            self._forget_plan(gang.key)
        self._turns.enlist(gang)

    def _forget_plan(self, group: GroupKey) -> None:
        """The gang has no plan."""
        self._index.remove(group)
        self._looks.forget(group)
