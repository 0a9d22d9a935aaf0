"""The account of one preemptor, computed anew from all that was seen of it (docs/account.md).

Nobody sees everything at once: reprieve looks at preemptors twice a second, and its watches and those of the judge tell
what happens at different times. So the account is computed several times, each time with other delays (`VIEWS`). What
reprieve says has to be within what came out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf
from typing import Final, NamedTuple

from tests.kit.stress.history import LAG_SECONDS
from tests.kit.stress.preempted import Stand, Taken

__all__ = ["LATE_SECONDS", "VIEWS", "Preemptor", "Tally", "View", "tallies"]

LATE_SECONDS: Final = 10.0
"""How long after the end of a case something may still belong to it."""
LASTING_SECONDS: Final = 1.0
"""What lasts for less may be overlooked."""


@dataclass(frozen=True, slots=True)
class View:
    """One way in which things may have been seen."""

    delay: float
    """By how much later the state of the preemptor is seen than everything else."""
    is_coarse: bool
    """Whether states that do not last are overlooked."""
    counts_late: bool
    """Whether a plan that is made between the end of a case and its conclusion begins another one. If not, it belongs
    to no case, or to this one if it may have been made before the end: creationTimestamp has whole seconds."""


STEP_SECONDS: Final = 0.5
"""reprieve looks at preemptors this often."""
DELAYS: Final = (0.0, STEP_SECONDS / 2, STEP_SECONDS, LAG_SECONDS, -LAG_SECONDS)
VIEWS: Final = tuple(View(*each) for each in product(DELAYS, (False, True), (False, True)))


class Preemptor(NamedTuple):
    """All that was seen of one."""

    stands: Sequence[Stand]
    plans: Sequence[tuple[float, str]]
    """When each observed plan came, and its UID."""
    victims: Sequence[Taken]


@dataclass
class Tally:
    """One case: from the first decision, or the first preemption, until the preemptor is bound or gone."""

    began: float
    episode: float
    first: float | None = None
    """When its first plan came."""
    plan: str = ""
    """The UID of the one that counts."""
    victims: list[Taken] = field(default_factory=list)
    ran_on: dict[str, float] = field(default_factory=dict)
    whole: float = inf
    end: float = inf
    over: float = inf
    """Since when no pod of it waits."""
    in_pieces: list[tuple[float, float]] = field(default_factory=list)
    _pieces_since: float | None = None

    def stands(self, stand: Stand, at: float) -> None:
        """From now on."""
        if self._pieces_since is not None and self.end == inf:
            self.in_pieces.append((self._pieces_since, at))
        for node in stand.nodes:
            self.ran_on.setdefault(node, at)
        if stand.is_whole:
            self.whole = min(self.whole, at)
        if stand.is_whole or not stand.is_there:
            self.end = min(self.end, at)
            if not stand.waiting:
                self.over = min(self.over, at)
        self._pieces_since = at if stand.is_in_pieces and self.end == inf else None

    def without(self, at: float) -> Tally:
        """The same, but for the victims that were named after that time."""
        return replace(self, victims=[each for each in self.victims if each.named_at <= at])

    def pieces(self, now: float) -> float:
        """For how many seconds it was in pieces."""
        going_on = now - self._pieces_since if self._pieces_since is not None else 0.0
        return going_on + sum(last - first for first, last in self.in_pieces)

    @property
    def spells(self) -> int:
        """How often it was in pieces."""
        return len(self.in_pieces) + (self._pieces_since is not None)

    def serves(self, victim: Taken) -> bool:
        """Whether a pod ran on the victim's node, and the preemptor whole, both in time."""
        return max(self.ran_on.get(victim.node, inf), self.whole) <= victim.at + self.episode

    def served_nobody(self, now: float) -> int:
        """How many pods were preempted in vain, as far as it is known."""
        settled = [each for each in self.victims if now >= min(each.at + self.episode, self.over)]
        return sum(not self.serves(each) for each in settled)

    def concluded(self) -> float:
        """When nothing of it will change; inf if that is not foreseeable."""
        settled = [min(each.at + self.episode, self.over) for each in self.victims if not self.serves(each)]
        return max([self.end + LATE_SECONDS, *settled])

    def concluded_at_latest(self) -> float:
        """The same, if what is left of each group that lost a pod is idle for as long as it may be."""
        idle = [each.at + self.episode for each in self.victims if each.units != {each.uid}]
        return max([self.concluded(), *idle])

    @property
    def is_untouched(self) -> bool:
        """Whether a scheduler has done nothing for it."""
        return not self.victims and not self.ran_on


def tallies(of: Preemptor, view: View, until: float, episode: float) -> list[Tally]:
    """The cases of a preemptor as of a time, in order. Times are seconds since the epoch."""
    found: list[Tally] = []
    now = next((each for each in of.stands if each.is_there), Stand(0.0))

    def begin(at: float) -> Tally:
        found.append(Tally(at, episode))
        found[-1].stands(now, at)
        return found[-1]

    for at, what in _seen(of, view):
        if at > until:
            break
        match what:
            case Stand():
                now = what
                for each in found:
                    each.stands(what, at)
            case Taken():
                its = next((each for each in found if what.at <= each.end), None) or begin(at)
                its.began = min(its.began, what.at)
                its.victims.append(what)
            case str():
                if found and _is_of(found[-1], at, view):
                    its = found[-1]
                elif not found or _counts(found[-1], at, view):
                    its = begin(at)
                else:
                    continue
                if not its.plan or its.is_untouched:
                    its.plan = what
                its.first = at if its.first is None else its.first
    return found


def _is_of(last: Tally, at: float, view: View) -> bool:
    """Whether a plan belongs to the last case: that goes on, or has ended within the second of the plan."""
    return last.end == inf or (at <= last.end + 1.0 and not view.counts_late)


def _counts(last: Tally, at: float, view: View) -> bool:
    """Whether a plan that came after a case's end begins another one."""
    return at > last.concluded() or view.counts_late


def _seen(of: Preemptor, view: View) -> list[tuple[float, Stand | Taken | str]]:
    stands = _lasting(of.stands) if view.is_coarse else of.stands
    found: list[tuple[float, int, Stand | Taken | str]] = [
        *((each.at + view.delay, 0, each) for each in stands),
        *((each.named_at, 1, each) for each in of.victims),
        *((at, 2, uid) for at, uid in of.plans),
    ]
    return [(at, what) for at, _, what in sorted(found, key=lambda each: each[:2])]


def _lasting(stands: Sequence[Stand]) -> Iterator[Stand]:
    for place, each in enumerate(stands):
        if place + 1 == len(stands) or stands[place + 1].at - each.at >= LASTING_SECONDS:
            yield each
