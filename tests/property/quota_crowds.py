"""Trees that are full: workloads were admitted as long as they fitted, and a bit beyond; now one more comes."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import strategies as st

from native.codes import ANY, LOWER_OR_NEWER, LOWER_PRIORITY, NEVER, UNSET
from native.quota.quotas import UNLIMITED, Ask, Quotas
from tests.property.quotas import Holder, Scene, admit
from tests.twins.quota.quota import Ledger

__all__ = ["crowds"]


def crowds(most: int = 60, single: bool = False) -> st.SearchStrategy[Scene]:
    """By seed: what hypothesis makes up step by step is seldom full."""
    return st.integers(0, 2**40).map(lambda seed: _Crowd(Random(seed), most, single).scene())


class _Crowd:
    def __init__(self, random: Random, most: int, single: bool) -> None:
        self.random = random
        self.most = most
        self.single = single
        self.size = max(1, most // 60)
        self.queues = random.randint(2, 7)
        self.cohorts = random.choice((0, 1, 2, 3, 4, 5))
        self.resource = random.choice(((0,), (0, 0), (0, 1), (0, 1, 0)))
        self.unit = random.choice((1, 1, 1, 1000, 2**30 + 1, 2**52))
        """Of all amounts."""
        self.limited, self.uneven, self.over = (
            random.random(),
            random.random(),
            random.choice((0.0, 0.0, 0.2)),
        )
        """How many have limits, and how many have no nominal quota; how often more is admitted than fits."""

    def scene(self) -> Scene:
        quotas = self._quotas()
        holders = self._holders(quotas)
        return Scene(quotas, holders, self._ask(quotas))

    # ---- the tree

    def _quotas(self) -> Quotas:
        nodes, width = self.queues + self.cohorts, len(self.resource)
        table = [[self._quota(node) for _ in range(width)] for node in range(nodes)]
        columns = np.array(table, object).reshape(nodes, width, 4)
        return Quotas(
            parent=np.array(self._parents(), np.int32),
            queues=self.queues,
            defined=columns[:, :, 0].astype(np.uint8),
            nominal=columns[:, :, 1].astype(np.int64),
            borrowing_limit=columns[:, :, 2].astype(np.int64),
            lending_limit=columns[:, :, 3].astype(np.int64),
            resource=np.array(self.resource, np.int32),
            weight=np.array([self.random.choice((1.0, 1.0, 1.0, 2.0, 0.3, 0.0)) for _ in range(nodes)]),
        )

    def _parents(self) -> list[int]:
        """Cohorts in any order of names, one above all of them."""
        names = self.random.sample(range(self.queues, self.queues + self.cohorts), self.cohorts)
        parent = [-1] * (self.queues + self.cohorts)
        for index, cohort in enumerate(names[1:], 1):
            parent[cohort] = self.random.choice(names[max(0, index - 2) : index])
        for queue in range(self.queues):
            if names and self.random.random() < 0.95:
                parent[queue] = self.random.choice(names)
        return parent

    def _quota(self, node: int) -> tuple[int, int, int, int]:
        """Defined, nominal, borrowing and lending limit."""
        if self.random.random() < 0.05:
            return 0, 0, UNSET, UNSET
        most = (12 if node < self.queues else 6) * self.size
        nominal = 0 if self.random.random() < self.uneven else self.random.randint(0, most) * self.unit
        if self.random.random() < 0.01:
            nominal = UNLIMITED
        return 1, nominal, self._limit(), self._limit()

    def _limit(self) -> int:
        return self.random.randint(0, 8) * self.unit if self.random.random() < self.limited * 0.4 else UNSET

    # ---- the workloads

    def _holders(self, quotas: Quotas) -> list[Holder]:
        ledger = Ledger(quotas)
        found: list[Holder] = []
        orders = self.random.sample(range(self.most), self.most)
        for order in orders:
            holder = self._holder(order)
            held = zip(holder.frs, holder.amounts, strict=True)
            fits = all(ledger.available(holder.queue, fr) >= amount for fr, amount in held)
            if fits or self.random.random() < self.over:
                admit(ledger, holder)
                found.append(holder)
        return found

    def _holder(self, order: int) -> Holder:
        width = len(self.resource)
        frs = self.random.sample(range(width), self.random.choice((width, self.random.randint(1, width))))
        return Holder(
            queue=self.random.randrange(self.queues),
            priority=self.random.choice((-1, 0, 0, 1, 1, 2)),
            reserved=self.random.randint(0, 20),
            queued=self.random.randint(0, 20),
            order=order,
            evicting=self.random.random() < 0.08,
            frs=tuple(frs),
            amounts=tuple(self._amount() for _ in frs),
        )

    def _amount(self) -> int:
        return self.random.choice((0, 1, 1, 1, 2, 2, 3)) * self.unit

    def _ask(self, quotas: Quotas) -> Ask:
        """For no more than there could be, often by the ClusterQueue that has the best claim to it."""
        queue, width = self.random.randrange(self.queues), len(self.resource)
        if self.random.random() < 0.5:
            queue = max(range(self.queues), key=lambda each: int(quotas.nominal[each].min()))
        count = 1 if self.single else self.random.randint(1, width)
        frs = self.random.sample(range(width), count)
        most = [min(8 * self.size, Ledger(quotas).potential(queue, fr) // self.unit) for fr in frs]
        amounts = [self.random.randint(1, max(1, units)) * self.unit for units in most]
        contested = [True, *(self.random.random() < 0.7 for _ in frs[1:])]
        if not self.single and contested[-1] and self.random.random() < 0.1:
            amounts[-1] = 0
        reclaim = self.random.choice((ANY, ANY, LOWER_PRIORITY, LOWER_PRIORITY, NEVER))
        return Ask(
            queue=queue,
            priority=self.random.choice((0, 1, 1, 2, 3)),
            queued=self.random.randint(0, 20),
            now=self.random.randint(20, 24),
            within=self.random.choice((LOWER_OR_NEWER, LOWER_OR_NEWER, LOWER_PRIORITY, NEVER)),
            reclaim=reclaim,
            borrow=reclaim != NEVER and self.random.random() < 0.5,
            threshold=self.random.choice((None, None, -1, 0, 1, 2)),
            min_admit=self.random.choice((None, None, 0, 5, 10, 15)),
            frs=tuple(frs),
            amounts=tuple(amounts),
            contested=tuple(contested),
            closed=tuple(
                each for each in range(self.queues) if each != queue and self.random.random() < 0.05
            ),
        )
