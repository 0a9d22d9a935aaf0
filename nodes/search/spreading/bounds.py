"""How many members can be placed at the most, whatever their order: what every filter leaves of the room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodes.filters.counting import MANY, Share
from nodes.search.spreading.cells import Cells, Kind

__all__ = ["Range", "Shortfall", "shortfall"]

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

ROUNDS = 8
"""How often the bounds of one filter tighten those of the others."""


@dataclass(frozen=True, slots=True)
class Range:
    """Where members may come."""

    fewest: Int64s
    """[C, Q], the counts that are there in any case."""
    most: Int64s
    """[C, Q], the counts that may be there."""
    left: Int64s
    """[K], members that are not placed yet."""
    room: Int64s
    """[K, C], how many of them fit."""
    held: Bools
    """[W, C], where a member that is placed brings the token."""
    barred: Bools
    """[W, C], where a member that is placed forbids the token."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why not all members can be placed."""

    names: tuple[str, ...]
    """What refuses them; empty for the room alone."""
    share: Share | None = None
    """What bounds them, if a share does."""
    added: int = 0
    """How many members the share's shortest place can get at the most."""


def shortfall(cells: Cells, where: Range) -> Shortfall | None:
    """Why the members that are left cannot all be placed; None if that is not known."""
    most = _beside_tokens(cells, where)
    if (short := _short(most, where.left)) >= 0:
        return Shortfall(_token_names(cells, cells.kinds[short]) if where.room[short].sum() else ())
    for _ in range(ROUNDS):
        before = int(most.sum())
        most = most * _reached(cells, where, most)
        if (short := _short(most, where.left)) >= 0:
            return Shortfall(_condition_names(cells.kinds[short]))
        for kinds, share in _shares(cells, where, most):
            found, most = _within_share(where, most, kinds, share)
            if found is not None:
                return found
        if (apart := _gathered(cells, where, most)) is not None:
            return apart
        if int(most.sum()) == before:
            break
    return None


def _short(most: Int64s, left: Int64s) -> int:
    """The first kind that finds too few places; -1 if all find enough."""
    short = np.flatnonzero(most.sum(axis=1) < left)
    return int(short[0]) if len(short) else -1


def _condition_names(kind: Kind) -> tuple[str, ...]:
    return tuple(name for each, _ in kind.conditions for name in each.names)


def _token_names(cells: Cells, kind: Kind) -> tuple[str, ...]:
    concerned = np.flatnonzero(kind.brought | kind.forbidden).tolist()
    return tuple(dict.fromkeys(cells.token_name(token) for token in concerned))


def _beside_tokens(cells: Cells, where: Range) -> Int64s:
    """[K, C], how many members of each kind fit beside those that are placed, by the tokens that these hold."""
    most = np.minimum(where.room, where.left[:, None])
    for number, kind in enumerate(cells.kinds):
        blocked = (kind.forbidden[:, None] & where.held) | (kind.brought[:, None] & where.barred)
        most[number, blocked.any(axis=0)] = 0
    return most


def _reached(cells: Cells, where: Range, most: Int64s) -> Bools:
    """[K, C], the cells where a member of each kind could ever come: those of other members that come first count."""
    reached = np.zeros(most.shape, np.bool_)
    while True:
        coming = (most * reached).T @ _brings(cells)
        before = int(reached.sum())
        for number, kind in enumerate(cells.kinds):
            possible = most[number] > 0
            for condition, columns in kind.conditions:
                possible &= condition.reaches(
                    cells.nodes, where.fewest[:, columns], where.most[:, columns], coming[:, columns]
                )
            reached[number] = possible
        if int(reached.sum()) == before:
            return reached


def _shares(cells: Cells, where: Range, most: Int64s) -> Iterator[tuple[list[int], Share]]:
    """Each bound, and the kinds that it bounds together."""
    coming = most.T @ _brings(cells)
    together: dict[tuple[int, bytes, bytes], tuple[list[int], Share]] = {}
    for number, kind in enumerate(cells.kinds):
        if not where.left[number]:
            continue
        for condition, columns in kind.conditions:
            bounds = condition.shares(
                cells.nodes, where.fewest[:, columns], where.most[:, columns], coming[:, columns]
            )
            for share in bounds:
                key = (columns[share.counter], share.places.tobytes(), share.most.tobytes())
                kinds, _ = together.setdefault(key, ([], share))
                if number not in kinds:  # two constraints may be equal
                    kinds.append(number)
    yield from together.values()
    for token, places in enumerate(cells.token_places):
        apart = [
            number
            for number, kind in enumerate(cells.kinds)
            if kind.brought[token] and kind.forbidden[token] and where.left[number]
        ]
        if apart:
            one = np.append(np.ones(int(places.max(initial=-1)) + 1, np.int64), MANY)
            yield apart, Share("", places, one, 0, -1, cells.token_name(token))


def _within_share(
    where: Range, most: Int64s, kinds: list[int], share: Share
) -> tuple[Shortfall | None, Int64s]:
    """What is left of the bounds [K, C] under the share, and why it is too little; None if it is not."""
    most = most.copy()
    most[kinds] = np.minimum(most[kinds], share.most[share.places])
    every = np.bincount(share.places + 1, weights=most[kinds].sum(axis=0), minlength=len(share.most))
    # Nodes without the label come first here, and last in the share.
    sums = np.minimum(np.roll(every.astype(np.int64), -1), share.most)
    if int(sums.sum()) >= int(where.left[kinds].sum()):
        return None, most
    added = int(every[share.shortest + 1]) if share.shortest >= 0 else 0
    return Shortfall((share.name,), share, added), most


def _gathered(cells: Cells, where: Range, most: Int64s) -> Shortfall | None:
    """Why members that all have to be in one place are too many for each of them; None if they are not."""
    for kind in cells.kinds:
        for condition, columns in kind.conditions:
            if not condition.gathers(cells.nodes, where.most[:, columns]):
                continue
            kinds = _only_gathering(cells, where, condition.keys, columns)
            wanted = int(where.left[kinds].sum())
            for key, name in zip(condition.keys, condition.names, strict=True):
                places = cells.nodes.places(key)
                sums = np.bincount(places + 1, weights=most[kinds].sum(axis=0), minlength=2)[1:]
                largest = int(np.argmax(sums))
                if int(sums[largest]) < wanted:
                    share = Share(key, places, sums.astype(np.int64), 0, largest, name)
                    return Shortfall((name,), share, int(sums[largest]))
    return None


def _only_gathering(cells: Cells, where: Range, keys: Sequence[str], columns: list[int]) -> list[int]:
    """The kinds that are counted, if they all ask for the same: nobody else can be the first one in another place."""
    (column,) = columns
    counted = [
        number for number, each in enumerate(cells.kinds) if where.left[number] and each.brings[column]
    ]
    same = all(
        any(columns == other and keys == each.keys for each, other in cells.kinds[number].conditions)
        for number in counted
    )
    return counted if same else []


def _brings(cells: Cells) -> Int64s:
    found: Int64s = np.array([kind.brings for kind in cells.kinds], np.int64)
    return found
