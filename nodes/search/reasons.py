"""Why a domain won or lost, in words. The words for nodes are the scheduler's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.disruption import ScoreTerm
from native.codes import FITS
from native.nodes._victims import search
from native.nodes.problem import SCORE_COLUMNS, Problem
from nodes.search.cluster import EXCLUDED, Cluster
from nodes.search.costs import TERM_WORDS
from nodes.search.problem import Built
from nodes.search.room import Room, count_fits
from nodes.search.units import is_needed

__all__ = ["beaten", "coarse_shortages", "coarsely_beaten", "shortage", "unavailable"]

SCORE_WORDS = (
    "pod disruption budget violations",
    "highest victim priority",
    "sum of victim priorities",
    "victims",
    "pods to evict",
)
"""The columns of a score that come before the start time."""
AGE: Final = SCORE_COLUMNS.index("age")

NAMED: Final = 3
"""Excluded nodes that a reason names; `spec.excluded` lists them."""


def beaten(score: list[int], winner: list[int], terms: Sequence[ScoreTerm], *, bounded: bool) -> str:
    """Why a feasible domain lost against the winner: the first column of the score that differs.

    `terms`: the optional ones, whose columns come last. `bounded`: the score is what every plan in the domain costs at
    least.
    """
    for words, mine, best in zip(SCORE_WORDS, score, winner, strict=False):
        if mine != best:
            least = "at least " if bounded else ""
            return f"costs more: {words} {least}{mine}, not {best}"
    if is_needed(-score[AGE]) and not is_needed(-winner[AGE]):
        return "costs more: a victim of the highest priority is needed by its gang"
    if score[AGE] != winner[AGE]:
        return "costs more: a victim of the highest priority has run for longer"
    for term, mine, best in zip(terms, score[AGE + 1 :], winner[AGE + 1 :], strict=True):
        if mine != best:
            return f"costs more: {TERM_WORDS[term]} {mine}, not {best}"
    return "costs the same, and its name comes later"


def coarsely_beaten(score: list[int], winner: list[int], *, bounded: bool) -> str:
    """The reason of `beaten` without its numbers, so that many domains share it."""
    for words, mine, best in zip(SCORE_WORDS, score, winner, strict=False):
        if mine != best:
            return f"costs more: {words}{', by the bound alone' if bounded else ''}"
    return "costs more" if score != winner else "costs the same, and its name comes later"


def unavailable(nodes: NDArray[np.intp], room: Room, pod: int, *, named: int = NAMED) -> str:
    """Why no node of these takes the pod: "0/5 nodes are available: 3 Insufficient cpu, ...".

    Of the first `named` nodes that are excluded it says what was seen there.
    """
    counts = room.refusals(pod, nodes)
    words = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    seen = "; ".join(islice(room.exclusions(pod, nodes), named if counts[EXCLUDED] else 0))
    return f"0/{len(nodes)} nodes are available" + (f": {words}" if words else "") + (seen and f" ({seen})")


def shortage(cluster: Cluster, built: Built, domain: int, gone: Room, budget: int) -> tuple[int, str]:
    """Why the required members do not fit in the domain, even with every unit of lower priority gone.

    Returns how many of them fit, and the reason. `gone` is the room when all those units are gone.
    """
    preemptor, nodes = cluster.preemptor, cluster.layout.of(domain)
    room = gone.copy()
    fitting = _fill(cluster, built, domain, room, budget)
    why = unavailable(nodes, room, preemptor.required[fitting])
    when = (
        "once every unit of lower priority is gone"
        if preemptor.evicts
        else "without evictions, because it may not evict"
    )
    if preemptor.kind == "Pod":
        return fitting, f"{why}, {when}"
    running, what = fitting + len(preemptor.bound), "pods" if preemptor.kind == "Workload" else "members"
    return fitting, f"{running} of {preemptor.minimum} {what} fit {when}; for the next one {why}"


def coarse_shortages(cluster: Cluster, domains: Iterable[int], gone: Room) -> Iterator[str]:
    """The reason of `shortage` for each of the domains, in fewer words. It takes less time: it runs no search."""
    first, layout = cluster.preemptor.required[0], cluster.layout
    fits = gone.fits(first, layout.nodes)
    for domain in domains:
        if fits[layout.first[domain] : layout.first[domain + 1]].any():
            yield "not every member fits"
        else:
            yield unavailable(layout.of(domain), gone, first, named=0)


def _fill(cluster: Cluster, built: Built, domain: int, room: Room, budget: int) -> int:
    """Place as many of the first required members in the domain as fit together. Returns how many they are."""
    most = len(cluster.preemptor.required) - 1
    nodes = _nodes(built, domain)
    if len(built.shapes) == 1 and not len(cluster.tokens):
        places = _places(built, domain, room)
        if places.sum() <= most:  # each node gets as many as fit there, and nothing has to be searched
            room.place_each(built.shapes[0][0], nodes, places)
            return int(places.sum())
    fitting, placed = _most_members(cluster, built, domain, room, budget)
    for shape, row in zip(built.shapes, placed, strict=False):
        for node, members in zip(nodes.tolist(), row, strict=True):
            if members:
                room.place(shape[0], node, members)
    return fitting


def _most_members(
    cluster: Cluster, built: Built, domain: int, gone: Room, budget: int
) -> tuple[int, list[list[int]]]:
    """The largest n so that the first n required members fit together, and their placement [shape][node].

    It is less than all of them.
    """
    low, high = 0, len(cluster.preemptor.required) - 1
    placed: list[list[int]] = []
    while low < high:
        middle = (low + high + 1) // 2
        found = search(_part(cluster, built, domain, gone, middle), budget, 0)
        if found.outcomes == [FITS]:
            low, placed = middle, found.placed
        else:
            high = middle - 1
    return low, placed


def _nodes(built: Built, domain: int) -> NDArray[np.intp]:
    """The nodes of the domain that the problem has, as rows of the snapshot."""
    return built.nodes[_inside(built, domain)]


def _inside(built: Built, domain: int) -> slice:
    """The nodes of the domain, as rows of the problem."""
    return slice(int(built.problem.domains[domain]), int(built.problem.domains[domain + 1]))


def _places(built: Built, domain: int, gone: Room) -> NDArray[np.int64]:
    """How many members of the only shape each node of the domain takes."""
    whole, inside = built.problem, _inside(built, domain)
    each = count_fits(gone.free[built.nodes[inside]], whole.requests[0], len(built.shapes[0]))
    places: NDArray[np.int64] = each * (whole.admitted[0, inside] > 0)
    return places


def _part(cluster: Cluster, built: Built, domain: int, gone: Room, members: int) -> Problem:
    """The problem of the first members in one domain, without units that could be evicted."""
    whole, inside = built.problem, _inside(built, domain)
    first = set(cluster.preemptor.required[:members])
    free = np.ascontiguousarray(gone.free[built.nodes[inside]])
    held = np.ascontiguousarray(gone.held[built.nodes[inside]])
    nothing, start = np.zeros(0, np.int32), np.zeros(1, np.int32)
    return replace(
        whole,
        domains=np.array([0, len(free)], np.int32),
        free=free,
        leaving=np.zeros_like(free),
        held=held,
        held_by_leaving=np.zeros_like(held),
        counts=np.array([len(first.intersection(shape)) for shape in built.shapes], np.int32),
        admitted=np.ascontiguousarray(whole.admitted[:, inside]),
        unit_priority=nothing.astype(np.int64),
        unit_start=nothing.astype(np.int64),
        unit_pods=nothing,
        unit_pieces=start,
        piece_unit=nothing,
        piece_node=nothing,
        piece_room=np.zeros((0, free.shape[1]), np.int64),
        piece_tokens=start,
        token=nothing,
        token_pods=nothing,
        node_pieces=np.zeros(len(free) + 1, np.int32),
        node_piece=nothing,
        unit_budgets=start,
        budget=nothing,
        budget_pods=nothing,
        unit_terms=np.zeros((0, 0), np.int64),
        domain_terms=np.zeros((0, 0), np.int64),
    )
