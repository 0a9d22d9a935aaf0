"""Made-up problems for the search, and the same for its twin."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from native.nodes.problem import Problem
from tests.twins.nodes import problem as plain

__all__ = ["assemble", "plain_of", "problems"]

Rows = list[list[int]]


def plain_of(problem: Problem) -> plain.Problem:
    """The same problem in lists."""
    return plain.Problem(**{field.name: getattr(problem, field.name).tolist() for field in fields(Problem)})


def _ints(values: Any, kind: type[np.integer[Any]] = np.int32) -> NDArray[Any]:
    return np.array(values, kind)


def assemble(
    domains: list[int],
    free: Rows,
    shapes: list[tuple[list[int], int, list[int]]],
    units: list[tuple[int, int, dict[int, list[int]]]],
    allowed: list[int] | None = None,
    draws: list[dict[int, int]] | None = None,
    leaving: Rows | None = None,
) -> Problem:
    """A problem from shapes (requests, count, admitted) and units (priority, start, held by node)."""
    width = len(shapes[0][0])
    order = sorted(range(len(units)), key=lambda unit: (-units[unit][0], units[unit][1]))
    pieces = [
        (rank, node, held) for rank, unit in enumerate(order) for node, held in sorted(units[unit][2].items())
    ]
    owners, places = [unit for unit, *_ in pieces], [node for _, node, _ in pieces]
    drawn = [sorted((draws or [{}] * len(units))[unit].items()) for unit in order]
    return Problem(
        domains=_ints(domains),
        free=_ints(free, np.int64).reshape(-1, width),
        leaving=_ints(leaving or [[0] * width for _ in free], np.int64).reshape(-1, width),
        requests=_ints([requests for requests, _, _ in shapes], np.int64),
        counts=_ints([count for _, count, _ in shapes]),
        admitted=_ints([admitted for *_, admitted in shapes], np.uint8),
        unit_priority=_ints([units[unit][0] for unit in order], np.int64),
        unit_start=_ints([units[unit][1] for unit in order], np.int64),
        unit_pods=_ints([max(1, len(units[unit][2])) for unit in order]),
        unit_pieces=_ints(np.searchsorted(owners, range(len(units) + 1))),
        piece_unit=_ints(owners),
        piece_node=_ints(places),
        piece_room=_ints([held for *_, held in pieces], np.int64).reshape(-1, width),
        node_pieces=_ints([0, *np.cumsum(np.bincount(_ints(places), minlength=len(free)))]),
        node_piece=_ints(np.argsort(_ints(places), kind="stable")),
        unit_budgets=_ints([0, *np.cumsum([len(each) for each in drawn], dtype=np.int64)]),
        budget=_ints([budget for each in drawn for budget, _ in each]),
        budget_pods=_ints([pods for each in drawn for _, pods in each]),
        allowed=_ints(allowed or [], np.int64),
    )


@st.composite
def problems(draw: st.DrawFn, domain: int = 4, units_most: int = 10) -> Problem:
    """Up to three domains of up to `domain` nodes, several shapes, units over several nodes, overlapping budgets."""
    sizes = draw(st.lists(st.integers(0, domain), min_size=1, max_size=3))
    nodes, width = sum(sizes), draw(st.integers(1, 3))
    some = st.integers(0, 4)
    vector = st.lists(some, min_size=width, max_size=width)
    row = st.lists(st.integers(-3, 6), min_size=width, max_size=width)
    shape = st.tuples(
        vector.filter(any),
        st.integers(0, 4),
        st.lists(st.sampled_from((1, 1, 1, 0)), min_size=nodes, max_size=nodes),
    )
    held = st.dictionaries(st.integers(0, nodes - 1), vector, max_size=3) if nodes else st.just({})
    units = draw(
        st.lists(st.tuples(st.sampled_from((0, 5, 9)), st.integers(0, 5), held), max_size=units_most)
    )
    budgets = draw(st.integers(0, 2))
    drawing = st.dictionaries(st.integers(0, budgets - 1), st.integers(1, 2)) if budgets else st.just({})
    return assemble(
        domains=[0, *np.cumsum(sizes, dtype=np.int64)],
        free=draw(st.lists(row, min_size=nodes, max_size=nodes)),
        leaving=draw(st.lists(vector, min_size=nodes, max_size=nodes)),
        shapes=draw(st.lists(shape, min_size=1, max_size=4)),
        units=units,
        allowed=[draw(st.integers(0, 2)) for _ in range(budgets)],
        draws=[draw(drawing) for _ in units],
    )
