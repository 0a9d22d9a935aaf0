"""The extender as a service: the parts put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from api.core import Pod
from controllers.gangs.backoff import Backoff
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.events import Reporter
from controllers.gangs.evictor import Evictor
from controllers.gangs.gangs import Gangs
from controllers.gangs.planner import Hands, Planner, Planning
from controllers.gangs.plans import PlanStore
from controllers.gangs.release import Waker
from controllers.gangs.reservations import Ledger
from controllers.gangs.roster import Roster
from controllers.gangs.writer import Writer
from extender.configuration import ExtenderConfiguration
from extender.server import extender_app
from extender.tls import ExtenderTLS
from extender.verbs import Verbs
from extender.world import LiveWorld
from kube.client import ApiClient
from runtime.failpoints import failpoint
from runtime.readiness import not_synced, too_old
from runtime.views import Views
from runtime.watched_tables import WatchedTables
from serving.listeners import serving
from serving.ops import Check

__all__ = ["Service"]


class Service:
    """One process: a mirror, a planner that acts on it, and the verbs that answer from both.

    A later issue puts a Lease before the planner: until then there is one replica, and it is always the leader.
    """

    def __init__(
        self,
        configuration: ExtenderConfiguration,
        planning: PlanningConfiguration,
        client: ApiClient,
        views: Views,
        executor: ThreadPoolExecutor,
    ) -> None:
        self._configuration = configuration
        self._tls = ExtenderTLS(configuration.tls) if configuration.tls else None
        loop_time = asyncio.get_running_loop().time
        self.mirror = WatchedTables(views)
        self._not_synced = not_synced(self.mirror.views)
        self._too_old = too_old(self.mirror.views, planning.max_watch_age_seconds)
        self.writer = Writer(client)
        roster = Roster(self.mirror.tables)
        gangs = Gangs(roster, lambda: Backoff(planning.backoff_initial_seconds, planning.backoff_max_seconds))
        self._ledger = Ledger(loop_time)
        reporter = Reporter(self.writer, roster)
        self._waker = Waker(self.writer, roster)
        hands = Hands(
            PlanStore(self.writer, kept=planning.kept_plans_per_preemptor),
            Evictor(self.writer, roster, reporter),
            self._waker,
            reporter,
        )
        bounds = Planning(planning.search_budget, planning.plan_deadline_seconds)
        self.planner = Planner(self.mirror, roster, gangs, self._ledger, hands, executor, bounds)
        self.planner.now = loop_time
        self.planner.ready = self.is_ready
        self.world = LiveWorld(roster, gangs, self._waker, reporter, self.is_ready, self.planner.nudge)
        self.world.now = loop_time
        self.verbs = Verbs(self.world, self._ledger)
        self.mirror.on_pod(self._pod_changed)

    def is_ready(self) -> bool:
        """Whether the mirror may be trusted."""
        return all(check() is None for check in self._trust().values())

    def checks(self) -> dict[str, Check]:
        """The readiness checks."""
        return {**self._trust(), **({"extender-certificate": self._tls.fault} if self._tls else {})}

    def _trust(self) -> dict[str, Check]:
        return {"synced": self._not_synced, "watch-age": self._too_old, "plans": self._not_resumed}

    def tasks(self) -> dict[str, Coroutine[Any, Any, None]]:
        """The planner, and who looks after certificates."""
        return {"planner": self.planner.run(), **(self._tls.tasks() if self._tls else {})}

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """The verbs are answered while the context lasts; what waits to be written is, at its end."""
        app = extender_app(self.verbs, self._configuration, failpoint)
        if self._tls is not None:
            await self._tls.load()
        try:
            async with serving(app, self._configuration, self._tls.context if self._tls else None):
                yield
        finally:
            await self.writer.close()

    def _not_resumed(self) -> str | None:
        return None if self.planner.resumed else "plans of a former process are not loaded yet"

    def _pod_changed(self, uid: str, pod: Pod | None) -> None:
        """Keep the reservations and the list of held pods in step with the mirror."""
        if pod is None or pod.metadata.deletion_timestamp:
            self._ledger.left(uid)
            self._waker.forget(uid)
        elif pod.spec.node_name:
            self._ledger.bound(uid)
            self._waker.forget(uid)
        else:
            self._waker.recall(pod)
