"""The plain twin of `native.quota._quota`: who holds which quota, and whose is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.twins.quota import classical, fair
from tests.twins.quota.attempt import Outcome
from tests.twins.quota.holders import Holder
from tests.twins.quota.quotas import NO_CANDIDATES, PREEMPT, RECLAIM, Ask, Found, Quotas
from tests.twins.quota.tree import Tree

__all__ = ["Ledger"]

MOST: Final = 2**62 - 1
"""Of an FR, over all ClusterQueues."""

Key = tuple[int, int, int, int, bool]
"""What a holder is known by: ClusterQueue, priority, reserved, order, evicting."""


class Ledger:
    """Method for method the compiled one; see there."""

    def __init__(self, quotas: Quotas) -> None:
        self.tree = Tree(quotas)
        self.held: dict[Key, Holder] = {}

    def __len__(self) -> int:
        return len(self.held)

    def snapshot(self) -> Ledger:
        """An independent copy."""
        copy = object.__new__(Ledger)
        copy.tree, copy.held = self.tree.copy(), dict(self.held)
        return copy

    # ---- who holds what

    def admit(
        self,
        queue: int,
        holder: object,
        priority: int,
        reserved: int,
        queued: int,
        order: int,
        evicting: bool,
        frs: Sequence[int],
        amounts: Sequence[int],
    ) -> None:
        """Count a holder. Raises OverflowError with the FR if too much of it would be held, ValueError where it is."""
        key = (queue, priority, reserved, order, evicting)
        if key in self.held:
            raise ValueError(f"holder is there already: {key}")
        usage = dict(zip(frs, amounts, strict=True))
        for fr, amount in usage.items():
            if sum(each.usage.get(fr, 0) for each in self.held.values()) + amount > MOST:
                raise OverflowError(fr)
        self.held[key] = Holder(holder, queue, priority, reserved, queued, order, evicting, usage)
        self.tree.use(queue, usage)

    def release(self, queue: int, priority: int, reserved: int, order: int, evicting: bool) -> object:
        """Count a holder no longer, and return it. Raises KeyError."""
        gone = self.held.pop((queue, priority, reserved, order, evicting))
        self.tree.free(queue, gone.usage)
        return gone.who

    def holders(self, queue: int) -> list[object]:
        """In the order in which they would be preempted."""
        return [holder.who for holder in self._by_queue()[queue]]

    def _by_queue(self) -> dict[int, list[Holder]]:
        queues: dict[int, list[Holder]] = {queue: [] for queue in range(self.tree.queues)}
        for holder in sorted(self.held.values(), key=lambda each: each.key):
            queues[holder.queue].append(holder)
        return queues

    def reserve(self, queue: int, frs: Sequence[int], amounts: Sequence[int]) -> None:
        """Usage without a holder."""
        self.tree.use(queue, dict(zip(frs, amounts, strict=True)))

    def unreserve(self, queue: int, frs: Sequence[int], amounts: Sequence[int]) -> None:
        """Take back what was reserved."""
        self.tree.free(queue, dict(zip(frs, amounts, strict=True)))

    # ---- what there is

    def usage(self, node: int, fr: int) -> int:
        """Of a Cohort: what its children cannot keep to themselves."""
        return self.tree.usage[node][fr]

    def quota(self, node: int, fr: int) -> int:
        """The quota of its subtree, without what the nodes below do not lend."""
        return self.tree.subtree[node][fr]

    def potential(self, node: int, fr: int) -> int:
        """What the node could reach if nobody used anything."""
        return self.tree.potential(node, fr)

    def available(self, queue: int, fr: int) -> int:
        """What the ClusterQueue can take now, 0 or more."""
        return max(0, self.tree.available(queue, fr))

    def height(self, queue: int, fr: int, amount: int) -> tuple[int, bool]:
        """Of the smallest subtree whose quota suffices, and whether there is a larger one."""
        return self.tree.height(queue, fr, amount)

    def share(self, node: int) -> tuple[bool, float, float]:
        """Dominant resource share: borrowing at weight 0, ratio in thousandths, ratio over weight."""
        share = self.tree.share(node)
        return share.unbounded, share.ratio, share.weighted

    # ---- whose is taken

    def search(self, ask: Ask, strategies: tuple[int, ...] | None, trace: bool = False) -> Found:
        """Whose quota is taken; `strategies` are those of fair sharing, None is without."""
        outcome = self._find(ask, strategies)
        targets = [(holder.who, reason) for holder, reason in outcome.targets]
        return Found(targets, outcome.trace if trace else [])

    def _find(self, ask: Ask, strategies: tuple[int, ...] | None) -> Outcome:
        if strategies is None:
            return classical.search(self.tree, self._by_queue(), ask)
        return fair.search(self.tree, self._by_queue(), ask, strategies)

    def simulate(self, ask: Ask, strategies: tuple[int, ...] | None) -> tuple[int, int]:
        """For a single FR: what kind of preemption would do, and the height of the quota it then takes."""
        (fr,), (amount,) = ask.frs, ask.amounts
        going = [holder for holder, _ in self._find(ask, strategies).targets]
        after = self.tree.copy()
        for holder in going:
            after.free(holder.queue, holder.usage)
        height, _ = after.height(ask.queue, fr, amount)
        if not going:
            return NO_CANDIDATES, height
        return (PREEMPT if any(each.queue == ask.queue for each in going) else RECLAIM), height
