"""All gangs and their lives: which to look at, and which to plan for next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from api.clock import Clock
from controllers.gangs.effects import Effect
from controllers.gangs.life import GangPhase, GroupKey, Life
from controllers.gangs.metrics import PHASE_SECONDS
from controllers.gangs.observations import MembersSeen, Observation
from controllers.gangs.reducer import reduce
from controllers.gangs.roster import Roster
from controllers.gangs.rules import Rules

__all__ = ["Gang", "Gangs"]


@dataclass(slots=True, eq=False)
class Gang:
    """A PodGroup with a gang policy. Only `Gangs.observe` gives it a new life."""

    key: GroupKey
    life: Life
    todo: list[Effect]
    """Effects that nobody has carried out yet, oldest first."""
    since: float
    """When its life entered its phase, in monotonic seconds."""
    touched: int = -1
    """The state of its group and members when they were last counted."""


class Gangs:
    """The gangs of the mirror, and the one door through which their lives change."""

    def __init__(
        self,
        roster: Roster,
        rules: Rules,
        clock: Clock,
        nudge: Callable[[], None],
        is_untried: Callable[[GroupKey], bool],
    ) -> None:
        """`nudge` is called when an observation leaves something to do. `is_untried`: see `Evidence.is_untried`."""
        self._roster, self._rules, self._clock, self._nudge = roster, rules, clock, nudge
        self._is_untried = is_untried
        self._gangs: dict[GroupKey, Gang] = {}
        self._basic: set[GroupKey] = set()
        self._changes = -1

    def __iter__(self) -> Iterator[Gang]:
        return iter(list(self._gangs.values()))

    def get(self, key: GroupKey) -> Gang | None:
        """The gang, None if there is no such PodGroup or it has no gang policy."""
        return self._gangs.get(key)

    def gather(self, key: GroupKey) -> Gang:
        """The gang, which is known from now on."""
        if key not in self._gangs:
            self._gangs[key] = Gang(key, Life(), [], self._clock.monotonic())
        return self._gangs[key]

    def observe(self, gang: Gang, observation: Observation) -> None:
        """Something has happened to the gang: it gets its next life, and maybe something to do."""
        now, before = self._clock.monotonic(), gang.life.phase
        gang.life, effects = reduce(gang.life, observation, now, self._rules)
        if gang.life.phase != before:
            PHASE_SECONDS.labels(before).observe(now - gang.since)
            gang.since = now
        gang.todo.extend(effects)
        if effects:
            self._nudge()

    # ---- following the mirror

    def refresh(self) -> tuple[list[Gang], list[GroupKey]]:
        """Follow the PodGroups. Returns gangs that are gone and forgotten, and new groups that are not gangs."""
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

    def count_members(self, gang: Gang) -> None:
        """Observe how many members there are, if the group or a member has changed since the last time."""
        touched = self._roster.touched(gang.key)
        minimum = self._roster.minimum(gang.key)
        if gang.life.plan is not None or gang.touched == touched or minimum is None:
            return
        gang.touched = touched
        members = len(self._roster.members(gang.key))
        self.observe(gang, MembersSeen(minimum, members, self._roster.bound_count(gang.key)))

    # ---- questions

    def to_plan(self) -> list[Gang]:
        """Gangs whose next plan is due, in the order in which they may take room: priority, creation, name."""
        now = self._clock.monotonic()
        due = [gang for gang in self._wanting() if self._due(gang) <= now]
        return sorted(due, key=lambda gang: self._roster.rank(gang.key))

    def next_due(self) -> float | None:
        """Seconds until a gang that backs off may be planned again; None if no gang waits for the clock alone."""
        now = self._clock.monotonic()
        waiting = [self._due(gang) - now for gang in self._wanting()]
        return max(0.0, min(waiting)) if waiting else None

    def _due(self, gang: Gang) -> float:
        """When the gang may be planned. Members that the scheduler tries are awaited: it shows where they may go."""
        life = gang.life
        if life.untried_until is None or self._clock.monotonic() >= life.untried_until:
            return life.due
        return max(life.due, life.untried_until) if self._is_untried(gang.key) else life.due

    def _wanting(self) -> list[Gang]:
        version = self._roster.version
        return [gang for gang in self._gangs.values() if gang.life.wants_plan(version)]

    def lets_pass(self, key: GroupKey) -> bool:
        """Whether the group's pods are scheduled like any others: it is no gang, or it runs and has no plan."""
        minimum, gang = self._roster.minimum(key), self._gangs.get(key)
        if minimum is None:
            return self._roster.group(key) is not None
        return gang is not None and gang.life.plan is None and self._roster.bound_count(key) >= minimum

    def keeps_nominations(self, key: GroupKey) -> bool:
        """Whether nominations of the group's pods stay: a plan uses them, now or soon, or it is no gang that waits."""
        gang = self._gangs.get(key)
        if gang is None:
            return self._roster.group(key) is not None
        life = gang.life
        due = life.wants_plan(self._roster.version) and life.due <= self._clock.monotonic()
        return due or life.plan is not None or life.phase == "Bound"

    def phases(self) -> Counter[GangPhase]:
        """How many gangs are in each phase."""
        return Counter(gang.life.phase for gang in self._gangs.values())
