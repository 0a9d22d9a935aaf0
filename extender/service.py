"""`reprieve serve`: the parts put together, and run until told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from api.core import Pod
from cluster.client import ApiClient
from cluster.failpoints import failpoint
from cluster.mirror import Mirror
from cluster.writer import Writer
from extender.backoff import Backoff
from extender.configuration import Configuration
from extender.events import Reporter
from extender.evictor import Evictor
from extender.gangs import Gangs
from extender.planner import Hands, Planner, Planning
from extender.plans import PlanStore
from extender.release import Waker
from extender.reservations import Ledger
from extender.roster import Roster
from extender.server import Check, extender_app, ops_app, serving
from extender.verbs import Verbs
from extender.world import LiveWorld

__all__ = ["run"]

log = structlog.get_logger(__name__)


class Service:
    """One process: a mirror, a planner that acts on it, and the verbs that answer from both.

    A later issue puts a Lease before the planner: until then there is one replica, and it is always the leader.
    """

    def __init__(self, configuration: Configuration, client: ApiClient, executor: ThreadPoolExecutor) -> None:
        planning = configuration.planning
        loop_time = asyncio.get_running_loop().time
        self._max_age = planning.max_watch_age_seconds
        self.mirror = Mirror(client)
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
        return all(check() is None for check in self.checks().values())

    def checks(self) -> dict[str, Check]:
        """The readiness checks."""
        return {"synced": self._unsynced, "watch-age": self._too_old, "plans": self._not_resumed}

    def _unsynced(self) -> str | None:
        return None if self.mirror.synced else "the mirror has not seen the whole cluster yet"

    def _too_old(self) -> str | None:
        age = self.mirror.age()
        return None if age <= self._max_age else f"no word from the API server for {age:.0f} s"

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


@asynccontextmanager
async def _background(
    coroutine: Coroutine[None, None, None], name: str, stop: asyncio.Event
) -> AsyncIterator[None]:
    """Run beside; its end, by whatever cause, stops the process."""
    task = asyncio.create_task(coroutine, name=name)
    task.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            log.error("a part of the service failed", part=name, error=repr(error))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def run(configuration: Configuration) -> None:
    """Serve until SIGTERM or SIGINT. Raises what the configuration or the listeners find wrong."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    async with AsyncExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="search"))
        client = await stack.enter_async_context(ApiClient.connect(configuration.kubeconfig))
        service = Service(configuration, client, executor)
        stack.push_async_callback(service.writer.close)
        await stack.enter_async_context(serving(ops_app(service.checks()), configuration.ops))
        await stack.enter_async_context(
            serving(
                extender_app(service.verbs, configuration.extender, failpoint),
                configuration.extender,
                configuration.extender.tls,
            )
        )
        await stack.enter_async_context(_background(service.mirror.run(), "mirror", stop))
        await stack.enter_async_context(_background(service.planner.run(), "planner", stop))
        await stop.wait()
        log.info("stopping")
