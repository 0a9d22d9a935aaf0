"""One domain: the room on its nodes, given who is gone and which members are placed."""

from __future__ import annotations

from tests.twins.nodes.problem import Problem

__all__ = ["Domain", "Score"]

Score = tuple[int, ...]
"""Violations, highest priority, sum of priorities (each plus 2**31), units, pods, minus the earliest start, and the
optional terms."""


class Domain:
    """`room[n]` is what is left on node n once the units in `gone` are gone and the members in `placed` are there.

    `held[n][t]` is then how many pods and members on node n bring token t.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.room = [list(row) for row in problem.free]
        self.held = [list(row) for row in problem.held]
        self.gone = [False] * len(problem.unit_priority)
        self.placed = [[0] * len(problem.free) for _ in problem.requests]
        self.evicted = [0] * len(problem.allowed)
        self.violations = 0
        self.index = self.first = self.end = 0
        self.units: list[int] = []
        self.pieces = 0

    def enter(self, index: int) -> None:
        """KEP step 1: the potential victims are the units with a pod on the domain's nodes."""
        p = self.problem
        self.index = index
        self.first, self.end = p.domains[index], p.domains[index + 1]
        here = p.node_piece[p.node_pieces[self.first] : p.node_pieces[self.end]]
        self.pieces = len(here)
        self.units = sorted({p.piece_unit[piece] for piece in here})

    def leave(self) -> None:
        """As it was before `enter`."""
        self.clear()
        for unit in self.units:
            if self.gone[unit]:
                self.put_back(unit)

    # ---- units

    def pieces_of(self, unit: int) -> list[int]:
        """The unit's pieces in this domain."""
        p = self.problem
        every = range(p.unit_pieces[unit], p.unit_pieces[unit + 1])
        return [piece for piece in every if self.first <= p.piece_node[piece] < self.end]

    def take(self, unit: int) -> None:
        """The unit goes."""
        self._move(unit, 1)
        self.gone[unit] = True

    def put_back(self, unit: int) -> None:
        """The unit stays where it runs."""
        self._move(unit, -1)
        self.gone[unit] = False

    def _move(self, unit: int, sign: int) -> None:
        p = self.problem
        for piece in self.pieces_of(unit):
            room = self.room[p.piece_node[piece]]
            for r, held in enumerate(p.piece_room[piece]):
                room[r] += sign * held
            for token, pods in self.tokens_of(piece):
                self.held[p.piece_node[piece]][token] -= sign * pods
        for k in range(p.unit_budgets[unit], p.unit_budgets[unit + 1]):
            self.violations += self._count(k, sign)

    def _count(self, k: int, sign: int) -> int:
        budget, pods = self.problem.budget[k], self.problem.budget_pods[k]
        before = max(0, self.evicted[budget] - self.problem.allowed[budget])
        self.evicted[budget] += sign * pods
        return max(0, self.evicted[budget] - self.problem.allowed[budget]) - before

    def strain(self, unit: int, sign: int) -> int:
        """By how much the violations would grow if the unit went too (1), or shrink if it stayed (-1)."""
        p = self.problem
        grown = 0
        for k in range(p.unit_budgets[unit], p.unit_budgets[unit + 1]):
            over = self.evicted[p.budget[k]] - p.allowed[p.budget[k]]
            grown += max(0, over + sign * p.budget_pods[k]) - max(0, over)
        return sign * grown

    def can_stay(self, unit: int) -> bool:
        """Whether a unit that is gone could be put back without taking room from a placed member."""
        p = self.problem
        return all(self.keeps(p.piece_node[piece], piece) for piece in self.pieces_of(unit))

    def keeps(self, node: int, piece: int) -> bool:
        """Whether the piece could be put back; only what a member there requests can be short, or forbids be there."""
        room, held = self.room[node], self.problem.piece_room[piece]
        forbidden = {
            token
            for shape, row in enumerate(self.placed)
            if row[node] > 0
            for token, forbids in enumerate(self.problem.forbids[shape])
            if forbids
        }
        if any(token in forbidden for token, _ in self.tokens_of(piece)):
            return False
        return all(room[r] >= held[r] or not self.asked(node, r) for r in range(len(held)) if held[r] > 0)

    def tokens_of(self, piece: int) -> list[tuple[int, int]]:
        """The tokens that the piece brings to its node, and how many of its pods bring each."""
        p = self.problem
        part = slice(p.piece_tokens[piece], p.piece_tokens[piece + 1])
        return list(zip(p.token[part], p.token_pods[part], strict=True))

    # ---- members

    def asked(self, node: int, resource: int) -> bool:
        """Whether a member placed on the node requests the resource."""
        requests = self.problem.requests
        return any(requests[s][resource] > 0 and row[node] > 0 for s, row in enumerate(self.placed))

    def capacity(self, shape: int, node: int) -> int:
        """How many more members of the shape the node takes."""
        if not self.problem.admitted[shape][node] or self.kept_off(shape, node):
            return 0
        room, request = self.room[node], self.problem.requests[shape]
        most = max(0, min(room[r] // request[r] for r in range(len(request)) if request[r] > 0))
        return min(most, 1) if self.are_apart(shape, shape) else most

    def kept_off(self, shape: int, node: int) -> bool:
        """Whether a pod that is there brings what a member forbids, or a member there forbids what it brings."""
        forbids = self.problem.forbids[shape]
        return any(forbids[token] and held > 0 for token, held in enumerate(self.held[node])) or any(
            row[node] > 0 and self.are_apart(shape, other) for other, row in enumerate(self.placed)
        )

    def are_apart(self, shape: int, other: int) -> bool:
        """Whether members of the two shapes cannot share a node."""
        p = self.problem
        return any(
            (p.forbids[shape][token] and p.brings[other][token])
            or (p.forbids[other][token] and p.brings[shape][token])
            for token in range(len(p.forbids[shape]))
        )

    def add(self, shape: int, node: int, members: int) -> None:
        """Assume (or, with a negative number, forget) members on the node."""
        self.placed[shape][node] += members
        for r, request in enumerate(self.problem.requests[shape]):
            self.room[node][r] -= members * request
        for token, brings in enumerate(self.problem.brings[shape]):
            self.held[node][token] += members * brings

    def assume(self, placement: list[list[int]]) -> None:
        """Assume the whole preemptor."""
        for shape, row in enumerate(placement):
            for node in range(self.first, self.end):
                if row[node]:
                    self.add(shape, node, row[node])

    def clear(self) -> None:
        """Forget every member."""
        for shape, row in enumerate(self.placed):
            for node in range(self.first, self.end):
                if row[node]:
                    self.add(shape, node, -row[node])

    # ---- what it costs

    def score(self, victims: list[int]) -> Score:
        """What evicting these units costs; `victims` come most important first."""
        p = self.problem
        evicted: dict[int, int] = {}
        for unit in victims:
            for k in range(p.unit_budgets[unit], p.unit_budgets[unit + 1]):
                evicted[p.budget[k]] = evicted.get(p.budget[k], 0) + p.budget_pods[k]
        highest = p.unit_priority[victims[0]]
        return (
            sum(max(0, pods - p.allowed[budget]) for budget, pods in evicted.items()),
            highest,
            sum(p.unit_priority[unit] + 2**31 for unit in victims),
            len(victims),
            sum(p.unit_pods[unit] for unit in victims),
            -min(p.unit_start[unit] for unit in victims if p.unit_priority[unit] == highest),
            *(domain[self.index] + sum(unit[each] for each in victims) for unit, domain in self.terms()),
        )

    def terms(self) -> list[tuple[list[int], list[int]]]:
        """For each optional term, what each unit and what each domain adds to it."""
        return list(zip(self.problem.unit_terms, self.problem.domain_terms, strict=True))
