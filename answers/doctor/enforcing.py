"""What `planning.mode: Enforce` would do at once, decided as the planner decides: in the order of the queue, each gang
with the room that those before it would hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from answers.doctor.pieces import InPieces
from api.core import Namespace
from api.pauses import pause_of
from api.plans import PreemptionPlanSpec
from api.progress import Progress, silent
from api.published import NAMESPACE
from controllers.gangs.lifecycle.limits import (
    LIMIT,
    Asked,
    EvictionLimits,
    Pods,
    Scope,
    limited,
    namespaces_of,
    tally,
)
from controllers.gangs.lifecycle.modes import Modes
from controllers.gangs.lifecycle.settings import PiecesRule
from controllers.gangs.planning.observed_pods import ObservedPods
from nodes.answers.in_turn import in_turn
from nodes.answers.plan_words import unit_text
from nodes.answers.verdicts import verdict
from nodes.groups.forms import PREEMPTING, Sources, may_ask
from nodes.groups.keys import short_name
from nodes.groups.registry import GroupKey
from nodes.search.unmodelled import why_blocked
from nodes.state.snapshot import Snapshot

__all__ = ["MOST_SEARCHES", "AtOnce", "Judged", "Scope", "State", "Wanted", "at_once"]

MOST_SEARCHES: Final = 300
"""A search on 5,000 nodes and 150,000 pods takes 0.01 to 0.2 seconds."""
RELEASES: Final = PiecesRule("Release", 120.0)
"""The default."""
NAMED: Final = 5
"""Victims that are named."""

State = Literal["Evicts", "Blocked", "LimitReached", "Paused"]
"""Evicts: as soon as its scheduler confirms the members. Blocked: never by this decision, because of planning.limits or
of what is not modelled. LimitReached: within the first hour other plans take what planning.limits allows."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The gangs that are looked at, and what would be set."""

    modes: Modes = field(default_factory=Modes)
    """Which namespaces would be enforced."""
    namespace: str = ""
    """Only gangs of this one are looked at; empty: of all."""
    limits: EvictionLimits | None = None
    """`planning.limits`."""
    pieces: PiecesRule = RELEASES
    """`planning.partialGangs` and `planning.partialGangSeconds`."""
    sources: Sources = PREEMPTING
    """Sources of other programs whose gangs ask for room as one."""

    def holds(self, key: GroupKey) -> bool:
        """Whether pods may be evicted for this group."""
        return self.looks(key) and not self.modes.observes(key[0])

    def looks(self, key: GroupKey) -> bool:
        """Whether somebody asks about this group, and it may evict as one at all."""
        return self.namespace in ("", key[0]) and may_ask(key[1], self.sources)


class Judged(NamedTuple):
    """A gang for which pods would be evicted."""

    namespace: str
    name: str
    priority: int
    pods: int
    units: int
    victims: tuple[str, ...]
    """The first of the units."""
    state: State
    reason: str
    """Why it is not carried out at once; empty if it is."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {**self._asdict(), "victims": list(self.victims), "reason": self.reason or None}


@dataclass(frozen=True, slots=True)
class AtOnce:
    """What the first look of Enforce would decide."""

    judged: tuple[Judged, ...] = ()
    """Gangs for which pods would be evicted, in the order of the queue."""
    looked: int = 0
    """Gangs that were looked at."""
    unlooked: int = 0
    """Gangs that wait and come later in the queue: the search stopped before them."""
    observed: int = 0
    """Gangs that wait in namespaces that would not be enforced."""
    completed: frozenset[GroupKey] = frozenset()
    """Gangs that would have room: free room, or that of victims."""
    pods: Mapping[str, int] = field(default_factory=dict)
    """Pods that would be evicted within the first hour, by namespace."""
    in_pieces: tuple[InPieces, ...] = ()

    def of(self, *states: State) -> list[Judged]:
        """Those in one of the states."""
        return [each for each in self.judged if each.state in states]

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "looked": self.looked,
            "notLooked": self.unlooked,
            "inObservedNamespaces": self.observed,
            "evicting": [each.plain() for each in self.judged],
            "firstHour": {"pods": sum(self.pods.values()), "byNamespace": dict(sorted(self.pods.items()))},
            "inPieces": [each.plain() for each in self.in_pieces],
        }


def at_once(
    snapshot: Snapshot,
    wanted: Wanted,
    namespaces: Collection[Namespace],
    now: float,
    progress: Progress = silent,
) -> AtOnce:
    """What would be decided. `now`: seconds since the epoch. `namespaces`: their annotations pause evictions."""
    judge = _Judge(wanted, _paused(namespaces, now), now)
    carried = {(plan.namespace, plan.name) for plan in snapshot.plans if plan.kind == "PodGroup"}
    looked = unlooked = observed = 0

    def is_wanted(key: GroupKey) -> bool:
        nonlocal observed
        if not wanted.looks(key) or key in carried:
            return False
        observed += wanted.modes.observes(key[0])
        return wanted.holds(key)

    spared = ObservedPods(wanted.modes).spare(snapshot)
    for turn in in_turn(spared, is_wanted, judge.commits, MOST_SEARCHES, progress):
        looked, unlooked = looked + (turn.decided is not None), unlooked + (turn.decided is None)
    return AtOnce(
        tuple(judge.found),
        looked,
        unlooked,
        observed,
        frozenset(judge.completed),
        Counter(judge.taken.values()),
    )


def _paused(namespaces: Collection[Namespace], now: float) -> frozenset[str]:
    found = (pause_of(each.metadata.name, each.metadata.annotations) for each in namespaces)
    return frozenset(each.namespace for each in found if each is not None and each.holds(now))


class _Judge:
    """Says for each decision what would become of it."""

    def __init__(self, wanted: Wanted, paused: frozenset[str], now: float) -> None:
        self._limits, self._paused, self._now = wanted.limits or EvictionLimits(), paused, now
        self.found: list[Judged] = []
        self.completed: set[GroupKey] = set()
        self.taken: dict[str, str] = {}
        """Namespaces of the pods (UIDs) that would be evicted within the first hour."""
        self._waiting: dict[Scope, float | None] = {}
        """Limits that a preemptor waits for."""

    def commits(self, key: GroupKey, spec: PreemptionPlanSpec) -> bool:
        """Whether it would be carried out."""
        if not spec.victims:
            holds = verdict(spec) == "Fits"
            self.completed |= {key} if holds else set()
            return holds
        pods = namespaces_of(spec)
        state, reason = self._state(key, spec, pods)
        self.found.append(
            Judged(
                namespace=key[0],
                name=short_name(key[1]),
                priority=spec.preemptor.priority,
                pods=len(pods),
                units=len(spec.victims),
                victims=tuple(unit_text(each) for each in spec.victims[:NAMED]),
                state=state,
                reason=reason,
            )
        )
        if state != "Evicts":
            return False
        self.taken |= pods
        self.completed.add(key)
        return True

    def _state(self, key: GroupKey, spec: PreemptionPlanSpec, pods: Pods) -> tuple[State, str]:
        if why := why_blocked(spec):
            return "Blocked", why
        if held := self._paused & {NAMESPACE, key[0], *pods.values()}:
            return "Paused", f"evictions are paused: {', '.join(sorted(held))}"
        asked = Asked(pods, tally((), self._now), self._now, [self.taken], self._waiting)
        if (found := limited(self._limits, asked)) is None:
            return "Evicts", ""
        if found.reason == LIMIT:
            return "Blocked", found.message
        self._waiting |= dict.fromkeys(found.scopes, None)
        return "LimitReached", found.message
