"""All that acts in one term of the manager of several clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from api.clock import Clock
from api.workloads import Workload
from controllers.multikueue.acting.deciding import Deciding
from controllers.multikueue.acting.garbage import collect
from controllers.multikueue.acting.gates import OpenGates
from controllers.multikueue.acting.gathering import Gathering
from controllers.multikueue.acting.here import ActsHere
from controllers.multikueue.acting.identity import Identity, life_settings
from controllers.multikueue.acting.mirrors import Mirrors
from controllers.multikueue.acting.originals import Originals
from controllers.multikueue.acting.places import Place
from controllers.multikueue.acting.retiring import retire
from controllers.multikueue.acting.shown import EVERY_SECONDS
from controllers.multikueue.acting.telling import Telling
from controllers.multikueue.acting.there import ActsThere
from controllers.multikueue.acting.waiting import measure
from controllers.multikueue.clusters.clusters import Clusters
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.configuration import MultiKueueConfiguration
from controllers.multikueue.life.decision import Decision, MirrorJob
from controllers.multikueue.life.seen import Seen
from kube.client import ApiClient
from kube.recorder import EventRecorder
from kube.sender import Sender
from quota.state.workloads import key_of
from runtime.exchange.dispatch_reports import DispatchReporter, DispatchReports
from runtime.mirror.changes import joined
from runtime.terms.term import Term

__all__ = ["Leading"]

log = structlog.get_logger(__name__)

AT_ONCE: Final = 16
"""Acts at once in one place."""


class Leading:
    """State that ends with the term."""

    def __init__(
        self,
        settings: MultiKueueConfiguration,
        mirrors: Mirrors,
        reports: DispatchReports,
        client: ApiClient,
        identity: Identity,
        term: Term,
        clock: Clock,
    ) -> None:
        self._settings, self._mirrors, self._clock, self._identity = settings, mirrors, clock, identity
        self._client = client
        self._reporter = DispatchReporter(reports)
        sender = self._sender = Sender(client, fence=term)
        self._once = Sender(client, attempts=1, fence=term)
        self._recorder = EventRecorder(sender, clock=clock)
        self._telling = Telling(self._recorder, clock)
        self._gates = OpenGates(clock)
        self._originals = Originals(client, clock)
        self._places: dict[str, Place] = {}
        """By cluster; the manager's own is the empty name."""
        self._running: dict[str, asyncio.Task[None]] = {}
        """What acts in each cluster."""

    async def run(self, clusters: Clusters, hooks: Hooks, *, has_gates: bool) -> None:
        """Act until cancelled. The views must be as new as the API server. `has_gates`: the feature gate."""
        settings = life_settings(self._settings, has_gates=has_gates)
        gathering = self._gathering = Gathering(
            self._mirrors, clusters, self._originals, self._gates, self._identity, self._clock
        )
        self._clusters = clusters
        self._by_cost = settings.by_cost
        self._deciding = deciding = Deciding(gathering, settings, self._decided, self._clock)
        self._here = ActsHere(
            self._client,
            self._once,
            self._mirrors,
            self._originals,
            self._gates,
            self._telling,
            self._clock,
        )
        self._there = ActsThere(
            self._originals, self._identity, self._telling, deciding.remember, self._clock
        )
        for plan in self._mirrors.turns:
            deciding.changed(joined((plan.metadata.namespace, plan.spec.workload.name)))
        for workload in self._mirrors.workloads:
            deciding.changed(key_of(workload))
        with (
            self._mirrors.changes.told(self._changed_here),
            hooks.workloads.told(self._changed_there),
            hooks.jobs.told(self._job_changed_there),
            hooks.clusters.told(self._cluster_changed),
            hooks.configs.told(self._config_changed),
        ):
            await self._act()

    async def _act(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            here = self._places[""] = Place("the manager", self._act_here, AT_ONCE, self._clock)
            self._tasks = tasks
            tasks.create_task(here.run(), name="acts here")
            tasks.create_task(self._deciding.run(self._start), name="decisions of the manager")
            interval = self._settings.gc_interval_seconds
            orphans = collect(
                self._clusters,
                self._mirrors.workloads,
                self._deciding.changed,
                self._gathering.tidy,
                interval,
            )
            tasks.create_task(orphans, name="orphans")
            waits = measure(self._mirrors.workloads, self._clusters.is_check, self._clock)
            tasks.create_task(waits, name="how long Workloads wait")
            kept = self._settings.plan_retention_seconds
            tasks.create_task(
                retire(self._mirrors, self._sender, kept, self._clock), name="DispatchPlans that are over"
            )

    async def close(self) -> None:
        """Nothing acts any longer."""
        self._reporter.close()
        await self._recorder.close()

    # ---- what happens

    def _changed_here(self, kind: str, key: str) -> None:
        if kind == Workload.__name__:
            self._deciding.changed(key)
            return
        for each in self._mirrors.workloads_of(key):
            self._deciding.changed(each)

    def _changed_there(self, cluster: str, key: str) -> None:
        """A copy, Job or cost of the Workload has changed in the cluster."""
        connection = self._clusters.get(cluster)
        self._gates.saw(key, cluster, connection.copy(key) if connection is not None else None)
        self._deciding.changed(key)

    def _job_changed_there(self, _cluster: str, job: str) -> None:
        for each in self._mirrors.workloads_of(job):
            self._deciding.changed(each)

    def _cluster_changed(self, cluster: str) -> None:
        """It is reached, or no longer; or there is none of this name any longer."""
        log.info("a worker cluster has changed", cluster=cluster)
        connection = self._clusters.get(cluster)
        if connection is None:
            self._cluster_gone(cluster)
        for workload in self._mirrors.workloads:
            self._deciding.changed(key_of(workload))
        if connection is not None:
            for copy in connection.copies():
                self._deciding.changed(copy.key)

    def _cluster_gone(self, cluster: str) -> None:
        self._gathering.gone(cluster)
        self._places.pop(cluster, None)
        if (running := self._running.pop(cluster, None)) is not None:
            running.cancel()

    def _config_changed(self, check: str) -> None:
        log.info("a check has other clusters", check=check)
        for workload in self._mirrors.workloads:
            self._deciding.changed(key_of(workload))

    # ---- what follows

    def _decided(self, seen: Seen, decision: Decision) -> None:
        if seen.workload is None or decision.report is None:
            self._reporter.gone(seen.key)
        else:
            self._reporter.report(seen.workload.metadata.uid, seen.key, decision.report)
        if seen.workload is None and not decision.there:
            self._originals.gone(seen.key)
            self._there.gone(seen.key)

    def _start(self, key: str, decision: Decision) -> None:
        if decision.here is not None:
            self._places[""].add(key)
        for cluster in decision.there:
            self._place(cluster).add(key)

    def _place(self, cluster: str) -> Place:
        place = self._places.get(cluster)
        if place is None:
            place = self._places[cluster] = Place(cluster, self._acting_in(cluster), AT_ONCE, self._clock)
            self._running[cluster] = self._tasks.create_task(place.run(), name=f"acts in {cluster}")
        return place

    async def _act_here(self, key: str) -> None:
        # Another Workload may have got a turn meanwhile: what this one's costs are worth has changed.
        seen, decision = self._deciding.current(key, anew=True)
        if decision.here is not None:
            await self._here.carry_out(decision.here, seen, self._clusters, by_cost=self._by_cost)
            self._deciding.changed(key)
            if isinstance(decision.here, MirrorJob):
                self._deciding.look_later(key, EVERY_SECONDS)

    def _acting_in(self, cluster: str) -> Callable[[str], Awaitable[None]]:
        async def act(key: str) -> None:
            seen, decision = self._deciding.current(key)
            what, connection = decision.there.get(cluster), self._clusters.get(cluster)
            if what is not None and connection is not None:
                await self._there.carry_out(what, seen, connection)
                self._deciding.changed(key)

        return act
