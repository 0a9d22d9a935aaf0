"""What is lost: requests times time. Pure: times are given, in seconds since the epoch.

Amounts are kept in the scheduler's integers times seconds, and said in whole seconds of a core, a GiB or a device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from api.instead import LINES, MOST_SECONDS, Costs, ResourceSeconds
from api.requests import is_extended
from runtime.exchange.accounted import NOTHING, Requests, Usage

__all__ = ["Amounts", "Lost", "Room", "bounded", "higher", "lost_of", "sum_up", "whole", "with_zeros"]

Amounts = Mapping[str, float]
"""By resource: the scheduler's integers times seconds."""
GIB: Final = 1 << 30
SCALE: Final[Mapping[str, int]] = {"cpu": 1000, "memory": GIB}
FIRST: Final = ("cpu", "memory", "nvidia.com/gpu")
"""These are always said."""
MOST_OTHERS: Final = 13
"""The number of other resources that are said at most: names may be long, and a tenant chooses them."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The work that some pods lose."""

    amounts: Amounts = field(default_factory=dict)
    unknown: int = 0
    """The number of pods that are not in it."""


def lost_of(pods: Iterable[tuple[Usage | None, float]]) -> Lost:
    """What these pods lose: what each one holds, None if that is not known, and when its work ends."""
    unknown, times = 0, dict[int, tuple[Requests, float]]()
    for usage, until in pods:
        if usage is None:
            unknown += 1
        elif until > usage.since:  # many pods share their requests
            requests, seconds = times.get(id(usage.requests), (usage.requests, 0.0))
            times[id(requests)] = requests, seconds + until - usage.since
    total = dict[str, float]()
    for requests, seconds in times.values():
        add(total, requests, seconds)
    return Lost(total, unknown)


def add(total: dict[str, float], requests: Requests, seconds: float) -> None:
    """Requests times a time. A time that is negative, because clocks differ, counts as none."""
    if seconds <= 0:
        return
    for name, amount in requests.items():
        if amount > 0 and _is_said(name):
            total[name] = total.get(name, 0.0) + amount * seconds


def sum_up(each: Iterable[Amounts]) -> Amounts:
    """The sum of all."""
    total = dict[str, float]()
    for amounts in each:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0.0) + amount
    return total


class Room:
    """Requests that are held, times the time, while both change."""

    __slots__ = ("_amounts", "_held", "_since")

    def __init__(self, since: float) -> None:
        self._amounts = dict[str, float]()
        self._held: Requests = NOTHING
        self._since = since

    def change(self, held: Requests, now: float) -> None:
        """From now on these requests are held."""
        self._amounts = self.until(now)
        self._held, self._since = held, max(now, self._since)

    def until(self, now: float) -> dict[str, float]:
        """What was held until now, times the time."""
        total = dict(self._amounts)
        add(total, self._held, now - self._since)
        return total


# ---- what is said


def whole(amounts: Amounts) -> ResourceSeconds:
    """In whole seconds of a core, a GiB or a device, and none above `MOST_SECONDS`."""
    seconds_of = {name: min(MOST_SECONDS, round(each / SCALE.get(name, 1))) for name, each in amounts.items()}
    return {name: seconds for name, seconds in seconds_of.items() if seconds}


def higher(one: Costs, other: Costs) -> Costs:
    """The higher one of both, amount by amount. What is held in pieces is added: each leader counts from the beginning
    of its term."""
    both = {line: _higher(getattr(one, line), getattr(other, line)) for line in LINES}
    both["held_in_pieces"] = {
        name: min(MOST_SECONDS, one.held_in_pieces.get(name, 0) + other.held_in_pieces.get(name, 0))
        for name in both["held_in_pieces"]
    }
    unknown = max(one.unknown, other.unknown), max(one.unknown_ours, other.unknown_ours)
    return Costs(**both, unknown=unknown[0], unknown_ours=unknown[1])


def _higher(one: ResourceSeconds, other: ResourceSeconds) -> ResourceSeconds:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in sorted({*one, *other})}


def bounded(costs: Costs, before: Costs) -> Costs:
    """With few resources: those that were said before, then those that cost most."""
    most = Counter[str]()
    for line in LINES:
        most |= Counter(getattr(costs, line))
    known = {name for line in LINES for name in getattr(before, line)}
    others = sorted(most.keys() - FIRST, key=lambda name: (name not in known, -most[name], name))
    kept = {*FIRST, *others[:MOST_OTHERS]}
    amounts = {
        line: {name: each for name, each in sorted(getattr(costs, line).items()) if name in kept}
        for line in LINES
    }
    return Costs(**amounts, unknown=costs.unknown, unknown_ours=costs.unknown_ours)


def with_zeros(costs: Costs, written: Costs) -> Costs:
    """With a zero for each amount that was written and has ended: a merge patch takes no key away."""
    amounts = {line: dict.fromkeys(getattr(written, line), 0) | getattr(costs, line) for line in LINES}
    return Costs(**amounts, unknown=costs.unknown, unknown_ours=costs.unknown_ours)


@lru_cache(maxsize=1 << 10)
def _is_said(name: str) -> bool:
    return name in SCALE or is_extended(name)
