"""The tree of ClusterQueues and Cohorts: quota, usage, and what is left of one by the other.

Kueue's resource nodes (hierarchical cohorts, KEP-79) and dominant resource share (fair sharing, KEP-1714).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.twins.quota.amounts import add, subtract
from tests.twins.quota.quotas import UNSET, Quotas

__all__ = ["Share", "Tree"]


@dataclass(frozen=True, slots=True)
class Share:
    """Dominant resource share of a node."""

    borrowing: bool
    ratio: float
    """Thousandths of what its parent could lend, of the resource with the highest such ratio."""
    weight: float

    @property
    def unbounded(self) -> bool:
        """Weight zero and borrowing: above whatever has a weight."""
        return self.borrowing and self.weight == 0

    @property
    def weighted(self) -> float:
        if self.unbounded:
            return math.inf
        return self.ratio / self.weight if self.ratio else 0.0

    @property
    def rank(self) -> tuple[bool, float]:
        """Shares compare as their ranks do."""
        return self.unbounded, self.ratio if self.unbounded else self.weighted


class Tree:
    """`usage[node][fr]`, and what follows of it."""

    def __init__(self, quotas: Quotas) -> None:
        self.queues = int(quotas.queues)
        self.parent: list[int] = quotas.parent.tolist()
        self.nominal: list[list[int]] = quotas.nominal.tolist()
        self.borrowing_limit: list[list[int]] = quotas.borrowing_limit.tolist()
        self.lending_limit: list[list[int]] = quotas.lending_limit.tolist()
        self.resource: list[int] = quotas.resource.tolist()
        self.weight: list[float] = quotas.weight.tolist()
        nodes, self.frs = range(len(self.parent)), range(len(self.resource))
        self.children = [[child for child in nodes if self.parent[child] == node] for node in nodes]
        self.defined: list[set[int]] = [set() for _ in nodes]
        """FRs that the node or one below it names."""
        self.subtree: list[list[int]] = [list(row) for row in self.nominal]
        self.usage: list[list[int]] = [[0] * len(self.frs) for _ in nodes]
        own: list[list[int]] = quotas.defined.tolist()
        for root in (node for node in nodes if self.is_root(node)):
            self._gather(root, own)

    def _gather(self, node: int, own: list[list[int]]) -> None:
        """The quota of a subtree: the node's own and what its children lend."""
        self.defined[node] |= {fr for fr in self.frs if own[node][fr]}
        for child in self.children[node]:
            self._gather(child, own)
            self.defined[node] |= self.defined[child]
            for fr in self.frs:
                lent = subtract(self.subtree[child][fr], self.local_quota(child, fr))
                self.subtree[node][fr] = add(self.subtree[node][fr], lent)

    def copy(self) -> Tree:
        """The same tree with usage of its own."""
        twin = object.__new__(Tree)
        twin.__dict__.update(self.__dict__)
        twin.usage = [list(row) for row in self.usage]
        return twin

    # ---- where a node stands

    def is_root(self, node: int) -> bool:
        return self.parent[node] < 0

    def is_queue(self, node: int) -> bool:
        return node < self.queues

    def ancestors(self, node: int) -> list[int]:
        """From its parent to the root."""
        above = []
        while not self.is_root(node):
            node = self.parent[node]
            above.append(node)
        return above

    def below(self, node: int) -> list[int]:
        """ClusterQueues in the subtree."""
        if self.is_queue(node):
            return [node]
        return [queue for child in self.children[node] for queue in self.below(child)]

    def depth_below(self, cohort: int) -> int:
        """Edges to the furthest leaf."""
        cohorts = [child for child in self.children[cohort] if not self.is_queue(child)]
        return max([min(len(self.children[cohort]), 1), *(self.depth_below(child) + 1 for child in cohorts)])

    # ---- quota

    def local_quota(self, node: int, fr: int) -> int:
        """What the node does not lend."""
        limit = self.lending_limit[node][fr]
        return 0 if limit == UNSET else max(0, subtract(self.subtree[node][fr], limit))

    def local_available(self, node: int, fr: int) -> int:
        """What is left of that."""
        return max(0, subtract(self.local_quota(node, fr), self.usage[node][fr]))

    def available(self, node: int, fr: int) -> int:
        """What is left for the node; less than zero where more is used than there is."""
        quota, usage = self.subtree[node][fr], self.usage[node][fr]
        if self.is_root(node):
            return subtract(quota, usage)
        above = self.available(self.parent[node], fr)
        limit = self.borrowing_limit[node][fr]
        if limit != UNSET:
            local = self.local_quota(node, fr)
            lent, used_of_it = subtract(quota, local), max(0, subtract(usage, local))
            above = min(above, add(subtract(lent, used_of_it), limit))
        return add(self.local_available(node, fr), above)

    def potential(self, node: int, fr: int) -> int:
        """What there would be for the node if nobody used anything."""
        quota = self.subtree[node][fr]
        if self.is_root(node):
            return quota
        most = add(self.local_quota(node, fr), self.potential(self.parent[node], fr))
        limit = self.borrowing_limit[node][fr]
        return most if limit == UNSET else min(most, add(quota, limit))

    def borrows(self, node: int, fr: int, more: int = 0) -> bool:
        """Whether the node would borrow if it used that much more."""
        return add(self.usage[node][fr], more) > self.subtree[node][fr]

    def within(self, node: int, frs: Iterable[int]) -> bool:
        """Whether the node borrows none of them."""
        return not any(self.borrows(node, fr) for fr in frs)

    def height(self, queue: int, fr: int, amount: int) -> tuple[int, bool]:
        """The height of the smallest subtree that has the quota, and whether it is smaller than the whole tree."""
        if self.is_root(queue) or not self.borrows(queue, fr, amount):
            return 0, not self.is_root(queue)
        missing = subtract(amount, self.local_available(queue, fr))
        above = self.ancestors(queue)
        for cohort in above:
            if not self.borrows(cohort, fr, missing):
                return self.depth_below(cohort), not self.is_root(cohort)
            missing = subtract(missing, self.local_available(cohort, fr))
        return self.depth_below(above[-1]), False

    def fits_quota(self, node: int, amounts: Mapping[int, int]) -> tuple[bool, dict[int, int]]:
        """Whether the node has the quota, and how much of it would be its parent's."""
        fits = not any(self.borrows(node, fr, amount) for fr, amount in amounts.items())
        missing = {
            fr: max(0, subtract(amount, self.local_available(node, fr))) for fr, amount in amounts.items()
        }
        return fits, missing

    # ---- usage

    def use(self, queue: int, amounts: Mapping[int, int]) -> None:
        """Count as used."""
        for fr, amount in amounts.items():
            self._use(queue, fr, amount)

    def free(self, queue: int, amounts: Mapping[int, int]) -> None:
        """Count as used no longer."""
        for fr, amount in amounts.items():
            self._free(queue, fr, amount)

    def _use(self, node: int, fr: int, amount: int) -> None:
        local = self.local_available(node, fr)
        self.usage[node][fr] = add(self.usage[node][fr], amount)
        if amount > local and not self.is_root(node):
            self._use(self.parent[node], fr, subtract(amount, local))

    def _free(self, node: int, fr: int, amount: int) -> None:
        of_parent = subtract(self.usage[node][fr], self.local_quota(node, fr))
        self.usage[node][fr] = subtract(self.usage[node][fr], amount)
        if of_parent > 0 and not self.is_root(node):
            self._free(self.parent[node], fr, min(amount, of_parent))

    # ---- fair sharing

    def share(self, node: int) -> Share:
        """A root borrows of nobody."""
        weight, borrowed = self.weight[node], self._borrowed(node)
        if not borrowed:
            return Share(False, 0.0, weight)
        ratio = 0.0
        for resource, amount in borrowed.items():
            lendable = self._lendable(self.parent[node], resource)
            if lendable > 0:
                ratio = max(ratio, float(amount) * 1000.0 / float(lendable))
        return Share(True, ratio, weight)

    def _borrowed(self, node: int) -> dict[int, int]:
        """By resource, over its flavors."""
        borrowed: dict[int, int] = {}
        if not self.is_root(node):
            for fr in self.defined[node]:
                amount = subtract(self.usage[node][fr], self.subtree[node][fr])
                if amount > 0:
                    resource = self.resource[fr]
                    borrowed[resource] = add(borrowed.get(resource, 0), amount)
        return borrowed

    def _lendable(self, node: int, resource: int) -> int:
        """What the node could lend of all flavors of the resource."""
        total = 0
        for fr in self.frs:
            if self.resource[fr] == resource:
                total = add(total, self.potential(node, fr))
        return total
