"""A plan in one domain that all filters take, though members look at other nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from native.codes import PREEMPTS
from native.nodes._victims import search
from native.nodes.problem import Solution
from nodes.search.budgets import bounded
from nodes.search.cluster import Cluster
from nodes.search.problem import Built, build
from nodes.search.room import Room
from nodes.search.spreading.bounds import Range, Shortfall, shortfall
from nodes.search.spreading.cells import Cells
from nodes.search.spreading.refusals import Refusal
from nodes.search.spreading.sequences import Sequence, Sequences, Steps, at_once
from nodes.search.spreading.victims import Choices

__all__ = ["Bounds", "Obeying", "cost", "in_order", "required_nodes", "seek"]

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

TRIES: Final = 256
"""Ways to deal the members of a small domain that are tried until one has a plan."""
FEWER: Final = 12
"""The same in a domain that is not small."""
BETTER: Final = 16
"""Ways that are tried for the cheapest plan, if there is one. They share the effort of one search."""
SMALL: Final = 64
"""With more pairs of a member and a cell, ways that differ in one member only are not tried: they help little."""
ORDERED: Final = 4
"""Steps for each member, to put a plan in order."""
SPARED: Final = 32
"""How often all members of a plan are looked at, to find the victims that can stay."""

Placed = list[tuple[int, int]]
"""Pairs of (pod, node), in an order in which every filter takes each pod."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What bounds the searches."""

    budget: int
    effort: int
    strict: bool
    steps: Steps
    proves: bool = False


@dataclass(frozen=True, slots=True)
class Obeying:
    """A plan that all filters take."""

    cluster: Cluster
    """Of the domain alone, unless the plan is that of the first search."""
    built: Built
    found: Solution
    placed: Placed

    @property
    def cost(self) -> tuple[bool, list[int]]:
        """What the plan costs: see `cost`."""
        return cost(self.found, self.found.winner)


def cost(found: Solution, domain: int) -> tuple[bool, list[int]]:
    """What the plan of the domain costs. Less is better."""
    return found.outcomes[domain] == PREEMPTS, found.scores[domain]


def required_nodes(built: Built, found: Solution) -> dict[int, int]:
    """The node of each required member. The members of a shape get the nodes of that shape in order."""
    nodes: dict[int, int] = {}
    for members, row in zip(built.shapes, found.placed, strict=True):
        places = np.repeat(built.nodes, row).tolist()
        nodes.update(zip(members, places, strict=True))
    return nodes


def in_order(cells: Cells, placed: Mapping[int, int], gone: list[int]) -> Placed | None:
    """The members (node by pod) in an order in which every filter takes each of them; None if none is found.

    `gone`: the pods of the victims.
    """
    dealt = cells.dealt(placed.items())
    steps = Steps(ORDERED * len(placed))
    sequences = Sequences(cells, cells.counts(gone), dealt, dealt.sum(axis=1), dealt, steps)
    if sequences.why_none() is not None:
        return None
    for sequence, _ in sequences:
        return _pods(cells, sequence, placed)
    return None


def seek(
    cells: Cells, plain: Obeying, domain: int, least: tuple[bool, list[int]], bounds: Bounds
) -> Obeying | Refusal:
    """The cheapest plan that is found in the domain. `plain` is the one that a filter has refused, without order, and
    `least` what every plan there costs at least."""
    return _Seeking(cells, plain, domain, bounds).plan(least)


class _Seeking:
    def __init__(self, cells: Cells, plain: Obeying, domain: int, bounds: Bounds) -> None:
        self._cells, self._bounds = cells, bounds
        self._domain = domain
        cluster = cells.cluster
        self._narrow = cluster.only(domain, np.zeros(0, np.int64))
        self._built = build(self._narrow, strict=bounds.strict)
        gone = [pod for unit in plain.found.victims for pod in plain.built.units.members(unit)]
        self._choices = Choices(cells, self._built, gone)
        self._wanted = cells.dealt(required_nodes(plain.built, plain.found).items())
        self._needed = cells.needed
        self._inside = cells.domain == domain
        self._roomy = self._capacity(np.array(gone, np.int64))
        self._best: Obeying | None = None
        self._going: list[int] = []
        self._tries, self._ended = 0, self._choices.complete
        self._small = int(self._needed.sum()) * int(np.count_nonzero(self._inside)) <= SMALL
        self._short: Shortfall | None = None
        self._fitting = 0

    def plan(self, least: tuple[bool, list[int]]) -> Obeying | Refusal:
        """The plan, or why there is none."""
        cells, choices = self._cells, self._choices
        everybody, none = self._built.everybody, np.zeros((len(cells.wide), len(cells)), np.bool_)
        whole = Range(
            cells.counts(choices.pods.tolist()),
            cells.counts(),
            self._needed,
            self._capacity(everybody),
            none,
            none,
        )
        if (short := shortfall(cells, whole)) is not None:
            return Refusal(True, short, at_once(cells, whole.most, whole.room, self._needed))
        for going in choices:
            self._choose(going, least)
            if self._is_done(least) or (self._best is not None and not self._small):
                break
        best = self._best
        return self._spare(best) if best is not None else Refusal(self._ended, self._short, self._fitting)

    def _choose(self, going: list[int], least: tuple[bool, list[int]]) -> None:
        """Try to deal the members with these units gone, and the others that count staying."""
        staying = np.setdiff1d(self._choices.pods, np.array(going, np.int64))
        room = self._capacity(np.setdiff1d(self._built.everybody, staying))
        counts = self._cells.counts(going)
        cluster = self._cells.cluster.only(self._domain, staying)
        seen: set[bytes] = set()
        for place, prefer in enumerate(self._preferences(room)):
            sequences = Sequences(self._cells, counts, room, self._needed, prefer, self._bounds.steps)
            if not place and (short := sequences.why_none()) is not None:
                self._short = self._short or short
                self._fitting = max(self._fitting, at_once(self._cells, counts, room, self._needed))
                return
            for sequence, dealt in sequences:
                if dealt.tobytes() in seen:
                    break
                seen.add(dealt.tobytes())
                self._pack(cluster, going, sequence)
                if self._is_done(least):
                    return
                if self._best is not None and not self._small:
                    break
            self._fitting = max(self._fitting, min(sequences.deepest, int(self._needed.sum()) - 1))
            self._ended &= sequences.ended
            if not sequences.ended or not seen:
                return

    def _preferences(self, room: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """Near the plan that was refused; where it has left the most room; where there is the most if all go."""
        return self._wanted * 2**20 + np.minimum(self._roomy, 2**20), self._roomy, room

    def _capacity(self, gone: Int64s) -> Int64s:
        capacity = self._cells.capacity(Room(self._cells.cluster, gone))
        capacity[:, ~self._inside] = 0
        return capacity

    def _pack(self, cluster: Cluster, going: list[int], sequence: Sequence) -> None:
        """Let the kernel place the members inside of their cells, and keep the plan if it is the best one."""
        self._tries += 1
        cells = self._cells
        waiting = {
            number: [pod for pod in cells.cluster.preemptor.required if cells.kind_of[pod] == number]
            for number in {number for number, _ in sequence}
        }
        order = [(waiting[number].pop(0), cell) for number, cell in sequence]
        masks = {cell: cells.of == cell for _, cell in order}
        plan = self._search(cluster, going, {pod: masks[cell] for pod, cell in order})
        if plan is not None and (self._best is None or plan.cost < self._best.cost):
            self._best, self._going = plan, going

    def _search(self, cluster: Cluster, going: list[int], within: Mapping[int, Bools]) -> Obeying | None:
        """The cheapest plan for the members on these nodes [N], in this order; None if there is none."""
        bounds = self._bounds
        built = build(cluster, strict=bounds.strict, within=within, going=going)
        effort = bounds.effort // (BETTER if self._small else 3)
        found = search(built.problem, bounds.budget, effort, bounds.proves)
        found = bounded(found, cluster.preemptor.budgets)
        if found.winner < 0:
            return None
        nodes = required_nodes(built, found)
        # That no plan costs less is true of these cells, and not of the whole domain.
        found = replace(found, ended=False, lowest=False)
        return Obeying(cluster, built, found, [(pod, nodes[pod]) for pod in within])

    # ---- victims that the choice names, and that can stay

    def _spare(self, plan: Obeying) -> Obeying:
        """The plan without the units of the choice that can stay where they are, with the members on the same nodes.

        The kernel spares units that no condition counts. A choice is evicted whole, though it may
        need only some of its units.
        """
        gone = {pod for unit in plan.found.victims for pod in plan.built.units.members(unit)}
        left = [unit for unit in self._choices.among(self._going) if gone.issuperset(unit)]
        steps = Steps(SPARED * len(plan.placed))
        staying: list[int] = []
        while stays := next(
            (unit for unit in left if self._takes(plan.placed, gone.difference(unit), steps)), None
        ):
            left.remove(stays)
            gone.difference_update(stays)
            staying += stays
        if not staying:
            return plan
        going = [pod for unit in left for pod in unit]
        others = np.setdiff1d(self._choices.pods, np.array(going, np.int64))
        nodes = np.arange(len(self._cells.of))
        masks = {node: nodes == node for _, node in plan.placed}
        within = {pod: masks[node] for pod, node in plan.placed}
        return self._search(self._cells.cluster.only(self._domain, others), going, within) or plan

    def _takes(self, placed: Placed, gone: Iterable[int], steps: Steps) -> bool:
        """Whether every filter takes every member in this order with these pods gone. No, if the steps are spent."""
        room = Room(self._cells.cluster, gone)
        for pod, node in placed:
            if not steps.take() or not room.fits(pod, np.array([node]))[0]:
                return False
            room.place(pod, node)
        return True

    def _is_done(self, least: tuple[bool, list[int]]) -> bool:
        if self._best is not None:
            return self._tries >= BETTER or self._best.cost <= least
        most = TRIES if self._small else FEWER
        self._ended &= self._tries < most
        return self._tries >= most


def _pods(cells: Cells, sequence: Sequence, placed: Mapping[int, int]) -> Placed:
    waiting: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for pod, node in reversed(list(placed.items())):
        waiting.setdefault((cells.kind_of[pod], int(cells.of[node])), []).append((pod, node))
    return [waiting[move].pop() for move in sequence]
