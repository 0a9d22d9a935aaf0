"""What others would evict: KEP-5710's algorithm to the letter, and the scheduler that preempts pod by pod.

Both work on the arrays of a problem (`native.nodes.problem`), and place members by first fit. They know no tokens,
because the clusters that they are measured on have none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

from native.nodes.problem import Problem

__all__ = ["Score", "kep", "scheduler"]

Score = tuple[int, int, int, int, int]
"""The first five columns of `native.nodes.problem.SCORE_COLUMNS`."""
WEIGHT = 2**31


class State:
    """One domain: the room on its nodes, with some units gone and some members placed."""

    def __init__(self, problem: Problem, domain: int) -> None:
        self.problem = problem
        self.nodes = range(int(problem.domains[domain]), int(problem.domains[domain + 1]))
        self.room: list[list[int]] = problem.free.tolist()
        self.requests: list[list[int]] = problem.requests.tolist()
        self.held: list[list[int]] = problem.piece_room.tolist()
        self.priority: list[int] = problem.unit_priority.tolist()
        self.start: list[int] = problem.unit_start.tolist()
        self.gone: set[int] = set()
        self.drawn = [0] * len(problem.allowed)
        here = problem.node_piece[
            problem.node_pieces[self.nodes.start] : problem.node_pieces[self.nodes.stop]
        ]
        self.units = sorted({int(problem.piece_unit[piece]) for piece in here})

    def pieces(self, unit: int) -> Iterable[tuple[int, list[int]]]:
        """The node and the requests of each piece in the domain."""
        p = self.problem
        for piece in range(int(p.unit_pieces[unit]), int(p.unit_pieces[unit + 1])):
            node = int(p.piece_node[piece])
            if node in self.nodes:
                yield node, self.held[piece]

    def on(self, node: int) -> list[int]:
        """The units with a piece on the node that are not gone, most important first."""
        p = self.problem
        pieces = p.node_piece[p.node_pieces[node] : p.node_pieces[node + 1]]
        return [unit for unit in p.piece_unit[pieces].tolist() if unit not in self.gone]

    def move(self, unit: int, sign: int) -> None:
        """The unit goes (1) or comes back (-1)."""
        p = self.problem
        (self.gone.add if sign > 0 else self.gone.remove)(unit)
        for node, held in self.pieces(unit):
            self.room[node] = [a + sign * b for a, b in zip(self.room[node], held, strict=True)]
        for k in range(int(p.unit_budgets[unit]), int(p.unit_budgets[unit + 1])):
            self.drawn[int(p.budget[k])] += sign * int(p.budget_pods[k])

    def can_stay(self, unit: int) -> bool:
        """Whether the unit could come back."""
        return all(
            b == 0 or a >= b
            for node, held in self.pieces(unit)
            for a, b in zip(self.room[node], held, strict=True)
        )

    def violations(self) -> int:
        """How many pods go beyond what the budgets allow."""
        return sum(max(0, a - b) for a, b in zip(self.drawn, self.problem.allowed.tolist(), strict=True))

    def spares(self, unit: int) -> bool:
        """Whether fewer budgets would be violated if the unit, which is gone, came back."""
        before = self.violations()
        self.move(unit, -1)
        after = self.violations()
        self.move(unit, 1)
        return after < before

    def reprieve(self, units: Iterable[int]) -> None:
        """Put back whoever can stay: those first that a budget protects, then the others in this order."""
        rest = [unit for unit in units if not (self.spares(unit) and self._put_back(unit))]
        for unit in rest:
            self._put_back(unit)

    def _put_back(self, unit: int) -> bool:
        if self.can_stay(unit):
            self.move(unit, -1)
            return True
        return False

    def fits(self, shape: int, node: int) -> bool:
        """Whether one more member of the shape has room on the node."""
        admitted = bool(self.problem.admitted[shape, node])
        pairs = zip(self.room[node], self.requests[shape], strict=True)
        return admitted and all(b == 0 or a >= b for a, b in pairs)

    def add(self, shape: int, node: int, members: int) -> None:
        """Place members, or take them away again."""
        asked = self.requests[shape]
        self.room[node] = [a - members * b for a, b in zip(self.room[node], asked, strict=True)]

    def place(self) -> list[tuple[int, int]] | None:
        """All members by first fit: the shape and the node of each. None if they do not fit."""
        placed: list[tuple[int, int]] = []
        for shape, count in enumerate(self.problem.counts.tolist()):
            left = count
            for node in self.nodes:
                while left and self.fits(shape, node):
                    self.add(shape, node, 1)
                    placed.append((shape, node))
                    left -= 1
            if left:
                self.clear(placed)
                return None
        return placed

    def clear(self, placed: Iterable[tuple[int, int]]) -> None:
        """Take these members away."""
        for shape, node in placed:
            self.add(shape, node, -1)

    def score(self) -> Score:
        """What it costs that these units are gone."""
        return (
            self.violations(),
            max(self.priority[unit] for unit in self.gone),
            sum(self.priority[unit] + WEIGHT for unit in self.gone),
            len(self.gone),
            sum(int(self.problem.unit_pods[unit]) for unit in self.gone),
        )


def kep(problem: Problem) -> Score | None:
    """The best domain by "Preemption algorithm", steps 1 to 7, with one placement and no improvement."""
    return _best(problem, _kep)


def _kep(state: State) -> Score | None:
    for unit in state.units:
        state.move(unit, 1)
    placed = state.place()
    if placed is None:
        return None
    stays = set()
    for unit in state.units:
        if state.spares(unit) and state.can_stay(unit):
            state.move(unit, -1)
            stays.add(unit)
    state.clear(placed)
    going = [unit for unit in state.units if unit not in stays]

    def place(cutoff: int) -> list[tuple[int, int]] | None:
        for unit in going:
            if (state.priority[unit] <= cutoff) != (unit in state.gone):
                state.move(unit, -1 if unit in state.gone else 1)
        return state.place()

    def places(cutoff: int) -> bool:
        placed = place(cutoff)
        state.clear(placed or ())
        return placed is not None

    priorities = sorted({state.priority[unit] for unit in going})
    lowest = bisect_left(priorities, True, key=places)
    if lowest == len(priorities) or place(priorities[lowest]) is None:
        return None
    state.reprieve([unit for unit in going if unit in state.gone])
    return state.score()


def scheduler(problem: Problem) -> Score | None:
    """The best domain by preemption pod by pod. A group that loses one pod counts as gone."""
    return _best(problem, _pod_by_pod)


def _pod_by_pod(state: State) -> Score | None:
    for shape, count in enumerate(state.problem.counts.tolist()):
        for _ in range(count):
            node = next((node for node in state.nodes if state.fits(shape, node)), None)
            if node is None:
                tried = [(each, node) for node in state.nodes if (each := _dry_run(state, shape, node))]
                if not tried:
                    return None
                (_, victims), node = min(tried)
                for unit in victims:
                    state.move(unit, 1)
            state.add(shape, node, 1)
    return state.score() if state.gone else None


def _dry_run(state: State, shape: int, node: int) -> tuple[tuple[int, ...], list[int]] | None:
    """The victims on the node for one member, with what the scheduler compares nodes by. None if it has no room."""
    there = state.on(node)
    for unit in there:
        state.move(unit, 1)
    if state.fits(shape, node):
        state.add(shape, node, 1)
        state.reprieve(there)
        state.add(shape, node, -1)
        victims = [unit for unit in there if unit in state.gone]
    else:
        victims = []
    violations = state.violations()
    for unit in there:
        if unit in state.gone:
            state.move(unit, -1)
    if not victims:
        return None
    highest = max(state.priority[unit] for unit in victims)
    latest = -min(state.start[unit] for unit in victims if state.priority[unit] == highest)
    total = sum(state.priority[unit] + WEIGHT for unit in victims)
    return (violations, highest, total, len(victims), latest, node), victims


def _best(problem: Problem, way: Callable[[State], Score | None]) -> Score | None:
    found = [way(State(problem, domain)) for domain in range(len(problem.domains) - 1)]
    return min((score for score in found if score is not None), default=None)
