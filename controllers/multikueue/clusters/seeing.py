"""One session with a worker cluster: views of what bears our origin, and a sender. Another kubeconfig is another
session."""

from __future__ import annotations

import asyncio
from typing import Any, Final, TypeVar

from api.backoff import Backoff
from api.clock import Clock
from api.meta import ObjectMeta
from api.multikueue import ORIGIN_LABEL
from api.plans import PREEMPTOR_KIND
from controllers.multikueue.clusters.hooks import Hooks
from controllers.multikueue.clusters.objects import CopyObject, CostObject, JobObject
from controllers.multikueue.clusters.stores import Copies, Costs, RemoteJobs
from kube.client import ApiClient
from kube.reflector import HasMetadata, Resource, Timing
from runtime.mirror.freshness import catch_up
from runtime.mirror.resources import JOBS, PLANS, WORKLOADS
from runtime.mirror.versions import number_of
from runtime.mirror.views import View, Views

__all__ = ["MOST_OBJECTS", "Seeing"]

T = TypeVar("T", bound=HasMetadata)
TIMING: Final = Timing(backoff=Backoff(0.5, 5.0), watch_least=20.0, watch_most=30.0, silent=40.0)
"""A cluster that is back is seen within seconds. A connection that is lost without a sign hides nothing for longer than
`silent`: the API server ends each watch before."""
BEHIND_SECONDS: Final = 5.0
"""A watch that has not shown for this time what an answer has brought may be lost without a sign."""
INTERRUPTED_SECONDS: Final = 30.0
"""A view that has no watch for this time, while the cluster answers, is a fault."""

MOST_OBJECTS: Final = 200_000
"""Of one kind. More than a manager sends to one cluster."""
MOST_UNREAD: Final = 1_000
"""Of one kind: objects that cannot be read. A quota controller of another version may have some."""
MOST_STATUSES: Final = 256 << 20
"""Bytes of the statuses of all Jobs."""


def _copies(origin: str) -> Resource[CopyObject]:
    """The Workloads of that origin."""
    return Resource(
        WORKLOADS.kind,
        WORKLOADS.path,
        CopyObject,
        label_selector=f"{ORIGIN_LABEL}={origin}",
        left=lambda item: _label(item, ORIGIN_LABEL) != origin,
    )


def _jobs(origin: str) -> Resource[JobObject]:
    """The Jobs of that origin."""
    return Resource(
        JOBS.kind,
        JOBS.path,
        JobObject,
        label_selector=f"{ORIGIN_LABEL}={origin}",
        left=lambda item: _label(item, ORIGIN_LABEL) != origin,
    )


def _costs() -> Resource[CostObject]:
    """The plans of Workloads. A worker that Kueue runs has none."""
    return Resource(
        PLANS.kind,
        PLANS.path,
        CostObject,
        page=PLANS.page,
        optional=True,
        label_selector=f"{PREEMPTOR_KIND}=Workload",
        left=lambda item: _label(item, PREEMPTOR_KIND) != "Workload",
    )


class Seeing:
    """What one session sees."""

    def __init__(self, client: ApiClient, origin: str, hooks: Hooks, clock: Clock) -> None:
        self._client, self._cluster, self._hooks, self._clock = client, client.cluster, hooks, clock
        self._awaited: dict[View[Any], tuple[int, float]] = {}
        """By view: the version that the first answer brought which its watch has not shown yet, and when it came."""
        self.is_current = False
        """Whether others hear of changes: not before all was listed."""
        self.copies = Copies(self._changed)
        self.jobs = RemoteJobs(self._changed, self._job_changed)
        self.costs = Costs(self._changed, clock)
        self._views = Views(client, clock=clock, timing=TIMING)
        self.copy_view: View[CopyObject] = self._views.watch(_copies(origin), self.copies)
        self.job_view: View[JobObject] = self._views.watch(_jobs(origin), self.jobs)
        self._views.watch(_costs(), self.costs)

    @property
    def views(self) -> tuple[View[Any], ...]:
        """All of them."""
        return tuple(self._views)

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        try:
            await self._views.run()
        finally:
            self._views.close()

    async def wait_listed(self) -> None:
        """Wait until all was listed."""
        await asyncio.gather(*(view.wait_synced() for view in self._views))

    def answered(self, view: View[T], item: T) -> None:
        """An answer brought the object. Its watch will show it, too."""
        if view.apply(item):
            number = number_of(item.metadata.resource_version)
            self._awaited.setdefault(view, (number, self._clock.monotonic()))

    def is_behind(self) -> bool:
        """Whether a watch has not shown within seconds what an answer has brought. Each case counts once."""
        now, late = self._clock.monotonic(), False
        for view, (number, since) in list(self._awaited.items()):
            is_late = now - since >= BEHIND_SECONDS
            if is_late or view.has_passed(number):
                del self._awaited[view]
            late |= is_late and not view.has_passed(number)
        return late

    def watch_anew(self) -> None:
        """Give up all streams, and watch again."""
        for view in self._views:
            view.watch_anew()

    async def renew(self) -> None:
        """Watch anew, and wait until what is seen is as new as the API server. Its faults are outlasted."""
        since = self._clock.monotonic()
        self.watch_anew()
        await catch_up(self._client, list(self._views), since, self._clock)

    def heard(self, now: float) -> float:
        """When a view brought something last, in monotonic seconds; minus infinity if none did."""
        ages = [view.age() for view in self._views if view.synced and not view.is_refused]
        return now - min(ages) if ages else float("-inf")

    def fault(self) -> str | None:
        """Why what is seen may be old, although the cluster answers, or is more than can be kept."""
        for each in self._views:
            if len(each) > MOST_OBJECTS:
                return f"{each.kind}: it has more than {MOST_OBJECTS}"
            if len(each.unread) > MOST_UNREAD:
                return f"{each.kind}: more than {MOST_UNREAD} cannot be read"
        if self.jobs.size > MOST_STATUSES:
            return f"{self.job_view.kind}: their statuses have more than {MOST_STATUSES >> 20} MiB"
        for view in (self.copy_view, self.job_view):
            if view.refusal is not None:
                return f"{view.kind}: {view.refusal.message}"
            if (since := view.interrupted()) > INTERRUPTED_SECONDS:
                return f"{view.kind}: no watch for {since:.0f} s"
        return None

    def keys(self) -> set[str]:
        """The keys of all Workloads that it has something of."""
        return {*self.copies.keys(), *self.jobs.used(), *self.costs.keys()}

    def gone(self, view: View[Any], key: str, uid: str) -> None:
        """A deletion of ours was answered: the object is gone."""
        namespace, _, name = key.partition("/")
        view.delete(ObjectMeta(name, namespace, uid))

    def _changed(self, key: str) -> None:
        if self.is_current:
            self._hooks.workloads.changed(self._cluster, key)

    def _job_changed(self, key: str) -> None:
        if self.is_current:
            self._hooks.jobs.changed(self._cluster, key)


def _label(item: HasMetadata, name: str) -> str | None:
    return (item.metadata.labels or {}).get(name)
