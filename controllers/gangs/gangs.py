"""All gangs and their lives, and which of them something has happened to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass

from api.clock import Clock
from api.groups import goes_whole, has_run
from controllers.gangs.keys import lone_pod
from controllers.gangs.lifecycle.effects import Effect
from controllers.gangs.lifecycle.life import GangPhase, GroupKey, Life
from controllers.gangs.lifecycle.limiting import Limiting, NoLimits
from controllers.gangs.lifecycle.modes import Modes
from controllers.gangs.lifecycle.observations import (
    EnforcementBegan,
    EnforcementEnded,
    GroupGone,
    MembersSeen,
    Observation,
)
from controllers.gangs.lifecycle.reducer import reduce
from controllers.gangs.lifecycle.settings import Settings
from controllers.gangs.metrics import PHASE_SECONDS
from controllers.gangs.mirror.pausing import namespaces
from controllers.gangs.mirror.roster import Roster
from nodes.groups.forms import comes_from_elsewhere
from nodes.groups.keys import is_foreign

__all__ = ["Followed", "Gang", "Gangs"]


@dataclass(slots=True, eq=False)
class Gang:
    """A PodGroup with a gang policy, or a pod that preempts alone. Only `Gangs.observe` gives it a new life."""

    key: GroupKey
    life: Life
    todo: list[Effect]
    """Effects that nobody has carried out yet, oldest first."""
    since: float
    """When its life entered its phase, in monotonic seconds."""
    priority: int | None = None
    """Of its PodGroup, when that or a member last changed; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What the mirror has shown of groups."""

    gone: list[Gang]
    """They are forgotten."""
    basic: list[GroupKey]
    """They have become groups that are no gangs."""
    mixed: list[GroupKey]
    """Groups of other kinds whose running pods have come to have several priorities. The lowest counts for all."""


class Gangs:
    """The gangs of the mirror, and the one door through which their lives change.

    Nothing here walks over all gangs. `stirred` are those to which something has happened since somebody last looked.
    """

    def __init__(
        self,
        roster: Roster,
        settings: Settings,
        clock: Clock,
        nudge: Callable[[], None],
        has_called: Callable[[str], bool] = lambda _: True,
        modes: Modes | None = None,
    ) -> None:
        """`nudge` is called when something has happened.

        `has_called`: whether the scheduler of this name has asked us about any pod. `modes`: None: all is enforced.
        """
        self.modes = modes or Modes()
        self.limits: Limiting = NoLimits()
        """Who knows how many pods may be evicted now. It needs the gangs, so it is put here later."""
        self._roster, self._settings, self._clock = roster, settings, clock
        self._nudge, self._has_called = nudge, has_called
        self._hooks: list[Callable[[GroupKey], None]] = []
        self._gangs: dict[GroupKey, Gang] = {}
        self._basic: set[GroupKey] = set()
        self._touched: dict[GroupKey, None] = {}
        """Groups that have changed or have a member that has, in order."""
        self._stirred: dict[GroupKey, None] = {}
        self._planned: dict[GroupKey, None] = {}
        self._barred: dict[GroupKey, None] = {}
        self._partial: dict[GroupKey, None] = {}
        self._paused: dict[GroupKey, None] = {}
        self._limited: dict[GroupKey, None] = {}
        self._phases: Counter[GangPhase] = Counter()
        self._mixed: dict[GroupKey, Set[int]] = {}
        """The priorities of running pods, of groups of other kinds that have several."""
        self._alone: dict[str, GroupKey] = {}
        """Pods that preempt alone, by UID."""
        for key, _ in roster.groups():
            self._touched[key] = None

    def __iter__(self) -> Iterator[Gang]:
        return iter(list(self._gangs.values()))

    def on_change(self, hook: Callable[[GroupKey], None]) -> None:
        """Call `hook` after every observation of a gang."""
        self._hooks.append(hook)

    def get(self, key: GroupKey) -> Gang | None:
        """The gang, None if there is no such PodGroup or it has no gang policy."""
        return self._gangs.get(key)

    def life_of(self, key: GroupKey) -> Life:
        """The gang's life; a new one if there is no such gang."""
        gang = self._gangs.get(key)
        return gang.life if gang is not None else Life()

    def alone(self, uid: str) -> GroupKey | None:
        """The key of the pod (UID) if it preempts alone; None if it does not."""
        return self._alone.get(uid)

    def gather(self, key: GroupKey) -> Gang:
        """The gang, which is known from now on."""
        gang = self._gangs.get(key)
        if gang is None:
            gang = self._gangs[key] = Gang(key, Life(), [], self._clock.monotonic())
            self._phases[gang.life.phase] += 1
            if (pod := lone_pod(key)) is not None:
                self._alone[pod.uid] = key
            self.touch(key)
        return gang

    def observe(self, gang: Gang, observation: Observation) -> None:
        """Something has happened to the gang: it gets its next life, and maybe something to do."""
        self.see(gang, observation)
        self.stir(gang.key)

    def see(self, gang: Gang, observation: Observation) -> None:
        """As `observe`, for whoever then does what is to do."""
        now, before = self._clock.monotonic(), gang.life
        gang.life, effects = reduce(before, observation, now, self._settings)
        gang.todo.extend(effects)
        if gang.key in self._gangs:
            self._note(gang, before, now)
        for hook in self._hooks:
            hook(gang.key)

    def report(self, key: GroupKey, observation: Observation) -> Gang | None:
        """As `observe`, for whoever does not know whether there still is such a gang. Returns the gang if there is."""
        gang = self._gangs.get(key)
        if gang is not None:
            self.observe(gang, observation)
        return gang

    def _note(self, gang: Gang, before: Life, now: float) -> None:
        life = gang.life
        if life.phase != before.phase:
            PHASE_SECONDS.labels(before.phase).observe(now - gang.since)
            gang.since = now
            self._phases[before.phase] -= 1
            self._phases[life.phase] += 1
        for members, belongs in (
            (self._planned, life.plan is not None),
            (self._barred, bool(life.barred)),
            (self._partial, life.partial_since is not None),
            (self._paused, life.is_paused),
            (self._limited, life.is_limited),
        ):
            if belongs:
                members[gang.key] = None
            else:
                members.pop(gang.key, None)

    # ---- what has happened

    def touch(self, key: GroupKey) -> None:
        """The group has changed, or a member of it has."""
        self._touched[key] = None
        self._nudge()

    def classes_changed(self) -> None:
        """A PriorityClass has changed: gangs that have another priority now have changed, too."""
        for gang in self._gangs.values():
            if gang.priority != self._roster.group_priority(gang.key):
                self.touch(gang.key)

    def caller_came(self) -> None:
        """A scheduler has called for the first time: gangs whose pods name it may be ours."""
        for key, _ in self._roster.groups():
            if comes_from_elsewhere(key[1]):
                self.touch(key)

    @property
    def touched(self) -> list[GroupKey]:
        """The groups that have been touched and not followed yet."""
        return list(self._touched)

    def enforced(self, namespace: str) -> None:
        """The namespace was observed until now. Its gangs are decided anew."""
        for gang in [gang for key, gang in self._gangs.items() if key[0] == namespace]:
            self.observe(gang, EnforcementBegan())
            self.touch(gang.key)

    def end_enforcement(self, enforces: Callable[[str], bool]) -> None:
        """Plans end that are for a namespace that is not enforced, or have a victim in one."""
        for gang in list(self._gangs.values()):
            plan = gang.life.plan
            if plan is not None and not all(map(enforces, {plan.namespace, *namespaces(plan.spec)})):
                self.observe(gang, EnforcementEnded())
                self.touch(gang.key)

    def presented(self, key: GroupKey) -> None:
        """A scheduler works on a member: what it showed may confirm the gang's plan."""
        life = self.life_of(key)
        if life.phase == "Planned" or life.untried_until is not None:
            self.stir(key)

    def nudge(self) -> None:
        """Have the planner look again now."""
        self._nudge()

    def stir(self, key: GroupKey) -> None:
        """Something has happened that may concern the gang."""
        self._stirred[key] = None
        self._nudge()

    def follow(self) -> Followed:
        """Follow the PodGroups. Gangs without a plan observe how many members they have."""
        touched, self._touched = self._touched, {}
        followed = Followed([], [], [])
        for key in touched:
            if is_foreign(key[1]) and self._has_mixed(key):
                followed.mixed.append(key)
            if self._goes_on(key):
                continue
            if (gang := self._gangs.get(key)) is not None:
                self._forget(gang)
                followed.gone.append(gang)
            if is_foreign(key[1]):
                continue
            if self._roster.group(key) is None:
                self._basic.discard(key)
            elif key not in self._basic:
                self._basic.add(key)
                followed.basic.append(key)
        return followed

    def _has_mixed(self, key: GroupKey) -> bool:
        """Whether the priorities of the group's running pods have changed, and are several now."""
        priorities = self._roster.running_priorities(key)
        if len(priorities) < 2 or not goes_whole(self._roster.group(key)):
            self._mixed.pop(key, None)
            return False
        before, self._mixed[key] = self._mixed.get(key), priorities
        return before != priorities

    def _goes_on(self, key: GroupKey) -> bool:
        """Count the members of a gang. Whether there is one. A pod that preempts alone is one until it is bound."""
        if self._roster.minimum(key) is None or not (key in self._gangs or self._may_be_ours(key)):
            return False
        self._basic.discard(key)
        gang = self.gather(key)
        self._count_members(gang)
        self._touched.pop(key, None)
        return lone_pod(key) is None or gang.life.phase != "Bound"

    def _may_be_ours(self, key: GroupKey) -> bool:
        """Whether the gang's pods are scheduled by somebody who calls us, as far as that is in doubt."""
        if not comes_from_elsewhere(key[1]):
            return True
        waiting = self._roster.gang_members(key).asking
        return bool(waiting) and all(self._has_called(each.scheduler) for each in waiting)

    def awaits_caller(self, key: GroupKey) -> bool:
        """Whether it is a complete gang that nobody plans for, because its scheduler has not called us yet."""
        count = self._roster.count(key)
        is_complete = count.minimum is not None and count.members >= count.minimum
        return is_complete and key not in self._gangs and not self._may_be_ours(key)

    def _forget(self, gang: Gang) -> None:
        self.observe(gang, GroupGone())
        del self._gangs[gang.key]
        self._phases[gang.life.phase] -= 1
        for members in (
            self._planned,
            self._barred,
            self._partial,
            self._paused,
            self._limited,
            self._stirred,
        ):
            members.pop(gang.key, None)
        if (pod := lone_pod(gang.key)) is not None:
            del self._alone[pod.uid]
        self._roster.forget(gang.key)

    def _count_members(self, gang: Gang) -> None:
        gang.priority = self._roster.group_priority(gang.key)
        seen = _members_seen(self._roster, gang.key)
        if gang.life.plan is None and seen is not None:
            self.observe(gang, seen)
        self.stir(gang.key)

    def take_stirred(self) -> list[Gang]:
        """The gangs to which something has happened since the last call, in that order."""
        stirred, self._stirred = self._stirred, {}
        return [gang for key in stirred if (gang := self._gangs.get(key)) is not None]

    # ---- questions

    @property
    def planned(self) -> Set[GroupKey]:
        """Gangs with a plan. Always as it is now."""
        return self._planned.keys()

    @property
    def barred(self) -> Set[GroupKey]:
        """Gangs that evict nothing for a while, because of evictions in vain. Always as it is now."""
        return self._barred.keys()

    @property
    def partial(self) -> Set[GroupKey]:
        """Gangs in pieces: members are bound, and they never ran whole. Always as it is now."""
        return self._partial.keys()

    @property
    def paused(self) -> Set[GroupKey]:
        """Gangs without a plan that wait for the end of a pause. Always as it is now."""
        return self._paused.keys()

    @property
    def limited(self) -> Set[GroupKey]:
        """Gangs without a plan that a limit on evictions keeps waiting. Always as it is now."""
        return self._limited.keys()

    @property
    def phases(self) -> Counter[GangPhase]:
        """How many gangs are in each phase."""
        return self._phases

    def lets_pass(self, key: GroupKey) -> bool:
        """Whether the group's pods are scheduled like any others: it is no gang, or it runs and has no plan."""
        gang = self._gangs.get(key)
        if lone_pod(key) is not None:
            return gang is None or gang.life.plan is None
        if self._roster.minimum(key) is None:
            return self._roster.group(key) is not None
        return gang is not None and gang.life.plan is None and self._roster.count(key).runs

    def keeps_nominations(self, key: GroupKey) -> bool:
        """Whether nominations of the group's pods stay: a plan uses them, now or soon, or it is no gang that waits.

        Those of an observed gang are its scheduler's.
        """
        gang = self._gangs.get(key)
        if gang is None:
            return self._roster.group(key) is not None
        if self.modes.observes(key[0]):
            return True
        life = gang.life
        due = life.wants_plan and not life.looked and life.due <= self._clock.monotonic()
        return due or life.plan is not None or life.phase == "Bound"


def _members_seen(roster: Roster, key: GroupKey) -> MembersSeen | None:
    """How many members a gang has; None if the group is no gang."""
    count, group, domain = roster.count(key), roster.group(key), roster.domains.of(key)
    gang = group.spec.scheduling_policy.gang if group is not None else None
    if count.minimum is None:
        return None
    first = gang.min_count if gang is not None else count.minimum
    return MembersSeen(
        count.minimum,
        count.members,
        count.bound,
        left=max(0, first - count.succeeded),
        domain=domain.value if domain is not None else "",
        astray=domain.astray if domain is not None else "",
        has_run=group is not None and has_run(group),
        not_tried=roster.why_not_tried(key),
    )
