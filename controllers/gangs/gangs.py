"""A gang's life: Gathering → Planned → Evicting → Ready → Bound, or Unschedulable or Blocked.

Nothing here waits or writes: `planner` calls, acts, and comes back with what happened. Confirmation by the scheduler
(KEP-5710, "Delayed preemption") will stand between Planned and Evicting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from api.groups import PodGroup
from controllers.gangs.backoff import Backoff
from controllers.gangs.marks import HOLD_MARK
from controllers.gangs.plans import ActivePlan
from controllers.gangs.reservations import GroupKey, Ledger
from controllers.gangs.roster import MemberView, Roster

__all__ = ["Ending", "Gang", "Gangs", "assess"]

GangPhase = Literal["Gathering", "Planned", "Evicting", "Ready", "Bound", "Unschedulable", "Blocked"]

TURNED_DOWN_SECONDS = 2.0
"""How long after filter offered its node a member's new rejection counts: an older one may be on its way to us."""


@dataclass(slots=True)
class Gang:
    """A PodGroup with a gang policy, and where it is in its life."""

    key: GroupKey
    backoff: Backoff
    phase: GangPhase = "Gathering"
    plan: ActivePlan | None = None
    reason: str = ""
    """Why it is Unschedulable or Blocked."""
    told: frozenset[str] = frozenset()
    """UIDs of the members whose conditions say so."""
    decided: int | None = None
    """The mirror's version at the last decision; the same version gives the same decision."""
    touched: int = -1
    """The state of its group and members when it was last looked at."""
    complete: bool = False
    """minCount members exist, and fewer are bound."""
    barred: int | None = None
    """The mirror's version when the scheduler turned a plan down: in the same one nobody is evicted again."""

    def wants_plan(self, version: int) -> bool:
        """Whether a plan would be a new one."""
        return self.plan is None and self.complete and self.decided != version

    @property
    def hold_text(self) -> str:
        """What filter tells the scheduler; constant within a phase."""
        name = "/".join(self.key)
        match self.phase:
            case "Planned" | "Evicting":
                return f"{HOLD_MARK}room is being freed for pod group {name}"
            case "Ready":
                return f"{HOLD_MARK}the planned members of pod group {name} go first"
            case "Unschedulable":
                return f"{HOLD_MARK}pod group {name} fits nowhere, see its conditions"
            case "Blocked":
                return f"{HOLD_MARK}pod group {name} uses what reprieve cannot plan for, see its conditions"
            case _:
                return f"{HOLD_MARK}pod group {name} waits for its members"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a plan ended."""

    phase: Literal["Bound", "Aborted", "Expired"]
    reason: str
    message: str


class Gangs:
    """All gangs of the mirror. Only those whose group or members have changed are looked at again."""

    def __init__(self, roster: Roster, new_backoff: Callable[[], Backoff]) -> None:
        self._roster = roster
        self._new_backoff = new_backoff
        self._gangs: dict[GroupKey, Gang] = {}
        self._basic: set[GroupKey] = set()
        self._changes = -1

    def __iter__(self) -> Iterator[Gang]:
        return iter(self._gangs.values())

    def get(self, key: GroupKey) -> Gang | None:
        """The gang, None if there is no such PodGroup or it has no gang policy."""
        return self._gangs.get(key)

    def gather(self, key: GroupKey) -> Gang:
        """The gang, known from now on."""
        if key not in self._gangs:
            self._gangs[key] = Gang(key, self._new_backoff())
        return self._gangs[key]

    def refresh(self) -> tuple[list[Gang], list[GroupKey]]:
        """Follow the mirror; returns gangs whose PodGroup is gone, which are forgotten, and new groups of no gang."""
        if self._changes == self._roster.group_changes:
            return [], []
        self._changes = self._roster.group_changes
        live, basic = set[GroupKey](), set[GroupKey]()
        for key, group in self._roster.groups():
            (live if group.spec.scheduling_policy.gang else basic).add(key)
        for key in live:
            self.gather(key)
        gone = [self._gangs.pop(key) for key in [key for key in self._gangs if key not in live]]
        for gang in gone:
            self._roster.forget(gang.key)
        new, self._basic = basic - self._basic, basic
        return gone, sorted(new)

    def to_plan(self, now: float) -> list[Gang]:
        """Gangs whose next plan is due, in the order in which they may take room: priority, creation, name."""
        due = [gang for gang in self._wanting() if gang.backoff.due <= now]
        return sorted(due, key=lambda gang: self._roster.rank(gang.key))

    def next_due(self, now: float) -> float | None:
        """Seconds until a gang that is backing off may be planned again; None if none waits for the clock alone."""
        waiting = [gang.backoff.due - now for gang in self._wanting()]
        return max(0.0, min(waiting)) if waiting else None

    def _wanting(self) -> list[Gang]:
        version = self._roster.version
        return [gang for gang in self._gangs.values() if gang.wants_plan(version)]

    def is_satisfied(self, gang: Gang) -> bool:
        """Whether minCount members are bound, so that the others are single pods."""
        group = self._roster.group(gang.key)
        if group is None or group.spec.scheduling_policy.gang is None:
            return False
        return self._roster.bound_count(gang.key) >= group.spec.scheduling_policy.gang.min_count

    def lets_pass(self, key: GroupKey) -> bool:
        """Whether the group's pods are scheduled like any others: it is no gang, or runs and has no plan."""
        group, gang = self._roster.group(key), self._gangs.get(key)
        if group is None or group.spec.scheduling_policy.gang is None:
            return group is not None
        return gang is not None and gang.plan is None and self.is_satisfied(gang)

    def decide_anew(self) -> None:
        """Every decision is out of date though the mirror's version is the same: reserved room is free, say."""
        for gang in self._gangs.values():
            gang.decided = None

    def settle(self, gang: Gang) -> bool:
        """Without a plan a gang is Bound or Gathering by how many members are; whether it became Bound."""
        touched = self._roster.touched(gang.key)
        if gang.plan is not None or gang.touched == touched:
            return False
        gang.touched = touched
        group = self._roster.group(gang.key)
        if group is None or group.spec.scheduling_policy.gang is None:
            return False
        before, minimum = gang.phase, group.spec.scheduling_policy.gang.min_count
        members = len(self._roster.members(gang.key))
        satisfied = self.is_satisfied(gang)
        gang.complete = members >= minimum and not satisfied
        if satisfied or members < minimum:
            gang.phase, gang.decided = "Bound" if satisfied else "Gathering", None
            gang.backoff.reset()
        elif before == "Bound":
            gang.phase = "Gathering"
        return satisfied and before != "Bound"


def assess(
    plan: ActivePlan, group: PodGroup | None, roster: Roster, ledger: Ledger, now: float
) -> Ending | None:
    """Whether the plan has come to an end, by what the mirror shows now; None while it goes on."""
    if (
        group is None
        or group.metadata.uid != plan.spec.preemptor.uid
        or group.spec.scheduling_policy.gang is None
    ):
        return Ending("Aborted", "PodGroupDeleted", "the PodGroup is gone")
    members = {member.uid: member for member in roster.members(plan.group)}
    gone = [planned.name for uid, planned in plan.members.items() if uid not in members]
    if gone:
        return Ending(
            "Aborted", "MemberGone", f"pod {gone[0]} is gone, terminating, gated or another pod now"
        )
    if roster.needed(plan.group, but=plan.members) > len(plan.members):
        return Ending("Aborted", "MembersLost", "with the planned pods fewer than minCount would run")
    if all(members[uid].node is not None for uid in plan.members):
        return Ending("Bound", "Bound", f"all {len(plan.members)} planned pods are bound")
    if plan.changed:
        return Ending("Aborted", "Changed", plan.changed)
    if plan.refused:
        return Ending("Aborted", "EvictionRefused", next(iter(plan.refused.values())))
    if turned_down := plan.turned_down or _turned_down(plan, members, roster, now):
        return Ending("Aborted", "TurnedDown", turned_down)
    if now >= plan.deadline:
        return Ending("Expired", "DeadlineExceeded", "the plan was not carried out in time")
    if taken := room_taken(plan, roster, ledger):
        return Ending("Aborted", "RoomTaken", taken)
    return None


def _turned_down(plan: ActivePlan, members: dict[str, MemberView], roster: Roster, now: float) -> str:
    for uid, (when, before) in plan.offered.items():
        member = members.get(uid)
        if member is None or member.node is not None or now - when <= TURNED_DOWN_SECONDS:
            continue
        message = roster.unscheduled_message(uid)
        if message not in ("", before) and HOLD_MARK not in message:
            return f"the scheduler does not bind pod {member.name} to its node: {message}"
    return ""


def room_taken(plan: ActivePlan, roster: Roster, ledger: Ledger) -> str:
    """Why the unbound members no longer fit where they are planned, victims counted as gone; empty if they do."""
    for (node, resource), amount in sorted(_needs(plan, roster).items()):
        if not roster.has_node(node):
            return f"node {node} is gone"
        others = ledger.claimed(node, resource, but=plan.group)
        room = roster.free(node, resource) + ledger.leaving(node, resource) - others
        if amount > 0 and amount > room:
            return f"node {node} has {max(room, 0)} {resource} left for pods that need {amount}"
    return ""


def is_free(plan: ActivePlan, roster: Roster, ledger: Ledger) -> bool:
    """Whether the room is free now, terminating pods counted as still there."""
    return all(
        amount <= 0
        or amount <= roster.free_now(node, resource) - ledger.claimed(node, resource, but=plan.group)
        for (node, resource), amount in _needs(plan, roster).items()
    )


def _needs(plan: ActivePlan, roster: Roster) -> Counter[tuple[str, str]]:
    """What the unbound members need, by (node, resource)."""
    needs: Counter[tuple[str, str]] = Counter()
    for member in roster.waiting(plan).values():
        needs.update({(member.node, resource): amount for resource, amount in member.requests.items()})
    return needs
