"""Who is evicted by kube-scheduler's rule: each outcome that there can be, because the order of equals is left open.

Units are put back one by one while every member still passes: first those whose eviction would break a budget, then the
others, and both by importance. Those that are not put back are evicted. Upstream: `selectVictimsOnDomain`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, permutations, product
from typing import Final

from nodes.search.steering.candidates import Candidates, ties
from nodes.search.steering.protected import Protected
from nodes.search.steering.standing import Standing, TooMuchWork

__all__ = ["Lost", "outcomes"]

MOST: Final = 32
"""Outcomes that are looked at. If there are more, nothing is said."""
ORDERS: Final = 4
"""Of more equally important units whose order matters, not every order is tried."""

Lost = tuple[int, ...]
"""The units that are evicted, most important first."""


def outcomes(standing: Standing, found: Candidates, budgets: Protected) -> list[Lost]:
    """The sets of units that may be evicted. Sets that differ only in units that look alike count as one.

    Raises TooMuchWork if there are too many, or if one depends on what `budgets` leaves uncertain.
    """
    first = [unit for unit in standing.relevant if unit in budgets.breaking]
    then = [unit for unit in standing.relevant if unit not in budgets.breaking]
    rule = _Rule(standing, [*ties(found, first), *ties(found, then)])
    results = [*rule.all()]
    if any(unit in budgets.uncertain for result in results for unit in rule.contested(result)):
        raise TooMuchWork
    return sorted(set(results))


class _Rule:
    def __init__(self, standing: Standing, classes: list[list[int]]) -> None:
        self._standing, self._classes = standing, classes
        self._left = MOST

    def all(self) -> Iterator[Lost]:
        """Every outcome."""
        return self._from(0, ())

    def contested(self, lost: Lost) -> list[int]:
        """The units that share a planned node with one of these, or could otherwise change what becomes of them."""
        standing = self._standing
        if not lost:
            return []
        if standing.looks_afar:
            return standing.relevant
        nodes = {node for unit in lost for node in standing.on(unit)}
        return [unit for unit in standing.relevant if nodes.intersection(standing.on(unit))]

    def _from(self, place: int, lost: Lost) -> Iterator[Lost]:
        """Every outcome once the classes before this place are done."""
        back: list[int] = []
        gone = list(lost)
        for here in range(place, len(self._classes)):
            ways = self._ways(self._classes[here])
            if len(ways) > 1:
                for way in ways:
                    self._put_back(way)
                    rest = [unit for unit in self._classes[here] if unit not in way]
                    yield from self._from(here + 1, (*gone, *rest))
                    self._remove(way)
                break
            self._put_back(ways[0])
            back += ways[0]
            gone += [unit for unit in self._classes[here] if unit not in ways[0]]
        else:
            self._left -= 1
            if self._left < 0:
                raise TooMuchWork
            yield tuple(sorted(gone))
        self._remove(back)

    def _ways(self, equals: Sequence[int]) -> list[list[int]]:
        """Which of these equally important units are put back: one way for each outcome."""
        if len(equals) > 1 and any(self._standing.counts(unit) for unit in equals):
            return self._ways_in_turn(equals)
        able = [unit for unit in equals if self._standing.takes(unit)]
        if len(able) <= 1 or self._greedy(able) == able:
            return [able]
        parts = [self._ways_apart(part) for part in self._apart(able)]
        ways = [[*chain(*way)] for way in product(*parts)] if _size(parts) <= MOST else []
        if not ways:
            raise TooMuchWork
        return ways

    def _ways_in_turn(self, equals: Sequence[int]) -> list[list[int]]:
        """The same, if one unit may make room for another: members look at pods on other nodes."""
        looks = {unit: self._standing.looks(unit) for unit in equals}
        if len({*looks.values()}) == 1:
            return [self._greedy(equals)]
        if len(equals) > ORDERS:
            raise TooMuchWork
        found: dict[Hashable, list[int]] = {}
        for order in permutations(equals):
            back = self._greedy(order)
            found.setdefault(_counted([looks[unit] for unit in back]), back)
        return [*found.values()]

    def _ways_apart(self, able: list[int]) -> list[list[int]]:
        """The same, for units that contend with one another and not with the others."""
        greedy = self._greedy(able)
        looks = {unit: self._standing.looks(unit) for unit in able}
        if greedy == able or len({*looks.values()}) == 1:
            return [greedy]
        found: dict[Hashable, list[int]] = {}
        self._orders(able, [], looks, found, set())
        return [*found.values()]

    def _orders(
        self,
        waiting: list[int],
        back: list[int],
        looks: dict[int, Hashable],
        found: dict[Hashable, list[int]],
        seen: set[Hashable],
    ) -> None:
        """Try every order in which these units can come, and note what is put back in the end."""
        key = _counted([looks[unit] for unit in back])
        if key in seen:
            return
        seen.add(key)
        if len(seen) > MOST * MOST:
            raise TooMuchWork
        fitting = {looks[unit]: unit for unit in reversed(waiting) if self._standing.takes(unit)}
        if not fitting:
            found.setdefault(key, list(back))
            return
        for unit in fitting.values():
            self._standing.put_back(unit)
            rest = [each for each in waiting if each != unit]
            self._orders(rest, [*back, unit], looks, found, seen)
            self._standing.remove(unit)

    def _greedy(self, units: Sequence[int]) -> list[int]:
        """Those that are put back if they come in this order. Nothing is changed."""
        back = []
        for unit in units:
            if self._standing.takes(unit):
                self._standing.put_back(unit)
                back.append(unit)
        self._remove(back)
        return back

    def _apart(self, units: list[int]) -> list[list[int]]:
        """The units in parts that share no planned node."""
        if self._standing.looks_afar:
            return [units]
        parts: list[tuple[set[int], list[int]]] = []
        for unit in units:
            nodes, members = set(self._standing.on(unit)), [unit]
            others = []
            for part in parts:
                if part[0].isdisjoint(nodes):
                    others.append(part)
                else:
                    nodes |= part[0]
                    members = part[1] + members
            parts = [*others, (nodes, members)]
        return [members for _, members in parts]

    def _put_back(self, units: Sequence[int]) -> None:
        for unit in units:
            self._standing.put_back(unit)

    def _remove(self, units: Sequence[int]) -> None:
        for unit in reversed(units):
            self._standing.remove(unit)


def _size(parts: Sequence[Sequence[object]]) -> int:
    size = 1
    for part in parts:
        size *= len(part)
    return size


def _counted(keys: Sequence[Hashable]) -> Hashable:
    counts: dict[Hashable, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return frozenset(counts.items())
