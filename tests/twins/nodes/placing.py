"""KEP step 6, schedule and assume the preemptor: on the nodes that need the fewest and cheapest victims."""

from __future__ import annotations

from tests.twins.nodes.domain import Domain
from tests.twins.nodes.packing import Packer

__all__ = ["Placer"]

Cost = tuple[int, int, int, int]
"""Violations, sum of priorities, pods, minus the earliest start among the victims of the highest priority."""


class Placer:
    """Greedy: again and again the node that costs least per member. A unit that goes anyway costs nothing more.

    The answer of a success is in the packer's `answer`.
    """

    def __init__(self, domain: Domain, packer: Packer) -> None:
        self.domain = domain
        self.packer = packer
        self.needed: set[int] = set()
        self.evicted = [0] * len(domain.problem.allowed)

    def place(self, batches: bool, shared: bool) -> bool:
        """Place every member, in a domain whose possible victims are gone.

        `batches`: several members at once on a node, if that is cheaper for each. `shared`: a unit's cost is divided
        by the nodes it runs on, because its going frees room on all of them. False is a dead end, not a proof.
        """
        self.needed.clear()
        self.evicted = [0] * len(self.evicted)
        order = self.packer.hardest_first()
        if order is None:
            return False
        for shape in order:
            left = self.packer.counts[shape]
            while left:
                best: tuple[int, int, Cost] | None = None
                for node in range(self.domain.first, self.domain.end):
                    choice = self._best_batch(shape, node, left if batches else 1, shared)
                    if choice and (best is None or _cheaper(choice[1:], best[1:])):
                        best = choice
                if best is None:
                    self.domain.clear()
                    return False
                node, members, _ = best
                self._commit(shape, node, members)
                left -= members
        self.packer.keep()
        return True

    def _best_batch(self, shape: int, node: int, most: int, shared: bool) -> tuple[int, int, Cost] | None:
        best: tuple[int, int, Cost] | None = None
        for members in range(1, min(most, self.domain.capacity(shape, node)) + 1):
            choice = (node, members, self._cost(self._marginal(shape, node, members), shared))
            if best is None or _cheaper(choice[1:], best[1:]):
                best = choice
        return best

    def _marginal(self, shape: int, node: int, members: int) -> list[int]:
        """The units that would be evicted besides: those which cannot be put back on this node, looked at alone."""
        d, p = self.domain, self.domain.problem
        d.add(shape, node, members)
        before = list(d.room[node])
        here = p.node_piece[p.node_pieces[node] : p.node_pieces[node + 1]]
        open_ = [
            piece for piece in here if d.gone[p.piece_unit[piece]] and p.piece_unit[piece] not in self.needed
        ]
        strained = [piece for piece in open_ if self._strain(p.piece_unit[piece]) > 0]
        victims = []
        for piece in strained + [piece for piece in open_ if piece not in strained]:
            if d.keeps(node, piece):
                for r, held in enumerate(p.piece_room[piece]):
                    d.room[node][r] -= held
            else:
                victims.append(p.piece_unit[piece])
        d.room[node] = before
        d.add(shape, node, -members)
        return victims

    def _cost(self, victims: list[int], shared: bool) -> Cost:
        p = self.domain.problem
        violations = priorities = pods = age = 0
        highest = None
        for unit in victims:
            violations += self._strain(unit)
            self._evict(unit, 1)
            parts = p.unit_pieces[unit + 1] - p.unit_pieces[unit] if shared else 1
            priorities += (p.unit_priority[unit] + 2**31) // parts
            pods += p.unit_pods[unit]
            if highest is None or p.unit_priority[unit] > highest:
                highest, age = p.unit_priority[unit], -p.unit_start[unit]
            elif p.unit_priority[unit] == highest:
                age = max(age, -p.unit_start[unit])
        for unit in victims:
            self._evict(unit, -1)
        return violations, priorities, pods, age

    def _strain(self, unit: int) -> int:
        p = self.domain.problem
        grown = 0
        for k in range(p.unit_budgets[unit], p.unit_budgets[unit + 1]):
            over = self.evicted[p.budget[k]] - p.allowed[p.budget[k]]
            grown += max(0, over + p.budget_pods[k]) - max(0, over)
        return grown

    def _evict(self, unit: int, sign: int) -> None:
        p = self.domain.problem
        for k in range(p.unit_budgets[unit], p.unit_budgets[unit + 1]):
            self.evicted[p.budget[k]] += sign * p.budget_pods[k]

    def _commit(self, shape: int, node: int, members: int) -> None:
        for unit in self._marginal(shape, node, members):
            self.needed.add(unit)
            self._evict(unit, 1)
        self.domain.add(shape, node, members)


def _cheaper(one: tuple[int, Cost], other: tuple[int, Cost]) -> bool:
    """Per member, without fractions; then the later start, then more members at once."""
    (n, a), (m, b) = one, other
    return (*(cost * m for cost in a[:3]), a[3], -n) < (*(cost * n for cost in b[:3]), b[3], -m)
