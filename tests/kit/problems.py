"""Made-up problems for the search, and the same for its twin."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from random import Random
from typing import Any, get_args

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from api.disruption import ScoreTerm
from native.nodes.problem import Problem
from tests.twins.nodes import problem as plain

__all__ = ["Tokens", "assemble", "crowds", "fields", "plain_of", "problems"]

Rows = list[list[int]]


@dataclass(frozen=True)
class Tokens:
    """Tokens of a problem: on nodes by pods that stay and by pods that terminate, of shapes, of units by node."""

    width: int
    held: Rows
    leaving: Rows
    brings: Rows
    forbids: Rows
    units: list[dict[int, dict[int, int]]]

    @classmethod
    def none(cls, nodes: int, shapes: int, units: int) -> Tokens:
        return cls(0, [[]] * nodes, [[]] * nodes, [[]] * shapes, [[]] * shapes, [{}] * units)


def plain_of(problem: Problem) -> plain.Problem:
    """The same problem in lists."""
    return plain.Problem(
        **{field.name: getattr(problem, field.name).tolist() for field in dataclasses.fields(Problem)}
    )


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
    tokens: Tokens | None = None,
    terms: list[tuple[list[int], list[int]]] | None = None,
) -> Problem:
    """A problem from shapes (requests, count, admitted), units (priority, start, held by node) and optional terms (what
    each unit and each domain adds).
    """
    tokens = tokens or Tokens.none(len(free), len(shapes), len(units))
    width = len(shapes[0][0])
    order = sorted(range(len(units)), key=lambda unit: (-units[unit][0], units[unit][1]))
    pieces = [
        (rank, node, held) for rank, unit in enumerate(order) for node, held in sorted(units[unit][2].items())
    ]
    owners, places = [unit for unit, *_ in pieces], [node for _, node, _ in pieces]
    brought = [sorted(tokens.units[order[rank]].get(node, {}).items()) for rank, node, _ in pieces]
    held = _ints(tokens.held).reshape(len(free), tokens.width)
    for places_of, each in zip(places, brought, strict=True):
        for token, pods in each:
            held[places_of, token] += pods
    drawn = [sorted((draws or [{}] * len(units))[unit].items()) for unit in order]
    return Problem(
        domains=_ints(domains),
        free=_ints(free, np.int64).reshape(-1, width),
        leaving=_ints(leaving or [[0] * width for _ in free], np.int64).reshape(-1, width),
        requests=_ints([requests for requests, _, _ in shapes], np.int64),
        counts=_ints([count for _, count, _ in shapes]),
        admitted=_ints([admitted for *_, admitted in shapes], np.uint8),
        held=held,
        held_by_leaving=_ints(tokens.leaving).reshape(len(free), tokens.width),
        brings=_ints(tokens.brings).reshape(len(shapes), tokens.width),
        forbids=_ints(tokens.forbids).reshape(len(shapes), tokens.width),
        unit_priority=_ints([units[unit][0] for unit in order], np.int64),
        unit_start=_ints([units[unit][1] for unit in order], np.int64),
        unit_pods=_ints([max(1, len(units[unit][2])) for unit in order]),
        unit_pieces=_ints(np.searchsorted(owners, range(len(units) + 1))),
        piece_unit=_ints(owners),
        piece_node=_ints(places),
        piece_room=_ints([held for *_, held in pieces], np.int64).reshape(-1, width),
        piece_tokens=_ints([0, *np.cumsum([len(each) for each in brought], dtype=np.int64)]),
        token=_ints([token for each in brought for token, _ in each]),
        token_pods=_ints([pods for each in brought for _, pods in each]),
        node_pieces=_ints([0, *np.cumsum(np.bincount(_ints(places), minlength=len(free)))]),
        node_piece=_ints(np.argsort(_ints(places), kind="stable")),
        unit_budgets=_ints([0, *np.cumsum([len(each) for each in drawn], dtype=np.int64)]),
        budget=_ints([budget for each in drawn for budget, _ in each]),
        budget_pods=_ints([pods for each in drawn for _, pods in each]),
        allowed=_ints(allowed or [], np.int64),
        unit_terms=_ints([[of[unit] for unit in order] for of, _ in terms or ()], np.int64).reshape(
            len(terms or ()), len(units)
        ),
        domain_terms=_ints([of for _, of in terms or ()], np.int64).reshape(
            len(terms or ()), len(domains) - 1
        ),
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
    shapes = draw(st.lists(shape, min_size=1, max_size=4))
    budgets = draw(st.integers(0, 2))
    drawing = st.dictionaries(st.integers(0, budgets - 1), st.integers(1, 2)) if budgets else st.just({})
    return assemble(
        domains=[0, *np.cumsum(sizes, dtype=np.int64)],
        free=draw(st.lists(row, min_size=nodes, max_size=nodes)),
        leaving=draw(st.lists(vector, min_size=nodes, max_size=nodes)),
        shapes=shapes,
        units=units,
        allowed=[draw(st.integers(0, 2)) for _ in range(budgets)],
        draws=[draw(drawing) for _ in units],
        tokens=draw(_tokens(nodes, len(shapes), [[*held] for *_, held in units])),
        terms=draw(
            st.lists(
                st.tuples(
                    st.lists(some, min_size=len(units), max_size=len(units)),
                    st.lists(some, min_size=len(sizes), max_size=len(sizes)),
                ),
                max_size=len(get_args(ScoreTerm)),
            )
        ),
    )


@st.composite
def crowds(draw: st.DrawFn, nodes_most: int = 16) -> Problem:
    """One or two domains of full nodes, and a gang with too many victims for a search of all sets."""
    dice = draw(st.randoms(use_true_random=False))
    nodes, width = dice.randint(6, nodes_most), dice.randint(1, 3)
    ends = [0, nodes] if dice.random() < 0.7 else [0, nodes // 2, nodes]
    free = [[dice.randint(0, 2) for _ in range(width)] for _ in range(nodes)]
    units: list[tuple[int, int, dict[int, list[int]]]] = []
    for node in range(nodes * dice.randint(2, 4)):
        spread = dice.sample(range(nodes), dice.randint(1, 4)) if dice.random() < 0.5 else []
        held = {at: [dice.randint(0, 4) for _ in range(width)] for at in {node % nodes, *spread}}
        units.append((dice.choice((-5, 0, 3, 9)), dice.randint(0, 5), held))
    shapes = [
        (
            [dice.randint(1, 5) for _ in range(width)],
            dice.randint(1, nodes // 2),
            [int(dice.random() < 0.9) for _ in range(nodes)],
        )
        for _ in range(dice.choice((1, 1, 2, 3)))
    ]
    budgets = dice.choice((0, 0, 3))
    tokens = dice.choice((0, 0, 2))
    return assemble(
        domains=ends,
        free=free,
        shapes=shapes,
        units=units,
        allowed=[dice.randint(0, 3) for _ in range(budgets)],
        draws=[
            {budget: dice.randint(1, 2) for budget in range(budgets) if dice.random() < 0.5} for _ in units
        ],
        tokens=_some_tokens(dice, tokens, nodes, len(shapes), [[*held] for *_, held in units]),
        terms=[([dice.randint(0, 4) for _ in units], [dice.randint(0, 4) for _ in ends[1:]])]
        * dice.choice((0, 1)),
    )


@st.composite
def fields(draw: st.DrawFn, nodes_most: int = 30) -> Problem:
    """Nearly full nodes with single pods of many ages, and a small gang: what most clusters have.

    In some, a few units are on two nodes.
    """
    dice = draw(st.randoms(use_true_random=False))
    nodes, width = dice.randint(4, nodes_most), dice.randint(1, 3)
    most, pairs, oldest = dice.choice((2, 5, 12)), dice.choice((0, 0, 0.03)), dice.choice((9, 99))
    units: list[tuple[int, int, dict[int, list[int]]]] = []
    for node in range(nodes * dice.randint(2, 6)):
        places = {node % nodes, *([dice.randrange(nodes)] if dice.random() < pairs else [])}
        held = {at: [dice.randint(1, most) for _ in range(width)] for at in places}
        units.append((dice.choice((0, 0, 0, 5, 9)), dice.randint(0, oldest), held))
    shapes = [
        ([dice.randint(1, 2 * most) for _ in range(width)], dice.randint(1, 4), [1] * nodes)
        for _ in range(dice.choice((1, 1, 2)))
    ]
    budgets = dice.choice((0, 0, 0, 2))
    return assemble(
        domains=[0, nodes] if dice.random() < 0.7 else [0, nodes // 2, nodes],
        free=[[dice.randint(0, 1) for _ in range(width)] for _ in range(nodes)],
        shapes=shapes,
        units=units,
        allowed=[dice.randint(0, 9) for _ in range(budgets)],
        draws=[{dice.randrange(budgets): 1} if budgets and dice.random() < 0.5 else {} for _ in units],
    )


def _some_tokens(dice: Random, width: int, nodes: int, shapes: int, units: list[list[int]]) -> Tokens:
    """Tokens that some shapes and some pods bring, and some shapes forbid."""
    if not width:
        return Tokens.none(nodes, shapes, len(units))

    def rows(count: int, likely: float) -> Rows:
        return [[int(dice.random() < likely) for _ in range(width)] for _ in range(count)]

    pods = [
        {node: {token: 1 for token in range(width) if dice.random() < 0.1} for node in each} for each in units
    ]
    return Tokens(width, rows(nodes, 0.05), rows(nodes, 0), rows(shapes, 0.5), rows(shapes, 0.5), pods)


@st.composite
def _tokens(draw: st.DrawFn, nodes: int, shapes: int, units: list[list[int]]) -> Tokens:
    """Up to three tokens, none of them in two of five problems; few pods bring any."""
    width = draw(st.sampled_from((0, 0, 1, 2, 3)))
    if not width:
        return Tokens.none(nodes, shapes, len(units))
    seldom = st.lists(st.sampled_from((0, 0, 0, 0, 1, 2)), min_size=width, max_size=width)
    flags = st.lists(st.sampled_from((0, 0, 1)), min_size=width, max_size=width)
    pods = st.dictionaries(st.integers(0, width - 1), st.integers(1, 2), max_size=width)
    return Tokens(
        width,
        draw(st.lists(seldom, min_size=nodes, max_size=nodes)),
        draw(st.lists(seldom, min_size=nodes, max_size=nodes)),
        draw(st.lists(flags, min_size=shapes, max_size=shapes)),
        draw(st.lists(flags, min_size=shapes, max_size=shapes)),
        [{node: draw(pods) for node in places if draw(st.booleans())} for places in units],
    )
