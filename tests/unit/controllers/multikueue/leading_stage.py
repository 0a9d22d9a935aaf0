"""A manager that leads, with all that acts in one term."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from api.clock import SYSTEM_CLOCK
from controllers.multikueue.configuration import MultiKueueConfiguration
from controllers.multikueue.leading import Leading
from runtime.exchange.dispatch_reports import Dispatched, DispatchReports
from tests.kit.waiting import beside, until
from tests.unit.controllers.multikueue.dispatching_stage import WORKLOADS, Stage, condition

__all__ = ["BLOCKED", "GATED", "SETTINGS", "Manager"]

SETTINGS = MultiKueueConfiguration(origin="origin", non_preempting_window_seconds=0)
BLOCKED = condition("BlockedOnPreemptionGates")
GATED = condition("QuotaReserved", "False", "AdmissionGated", "it may not preempt yet")


class Manager(Stage):
    """A manager that leads."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names, clock=SYSTEM_CLOCK)
        self.reports = DispatchReports()
        self.leading = Leading(
            SETTINGS, self.mirrors, self.reports, self.client, self.identity, self.term, SYSTEM_CLOCK
        )

    @asynccontextmanager
    async def acting(self) -> AsyncIterator[None]:
        async with beside(self.leading.run(self.clusters, self.hooks, has_gates=True)):
            yield
        await self.leading.close()

    @property
    def report(self) -> Dispatched:
        return self.reports.of("uid-w") or Dispatched("")

    async def has_copies(self) -> None:
        await until(lambda: all(self.copy(name) for name in self.workers))

    async def chooses(self, cluster: str) -> None:
        """The quota controller writes what is reported."""
        await until(lambda: self.report.cluster == cluster)
        self.change("", WORKLOADS, "w", clusterName=cluster)
