"""The manager of several clusters: follows Workloads in every process, and acts while it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.core import Namespace
from controllers.multikueue.acting.identity import Identity
from controllers.multikueue.acting.mirrors import Mirrors
from controllers.multikueue.clusters.clusters import Clusters
from controllers.multikueue.clusters.connecting import Shared
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.clusters.known import Known
from controllers.multikueue.configuration import MultiKueueConfiguration
from controllers.multikueue.leading import Leading
from controllers.multikueue.metrics import export
from kube.client import ApiClient
from kube.errors import ApiError
from kube.retry import Retry
from runtime.exchange.dispatch_reports import DispatchReports
from runtime.mirror.freshness import catch_up
from runtime.mirror.readiness import not_synced
from runtime.mirror.views import Views
from runtime.terms.term import Term
from serving.ops import Check

__all__ = ["MultiKueueController"]

log = structlog.get_logger(__name__)

BACKOFF: Final = Backoff(0.2, 5.0)
IDENTITY: Final = "/api/v1/namespaces/kube-system"


class MultiKueueController:
    """What every process knows is made here. What acts is made in `lead` and ends with it (`Leading`, `Clusters`)."""

    name: Final = "multikueue"

    def __init__(
        self,
        settings: MultiKueueConfiguration,
        client: ApiClient,
        views: Views,
        reports: DispatchReports,
        clock: Clock,
        *,
        has_gates: bool,
    ) -> None:
        """`reports`: where the quota controller learns what holds of Workloads. `has_gates`: the feature gate
        MultiKueueOrchestratedPreemption."""
        export()
        self._settings, self._client, self._reports, self._clock = settings, client, reports, clock
        self._has_gates = has_gates
        reports.is_served = True
        self._mirrors = Mirrors(views)
        self._known = Known(settings.namespace, views)
        self._views = (*self._mirrors.views, *self._known.views)
        self._not_synced = not_synced(self._views)

    def checks(self) -> Mapping[str, Check]:
        """See `runtime.terms.controller.Controller`."""
        return {"multikueue-synced": self._not_synced}

    async def lead(self, term: Term) -> None:
        """See `runtime.terms.controller.Controller`."""
        await asyncio.gather(*(view.wait_synced() for view in self._views))
        await catch_up(self._client, self._views, term.began, self._clock)
        manager = await self._manager()
        hooks = Hooks()
        shared = Shared(self._settings, manager, term, self._clock, hooks)
        clusters = Clusters(self._known, self._client, shared)
        leading = Leading(
            self._settings,
            self._mirrors,
            self._reports,
            self._client,
            Identity.of(manager, self._settings, term),
            term,
            self._clock,
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(clusters.run(), name="worker clusters")
                tasks.create_task(leading.run(clusters, hooks, has_gates=self._has_gates), name="dispatching")
        finally:
            await leading.close()

    async def _manager(self) -> str:
        """The UID of kube-system: it names this cluster. Faults of the API server are outlasted."""
        retry = Retry(BACKOFF)
        while True:
            try:
                body = await self._client.request("GET", IDENTITY)
                return msgspec.json.decode(body, type=Namespace).metadata.uid
            except ApiError as error:
                wait = retry.failed(error)
                log.warning("the own cluster is not known", error=str(error), wait=round(wait, 2))
                await asyncio.sleep(wait)
