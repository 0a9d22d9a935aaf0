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
        """First bounds, then some orders of the shapes, then all packings as far as the budget goes."""
        order = self.hardest_first()
        if order is None:
            return INFEASIBLE
        if self._fit(order, tightest=False):
            return FEASIBLE
        if len(order) > 1:
            volume, wanted = self._volume(), self._wanted()
            if any(a > b for a, b in zip(wanted, volume, strict=True)):
                return INFEASIBLE
            order.sort(key=lambda shape: -self._share(shape, volume))
            if self._fit(order, tightest=False) or self._fit(order, tightest=True):
                return FEASIBLE
        return self._table()

    def _fit(self, order: list[int], tightest: bool) -> bool:
        """Shape after shape: node after node, or always the node with room for the fewest members."""
        for shape in order:
            left = self.counts[shape]
            while left:
                nodes = range(self.domain.first, self.domain.end)
                room = [(self.domain.capacity(shape, node), node) for node in nodes]
                found = [(members if tightest else 0, node, members) for members, node in room if members]
                if not found:
                    self.domain.clear()
                    return False
                _, node, members = min(found)
                self.domain.add(shape, node, min(left, members))
                left -= min(left, members)
        self.keep()
        return True

    def _volume(self) -> list[int]:
        """The free room in sum, by resource."""
        rooms = self.domain.room[self.domain.first : self.domain.end]
        return [sum(max(0, room[r]) for room in rooms) for r in range(len(self.domain.problem.requests[0]))]

    def _wanted(self) -> list[int]:
        """What all members request together, by resource."""
        requests = self.domain.problem.requests
        return [
            sum(n * each[r] for n, each in zip(self.counts, requests, strict=True))
            for r in range(len(requests[0]))
        ]

    def _share(self, shape: int, volume: list[int]) -> int:
        """The largest share of a resource, in millionths, that one member takes of all that is free."""
        request = self.domain.problem.requests[shape]
        return max(a * 10**6 // max(1, b) for a, b in zip(request, volume, strict=True))

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
