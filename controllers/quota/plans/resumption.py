"""The begin and the end of pauses: plans are looked at, and whoever was held back is decided about anew."""

from __future__ import annotations

from collections.abc import Callable, Collection

from controllers.quota.plans.plans import QuotaPlans
from runtime.mirror.pauses import Pauses

__all__ = ["Resumption"]


class Resumption:
    """Made for one term."""

    def __init__(
        self,
        pauses: Pauses,
        plans: QuotaPlans,
        queues: Callable[[], Collection[str]],
        freed: Callable[[str], None],
        again: Callable[[], None],
    ) -> None:
        """`queues`: all ClusterQueues. `freed`: those who wait for quota of the ClusterQueue are tried again.

        `again`: have the Workloads looked at that were admitted beyond the quota.
        """
        self._pauses, self._plans = pauses, plans
        self._queues, self._freed, self._again = queues, freed, again
        self._seen = pauses.state

    async def run(self) -> None:
        """Follow the pauses until cancelled."""
        while True:
            self.step()
            await self._pauses.changed()

    def step(self) -> None:
        """Do what follows if a pause has begun, changed or ended. One that was shorter than a look counts."""
        before, self._seen = self._seen, self._pauses.state
        if before == self._seen:
            return
        self._plans.look_at_all()
        self._again()
        for queue in self._queues():
            self._freed(queue)
