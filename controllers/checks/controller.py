"""The finalizer `kueue.x-k8s.io/resource-in-use` on AdmissionChecks, as Kueue has it.

An AdmissionCheck that is being deleted stays while a ClusterQueue names it. The controller of the check says itself
whether the check is active. What its answers mean for a Workload is decided where Workloads are written.

See docs/decisions/0014.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from api.checks import AdmissionCheck
from api.clock import SYSTEM_CLOCK, Clock
from api.kueue import ClusterQueue
from kube.client import ApiClient
from kube.sender import Sender
from quota.state.activity import named_checks
from runtime.mirror.changes import Changes
from runtime.mirror.freshness import catch_up
from runtime.mirror.objects import Objects
from runtime.mirror.resources import ADMISSION_CHECKS, CLUSTER_QUEUES
from runtime.mirror.views import Views
from runtime.terms.term import Term
from runtime.work.finalizers import FinalizerKeeper, Guarded, Users
from serving.ops import Check

__all__ = ["CheckController"]

KIND = AdmissionCheck.__name__


class CheckController:
    """Keeps the finalizer of AdmissionChecks right. See `Controller`."""

    def __init__(self, client: ApiClient, views: Views, clock: Clock = SYSTEM_CLOCK) -> None:
        self._client, self._clock = client, clock
        self._checks: Objects[AdmissionCheck] = Objects()
        self._changes = Changes()
        self._naming = _Naming(self._changes)
        self._views = (
            views.watch(CLUSTER_QUEUES, self._naming),
            views.watch(ADMISSION_CHECKS, self._checks),
        )
        self._changes.follow(views, ADMISSION_CHECKS)

    @property
    def name(self) -> str:
        """See `Controller`."""
        return "checks"

    def checks(self) -> Mapping[str, Check]:
        """See `Controller`."""
        return {f"view of {view.kind}": view.fault for view in self._views}

    async def lead(self, term: Term) -> None:
        """Write what is due, until cancelled. Nothing is written before the views are as new as the API server."""
        await asyncio.gather(*(view.wait_synced() for view in self._views))
        await catch_up(self._client, self._views, term.began, self._clock)
        sender = Sender(self._client, fence=term)
        keeper: FinalizerKeeper[str] = FinalizerKeeper(self._guarded, sender, clock=self._clock)
        with self._changes.told(lambda _kind, name: keeper.changed(name)):
            for check in self._checks:
                keeper.changed(check.metadata.name)
            await keeper.run()

    def _guarded(self, name: str) -> Guarded | None:
        check = self._checks.get("", name)
        if check is None:
            return None
        return Guarded(f"{ADMISSION_CHECKS.path}/{name}", check.metadata, self._naming.users.has(name))


class _Naming:
    """A store of the AdmissionChecks that each ClusterQueue names."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self.users = Users()

    def upsert(self, item: ClusterQueue) -> bool:
        """See `Store`."""
        self._set(item.metadata.name, named_checks(item.spec))
        return False

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        self._set(name, [])
        return False

    def _set(self, name: str, checks: list[str]) -> None:
        for check in self.users.set(name, checks):
            self._changes.changed(KIND, check)
