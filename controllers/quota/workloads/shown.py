"""The cluster as plans look at it: what the API server has shown, and nothing that is assumed."""

from __future__ import annotations

from collections.abc import Collection

from api.workloads import Workload
from quota.state.snapshot import Queue
from quota.state.workloads import local_queue_key
from runtime.mirror.watched_quota import WatchedQuota

__all__ = ["Shown"]


class Shown:
    """See `controllers.quota.plans.plan_look.Cluster`."""

    def __init__(self, quota: WatchedQuota) -> None:
        self._quota = quota

    def find(self, key: str, uid: str) -> Workload | None:
        """The Workload `namespace/name` of this UID, if it exists."""
        workload = self._quota.shown(key)
        return workload if workload is not None and workload.metadata.uid == uid else None

    def queue_of(self, workload: Workload) -> str:
        """The name of the ClusterQueue that the Workload waits for; "" if it waits for none."""
        local = self._quota.state.local_queues.get(local_queue_key(workload))
        return local.spec.cluster_queue if local is not None else ""

    def queue(self, name: str) -> Queue | None:
        """The ClusterQueue, if it exists."""
        return self._quota.state.queues.get(name)

    def why_paused(self, preemptor: str, victims: Collection[str]) -> str:
        """See `Cluster`."""
        return self._quota.pauses.why(preemptor, victims)
