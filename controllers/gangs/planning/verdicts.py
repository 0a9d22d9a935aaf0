"""Verdicts on evictions: stores them, counts those in vain, and says which gangs evict nothing because of them.

All of it can be read from the stored plans, so a process that begins to lead knows what its predecessor knew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from api.clock import Clock
from api.words import counted
from controllers.gangs.lifecycle.effects import Judge
from controllers.gangs.lifecycle.life import ActivePlan, Former, GroupKey, Life, RoomMade
from controllers.gangs.lifecycle.observations import Remembered
from controllers.gangs.lifecycle.settings import VAIN_AT_MOST
from controllers.gangs.lifecycle.stored_plan import StoredPlan, owner_of
from controllers.gangs.lifecycle.vain import History, history, room_made
from controllers.gangs.metrics import EVICTIONS_IN_VAIN
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.arrivals import Arrivals
from controllers.gangs.planning.exclusions import Exclusions
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.stored import StoredPlans
from runtime.plans.plan_objects import PlanNotStoredError

__all__ = ["Verdicts"]

log = structlog.get_logger(__name__)

NAMED = 3
"""Nodes that a message names."""


@dataclass(frozen=True, slots=True)
class _Grounds:
    """What a gang that evicts nobody for now waits for, besides the time."""

    generation: int
    """Of its PodGroup."""
    nodes: Mapping[str, int]
    """Excluded nodes, with their counters of changes."""


class Verdicts:
    """The verdicts on evictions, for one term."""

    def __init__(
        self,
        roster: Roster,
        stored: StoredPlans,
        store: PlanStore,
        exclusions: Exclusions,
        arrivals: Arrivals,
        clock: Clock,
    ) -> None:
        self._roster, self._stored, self._store = roster, stored, store
        self._exclusions, self._arrivals, self._clock = exclusions, arrivals, clock
        self._grounds: dict[GroupKey, _Grounds] = {}
        self._nodes: dict[GroupKey, dict[str, int]] = {}
        """Counters of changes of a plan's nodes when it began to evict."""

    # ---- verdicts

    def room(self, group: GroupKey, former: Former) -> RoomMade:
        """What the evictions of the group's former plan came to."""
        roster = self._roster
        settled = {member.node for member in roster.members(group) if member.node is not None}
        return room_made(
            former.spec,
            went=lambda uid: roster.evictable(uid) is None,
            overdue=lambda uid: roster.staying(uid) is not None,
            settled=settled,
            changed=[
                node
                for node, count in self._nodes.get(group, {}).items()
                if roster.node_changes(node) != count
            ],
            taken=self._arrivals.taken(group),
        )

    async def judge(self, group: GroupKey, verdict: Judge) -> None:
        """Store the verdict, and count the pods if they were evicted in vain."""
        room, message = self.room(group, verdict.former), verdict.message
        if not room.pods:
            return  # the plan ended before it evicted a pod
        if verdict.in_vain:
            EVICTIONS_IN_VAIN.inc(room.pods)
            message = f"{counted(room.pods, 'pod')} evicted in vain: {message}"
            if room.taken:
                message += f"; others took the room on {_named(sorted(room.taken))}"
            log.warning("evicted in vain", plan=verdict.former.name, pods=room.pods, taken=sorted(room.taken))
        key = (group[0], verdict.former.name)
        generation = self._generation(group)
        try:
            await self._store.judge(key, verdict, message, generation=generation, taken=room.taken)
        except PlanNotStoredError as error:
            log.warning("a verdict could not be stored", plan=verdict.former.name, error=str(error))
        if verdict.in_vain and self._roster.preemptor_uid(group) is not None:
            self._grounds[group] = _Grounds(
                generation, self._counters(group, room.taken | self._taken(group))
            )
        self._arrivals.forget(group)

    def _taken(self, group: GroupKey) -> frozenset[str]:
        """Nodes whose freed room was taken, for all plans in vain since the group was last Bound."""
        uid = self._roster.preemptor_uid(group)
        return history(self._stored.of(owner_of(group)), uid).nodes if uid is not None else frozenset()

    def remember(self, group: GroupKey, plans: list[StoredPlan]) -> Remembered | None:
        """What the group's stored plans say of evictions in vain; None if they say nothing."""
        uid = self._roster.preemptor_uid(group)
        if uid is None:
            return None
        found = history(plans, uid)
        if not found.vain and found.open is None:
            return None
        self._grounds[group] = _Grounds(found.generation, self._counters(group, found.nodes))
        return Remembered(
            vain=found.vain,
            at=self._clock.monotonic() - (self._clock.wall() - found.at),
            former=_former(found),
            relented=found.vain >= VAIN_AT_MOST and found.generation != self._generation(group),
        )

    # ---- how long nothing is evicted

    def why_barred(self, group: GroupKey, life: Life) -> str:
        """Why the gang may not evict now; empty if it may. The text stays the same while the reason does."""
        if self._clock.monotonic() >= life.barred:
            return ""
        said = f"{counted(life.vain, 'plan')} for it evicted pods in vain"
        if life.vain < VAIN_AT_MOST:
            return f"{said}, the next one has to wait"
        grounds = self._grounds.get(group)
        nodes = f" or {_named(sorted(grounds.nodes))}" if grounds is not None and grounds.nodes else ""
        return f"{said}: until its PodGroup{nodes} changes, or planning.inVainSeconds have passed"

    def relents(self, group: GroupKey, life: Life) -> bool:
        """Whether a gang that was barred may evict again."""
        if not life.barred:
            return False
        if self._clock.monotonic() >= life.barred:
            return True
        grounds = self._grounds.get(group)
        if grounds is None or life.vain < VAIN_AT_MOST:
            return False
        changed = any(self._roster.node_changes(node) != count for node, count in grounds.nodes.items())
        return changed or self._generation(group) != grounds.generation

    def forget(self, group: GroupKey) -> None:
        """The group is gone."""
        self._grounds.pop(group, None)
        self._nodes.pop(group, None)
        self._arrivals.forget(group)
        self._roster.forget(group)  # the last verdict asked for its members

    # ---- whose plan begins and ends

    def begin(self, plan: ActivePlan) -> None:
        """The plan begins to evict, or is resumed."""
        self._arrivals.watch(plan)
        nodes = {member.node for member in plan.members.values()}
        self._nodes[plan.group] = {node: self._roster.node_changes(node) for node in nodes}

    def owners(self, plan: ActivePlan) -> list[str]:
        """Who would create the plan's victims again (UIDs)."""
        return sorted(self._roster.owners.of_all(plan.victims))

    def end(self, plan: ActivePlan) -> list[str] | None:
        """The plan has ended. Returns the owners to be stored, if it evicted nobody; None: those that are stored."""
        self._arrivals.close(plan.group)
        if plan.phase in ("Evicting", "Ready") and plan.spec.victims:
            nobody = all(self._roster.evictable(uid) is not None for uid in plan.victims)
            return [] if nobody else None
        return None

    def _generation(self, group: GroupKey) -> int:
        there = self._roster.group(group)
        return there.metadata.generation if there is not None else 0

    def _counters(self, group: GroupKey, taken: frozenset[str]) -> dict[str, int]:
        classes = {self._roster.class_key(member.uid) for member in self._roster.members(group)}
        nodes = taken | self._exclusions.nodes_of(key for key in classes if key is not None)
        return {node: self._roster.node_changes(node) for node in nodes}


def _former(found: History) -> Former | None:
    plan = found.open
    if plan is None or plan.to_judge is None:
        return None
    return Former(plan.meta.name, plan.to_judge)


def _named(nodes: list[str]) -> str:
    more = f" and {len(nodes) - NAMED} more" if len(nodes) > NAMED else ""
    return f"{'node' if len(nodes) == 1 else 'nodes'} {', '.join(nodes[:NAMED])}{more}"
