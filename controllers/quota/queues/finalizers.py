"""The finalizer `kueue.x-k8s.io/resource-in-use` on ClusterQueues, ResourceFlavors and Workloads, as Kueue has it.

A ClusterQueue that is being deleted stays while Workloads hold its quota, and a ResourceFlavor while a ClusterQueue
names it. Whoever makes a Workload gives it the finalizer. One that nobody owns loses it as soon as it is deleted.

See docs/decisions/0014.
"""

from __future__ import annotations

from typing import Final

from api.clock import SYSTEM_CLOCK, Clock
from api.kueue import RESOURCE_IN_USE
from api.meta import ObjectMeta
from api.workloads import Workload
from kube.finalizers import has_finalizer
from kube.sender import Sender
from quota.state.activity import flavors_of
from quota.state.state import QuotaState
from quota.state.statuses import Tally
from runtime.mirror.changes import Changes
from runtime.mirror.resources import CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from runtime.work.finalizers import FinalizerKeeper, Guarded, Users

__all__ = ["QueueFinalizers"]

Item = tuple[str, str]
"""(kind, key)"""

KINDS: Final = ("ClusterQueue", "ResourceFlavor")


def is_released(workload: Workload) -> bool:
    """Whether the Workload is being deleted and only our finalizer has to go: nobody owns it."""
    meta = workload.metadata
    return (
        meta.deletion_timestamp is not None
        and not meta.owner_references
        and has_finalizer(meta, RESOURCE_IN_USE)
    )


class QueueFinalizers:
    """Adds and removes the finalizer, for one term."""

    def __init__(
        self, state: QuotaState, tally: Tally, changes: Changes, sender: Sender, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """`changes` tells of ClusterQueues, ResourceFlavors, and Workloads that are released. The state has them by
        then."""
        self._state, self._tally, self._changes = state, tally, changes
        self._keeper: FinalizerKeeper[Item] = FinalizerKeeper(self._guarded, sender, clock=clock)
        self._users = Users()
        """By ResourceFlavor: the ClusterQueues that name it."""

    async def run(self) -> None:
        """Keep the finalizers right, until cancelled."""
        with self._changes.told(self._changed):
            for name in self._state.cluster_queues:
                self._changed("ClusterQueue", name)
            for name in self._state.flavors:
                self._changed("ResourceFlavor", name)
            for key, workload in self._state.workloads.items():
                if is_released(workload):
                    self._changed("Workload", key)
            await self._keeper.run()

    def _changed(self, kind: str, key: str) -> None:
        if kind == "ClusterQueue":
            self._count_users(key)
        if kind in KINDS or (kind == "Workload" and key in self._state.workloads):
            self._keeper.changed((kind, key))

    def _count_users(self, name: str) -> None:
        """Note which flavors the ClusterQueue names now. One that nobody names any longer may go."""
        queue = self._state.cluster_queues.get(name)
        for flavor in self._users.set(name, flavors_of(queue.spec) if queue is not None else ()):
            self._keeper.changed(("ResourceFlavor", flavor))

    def _guarded(self, item: Item) -> Guarded | None:
        kind, key = item
        if kind == "ClusterQueue":
            queue = self._state.cluster_queues.get(key)
            if queue is None:
                return None
            in_use = self._tally.cluster_queue(key).reserving > 0
            return Guarded(f"{CLUSTER_QUEUES.path}/{key}", queue.metadata, in_use)
        if kind == "ResourceFlavor":
            flavor = self._state.flavors.get(key)
            if flavor is None:
                return None
            return Guarded(f"{RESOURCE_FLAVORS.path}/{key}", flavor.metadata, self._users.has(key))
        workload = self._state.workloads.get(key)
        if workload is None or not is_released(workload):
            return None
        return Guarded(_workload_path(workload.metadata), workload.metadata, in_use=False, adds=False)


def _workload_path(meta: ObjectMeta) -> str:
    group, _, plural = WORKLOADS.path.rpartition("/")
    return f"{group}/namespaces/{meta.namespace}/{plural}/{meta.name}"
