"""Other members than the oldest, for a gang whose oldest unbound members do not fit together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from nodes.search.cluster import Cluster
from nodes.search.preemptors.preemptor import Preemptor
from nodes.search.problem import build, shapes_of
from nodes.search.room import Room

__all__ = ["TRIES", "others"]

TRIES: Final = 32
"""How many choices of members are tried after the oldest ones."""

Counts = tuple[int, ...]
"""How many members of each shape are required."""


def others(cluster: Cluster, *, strict: bool) -> Iterator[Preemptor]:
    """The preemptor with other required members: the choices that come closest to the oldest members come first.

    Members that fit nowhere, even alone with every unit of lower priority gone, are left out of every choice. Members
    of one shape are equal, so a choice says how many members of each shape are required, and the oldest of each shape
    are taken. If there are at most `TRIES` choices, all are tried: so a choice that fits is found. Otherwise, in each
    try fewer members of one shape are required, and the oldest members of the others take their places. With two
    shapes these are all choices there are. If they are more than `TRIES`, an even part of them is tried, and with at
    most `TRIES` shapes that part has the choices without any member of one shape.
    """
    preemptor = cluster.preemptor
    shapes = _fitting(cluster, strict=strict)
    if sum(map(len, shapes)) < preemptor.needed:
        return
    oldest = _oldest(preemptor.unbound, shapes, preemptor.needed)
    tried = {preemptor.required}
    for counts in _choices(oldest, [len(shape) for shape in shapes], preemptor.unbound, shapes):
        chosen = {pod for shape, count in zip(shapes, counts, strict=True) for pod in shape[:count]}
        required = tuple(pod for pod in preemptor.unbound if pod in chosen)
        if required in tried:
            continue
        tried.add(required)
        later = tuple(pod for pod in preemptor.unbound if pod not in chosen)
        yield replace(preemptor, unbound=(*required, *later))


def _fitting(cluster: Cluster, *, strict: bool) -> list[list[int]]:
    """The shapes whose members fit on some node alone, with every unit of lower priority gone."""
    preemptor = cluster.preemptor
    members = len(preemptor.bound) + len(preemptor.unbound)
    built = build(cluster.asking_with(replace(preemptor, minimum=members)), strict=strict)
    room, nodes = Room(cluster, built.everybody), cluster.layout.nodes
    shapes = shapes_of(cluster, preemptor.unbound)
    return [shape for shape in shapes if room.could_fit(shape[0])[nodes].any()]


def _oldest(
    unbound: Sequence[int], shapes: Sequence[Sequence[int]], needed: int, *, shape: int = -1, most: int = 0
) -> Counts:
    """The counts of the first `needed` members of these shapes, with at most `most` members of one shape."""
    of = {
        pod: index
        for index, members in enumerate(shapes)
        for pod in members[: most if index == shape else None]
    }
    counts = [0] * len(shapes)
    for pod in islice((pod for pod in unbound if pod in of), needed):
        counts[of[pod]] += 1
    return tuple(counts)


def _choices(
    oldest: Counts, available: Sequence[int], unbound: Sequence[int], shapes: Sequence[Sequence[int]]
) -> list[Counts]:
    """At most TRIES + 1 choices, beginning with the oldest members."""
    every: list[Counts] = []
    if len(available) <= TRIES:
        every = list(islice(_compositions(sum(oldest), available), TRIES + 2))
    if not 0 < len(every) <= TRIES + 1:
        every = [oldest, *_with_fewer(oldest, available, unbound, shapes)]
    return sorted(every, key=lambda counts: (_distance(counts, oldest), [-count for count in counts]))


def _distance(counts: Counts, oldest: Counts) -> int:
    return sum(abs(one - other) for one, other in zip(counts, oldest, strict=True))


def _compositions(needed: int, available: Sequence[int]) -> Iterator[Counts]:
    """Every way to take `needed` members."""
    if not available:
        if needed == 0:
            yield ()
        return
    first, *rest = available
    for count in range(max(0, needed - sum(rest)), min(first, needed) + 1):
        for more in _compositions(needed - count, rest):
            yield (count, *more)


def _with_fewer(
    oldest: Counts, available: Sequence[int], unbound: Sequence[int], shapes: Sequence[Sequence[int]]
) -> Iterator[Counts]:
    """Choices with fewer members of one shape: for each shape an even part of them."""
    needed, whole = sum(oldest), sum(available)
    fewer = [
        range(count - 1, max(0, needed - (whole - has)) - 1, -1)
        for count, has in zip(oldest, available, strict=True)
    ]
    share = max(1, TRIES // max(1, sum(map(bool, fewer))))
    limits = ((shape, most) for shape, mosts in enumerate(fewer) for most in _spread(mosts, share))
    for shape, most in islice(limits, TRIES):
        yield _oldest(unbound, shapes, needed, shape=shape, most=most)


def _spread(values: range, count: int) -> list[int]:
    """At most `count` of the values at even distances, the last one among them."""
    if len(values) <= count:
        return list(values)
    return [values[(place + 1) * len(values) // count - 1] for place in range(count)]
