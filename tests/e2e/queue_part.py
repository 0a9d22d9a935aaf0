"""The part of the quota plane that keeps queues: statuses and finalizers, and nobody who admits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK
from controllers.checks.controller import CheckController
from controllers.quota.queues.finalizers import QueueFinalizers
from controllers.quota.queues.queue_statuses import QueueStatuses, QueueViews
from hack.controlplane.plane import ControlPlane
from kube.reflector import Timing
from kube.sender import Sender
from quota.state.state import QuotaState
from quota.state.statuses import Tally
from quota.state.workloads import holds_quota
from runtime.mirror.views import Views
from runtime.mirror.watched_quota import WatchedQuota
from runtime.terms.term import Term
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.connected import connected

__all__ = ["Walking", "keeping_queues"]

TIMING = Timing(backoff=Backoff(0.1, 0.5), refused=Backoff(0.3, 0.3))


@dataclass
class Walking:
    """Counts by walking over all Workloads. Each one that holds no quota waits."""

    state: QuotaState

    def counts(self, cluster_queue: str) -> tuple[int, int]:
        """See `Pending`."""
        locals_ = self.state.local_queues.items()
        return sum(
            self.local_counts(key)[0] for key, each in locals_ if each.spec.cluster_queue == cluster_queue
        ), 0

    def local_counts(self, local_queue: str) -> tuple[int, int]:
        """See `Pending`."""
        return sum(
            f"{each.metadata.namespace}/{each.spec.queue_name}" == local_queue and not holds_quota(each)
            for each in self.state.workloads.values()
        ), 0


@asynccontextmanager
async def keeping_queues(plane: ControlPlane, *, fair_sharing: bool = False) -> AsyncIterator[QuotaState]:
    """The part runs inside."""
    async with connected(plane.kubeconfig) as client:
        views = Views(client, timing=TIMING)
        watched = WatchedQuota(views)
        state = watched.state
        checks = CheckController(client, views)
        holder: list[QueueViews] = []
        tally = Tally(lambda kind, key: holder[0].changes.changed(kind, key))
        watched.on_workload(lambda key, _, after: tally.remove(key) if after is None else tally.put(after))
        holder.append(QueueViews(views))
        sender, term = Sender(client), Term(1, SYSTEM_CLOCK)
        statuses = QueueStatuses(
            state, tally, Walking(state), holder[0], sender, SYSTEM_CLOCK, fair_sharing=fair_sharing
        )
        finalizers = QueueFinalizers(state, tally, holder[0].changes, sender)
        tasks = [asyncio.create_task(views.run())]
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.gather(*(view.wait_synced() for view in views))
            tasks += [
                asyncio.create_task(run) for run in (statuses.run(), finalizers.run(), checks.lead(term))
            ]
            yield state
        finally:
            failed = [task for task in tasks if task.done()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert not failed, failed
