"""One attempt: workloads are taken one by one until the preemptor fits, then put back where they need not go."""

from __future__ import annotations

from dataclasses import dataclass

from tests.twins.quota.holders import Holder, asked
from tests.twins.quota.quotas import PUT_BACK, TAKEN, Ask
from tests.twins.quota.tree import Tree

__all__ = ["Attempt", "Outcome", "Step"]

Step = tuple[int, bool, object, int]
"""Attempt, whether it may borrow, holder, what became of it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The victims, each with the reason; none where it cannot be done."""

    targets: list[tuple[Holder, int]]
    trace: list[Step]


class Attempt:
    """A tree of its own, without what the targets use."""

    def __init__(self, tree: Tree, ask: Ask, borrowing: bool, number: int = 0) -> None:
        self.tree = tree.copy()
        self.ask = ask
        self.amounts = asked(ask)
        self.borrowing = borrowing
        self.number = number
        self.targets: list[tuple[Holder, int]] = []
        self.trace: list[Step] = []

    def note(self, holder: Holder, step: int) -> None:
        """What became of a candidate."""
        self.trace.append((self.number, self.borrowing, holder.who, step))

    def take(self, holder: Holder, reason: int) -> None:
        """The workload goes with all it uses."""
        self.tree.free(holder.queue, holder.usage)
        self.targets.append((holder, reason))
        self.note(holder, TAKEN)

    def fits(self) -> bool:
        """Whether the preemptor finds what it asks for, within the nominal quota if it may not borrow."""
        queue = self.ask.queue
        for fr, amount in self.amounts.items():
            if not self.borrowing and self.tree.borrows(queue, fr, amount):
                return False
            if amount > self.tree.available(queue, fr):
                return False
        return True

    def fill_back(self) -> None:
        """Latest first, but not the one that made it fit.

        The last target fills the gap of one that is put back. What is moved so has been looked at.
        """
        for i in reversed(range(len(self.targets) - 1)):
            holder, _ = self.targets[i]
            self.tree.use(holder.queue, holder.usage)
            if self.fits():
                self.note(holder, PUT_BACK)
                self.targets[i] = self.targets[-1]
                self.targets.pop()
            else:
                self.tree.free(holder.queue, holder.usage)
