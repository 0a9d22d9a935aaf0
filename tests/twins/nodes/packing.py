"""Does the preemptor fit in the room there is, and where: exact, or EXHAUSTED."""

from __future__ import annotations

from collections.abc import Iterator

from tests.twins.nodes.domain import Domain

__all__ = ["FEASIBLE", "INFEASIBLE", "SPENT", "Packer"]

FEASIBLE = 1
INFEASIBLE = 0
SPENT = -1


class Packer:
    """Packs all required members into a domain; the answer of a success is in `answer[s][n]`."""

    def __init__(self, domain: Domain, budget: int) -> None:
        self.domain = domain
        self.counts = domain.problem.counts
        self.budget = budget
        self.steps = 0
        self.answer = [[0] * len(domain.problem.free) for _ in self.counts]

    def pack(self) -> int:
        """One shape: a sum. Several: first fit with the hardest first; where that fails, the table decides."""
        nodes = range(self.domain.first, self.domain.end)
        order = self.hardest_first()
        if order is None:
            return INFEASIBLE
        for shape in order:
            left = self.counts[shape]
            for node in nodes:
                members = min(left, self.domain.capacity(shape, node))
                if members:
                    self.domain.add(shape, node, members)
                    left -= members
            if left:
                self.domain.clear()
                return self._table()
        self.keep()
        return FEASIBLE

    def keep(self) -> None:
        """What is placed becomes the answer, and is forgotten."""
        nodes = slice(self.domain.first, self.domain.end)
        for shape, row in enumerate(self.domain.placed):
            self.answer[shape][nodes] = row[nodes]
        self.domain.clear()

    def hardest_first(self) -> list[int] | None:
        """Shapes by how often their members would find room; None if one does not fit even alone."""
        nodes = range(self.domain.first, self.domain.end)
        slack = []
        for shape, count in enumerate(self.counts):
            if count:
                places = sum(self.domain.capacity(shape, node) for node in nodes)
                if places < count:
                    return None
                slack.append((places * 1000 // count, shape))
        return [shape for _, shape in sorted(slack)]

    # ---- exact, for several shapes

    def _table(self) -> int:
        """Node by node, for each way to have placed the rarer shapes: the most members of the commonest beside them.

        A leader with equal workers has two such ways and never spends the budget.
        """
        shapes = sorted((count, shape) for shape, count in enumerate(self.counts) if count)
        most, last = shapes.pop()
        strides, cells = [], 1
        for count, shape in shapes:
            strides.append((shape, count, cells))
            cells *= count + 1
            if cells > 2 and cells > self.budget:
                return SPENT
        if cells > 2 and cells * (self.domain.end - self.domain.first) > self.budget:
            return SPENT
        table = [-1] * cells
        table[0] = 0
        choices: list[list[int]] = []
        spent = 0
        for node in range(self.domain.first, self.domain.end):
            grown, choice = [-1] * cells, [0] * cells
            for offset in self._packings(node, strides, 0):
                spent += cells
                self.steps += cells
                if cells > 2 and spent > self.budget:
                    self.domain.clear()
                    return SPENT
                members = self.domain.capacity(last, node)
                for cell in range(offset, cells):
                    if table[cell - offset] >= 0 and _contains(cell, offset, strides):
                        value = min(most, table[cell - offset] + members)
                        if value > grown[cell]:
                            grown[cell], choice[cell] = value, offset
            table = grown
            choices.append(choice)
            if table[-1] == most:
                self._trace(choices, strides, last, most)
                return FEASIBLE
        return INFEASIBLE

    def _packings(self, node: int, strides: list[tuple[int, int, int]], depth: int) -> Iterator[int]:
        """Every way to place members of the rarer shapes on one node, as an offset into the table."""
        if depth == len(strides):
            yield 0
            return
        shape, count, stride = strides[depth]
        for members in range(min(count, self.domain.capacity(shape, node)) + 1):
            self.domain.add(shape, node, members)
            for offset in self._packings(node, strides, depth + 1):
                yield offset + members * stride
            self.domain.add(shape, node, -members)

    def _trace(
        self, choices: list[list[int]], strides: list[tuple[int, int, int]], last: int, most: int
    ) -> None:
        """Walk back from the full cell and place what each node was given."""
        cell, left = len(choices[-1]) - 1, most
        for back, choice in enumerate(reversed(choices)):
            node = self.domain.first + len(choices) - 1 - back
            for shape, count, stride in strides:
                members = choice[cell] // stride % (count + 1)
                if members:
                    self.domain.add(shape, node, members)
            members = min(left, self.domain.capacity(last, node))
            if members:
                self.domain.add(last, node, members)
            left -= members
            cell -= choice[cell]
        self.keep()


def _contains(cell: int, offset: int, strides: list[tuple[int, int, int]]) -> bool:
    return all(cell // stride % (count + 1) >= offset // stride % (count + 1) for _, count, stride in strides)
