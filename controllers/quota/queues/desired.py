"""What the status of a ClusterQueue, LocalQueue or Cohort should be, beside what it is, both as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from api.conditions import condition_json, dated
from api.kueue import API_VERSION, ClusterQueue, Cohort, LocalQueue
from api.meta import Condition
from api.usage import ClusterQueueStatus, CohortStatus, LocalQueueStatus
from api.words import counted
from quota.state.activity import ACTIVE, Activity, local_queue_activity
from quota.state.state import QuotaState
from quota.state.statuses import (
    Tally,
    cluster_queue_status,
    fair_sharing_status,
    local_queue_status,
)
from runtime.mirror.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES

__all__ = ["Desired", "Pending", "Statuses", "wire"]

MESSAGE: Final = 32768
"""The most characters that the schema takes."""
NAMED: Final = 3
"""Workloads that a message names."""

Status = ClusterQueueStatus | LocalQueueStatus | CohortStatus
Json = dict[str, Any]


class Pending(Protocol):
    """How many Workloads wait."""

    def counts(self, cluster_queue: str) -> tuple[int, int]:
        """Workloads of a ClusterQueue that are tried, and that wait for a change."""

    def local_counts(self, local_queue: str) -> tuple[int, int]:
        """The same for a LocalQueue `namespace/name`."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The status that an object should have."""

    path: str
    """The URL path of the object."""
    head: Json
    """apiVersion, kind and metadata of a patch."""
    status: Json
    stored: Json
    """The same fields as they are stored, as far as is known."""
    activity: Activity | None
    """None for a Cohort."""


class Statuses:
    """Makes them from the state, the tally and the queues."""

    def __init__(self, state: QuotaState, tally: Tally, pending: Pending, *, fair_sharing: bool) -> None:
        self._state, self._tally, self._pending, self._fair_sharing = state, tally, pending, fair_sharing

    def of(self, kind: str, key: str, now: float, unread: Sequence[str] = ()) -> Desired | None:
        """The status of an object; None if there is no such object. `now` is wall time in seconds.

        `unread`: objects of which the ClusterQueue counts an old state. Raises QuotaError if the usage is too much to
        be counted.
        """
        match kind:
            case "ClusterQueue":
                return self._cluster_queue(key, now, unread)
            case "LocalQueue":
                return self._local_queue(key, now)
            case "Cohort":
                return self._cohort(key)
            case _:
                raise ValueError(f"no kind with a status: {kind}")

    def _cluster_queue(self, name: str, now: float, unread: Sequence[str]) -> Desired | None:
        queue = self._state.cluster_queues.get(name)
        if queue is None:
            return None
        activity = self._state.queues[name].activity
        status = cluster_queue_status(
            queue.spec,
            self._state.quotas(name),
            self._tally.cluster_queue(name),
            sum(self._pending.counts(name)),
            self._share(name, cohort=False),
        )
        message = activity.message + _unread(unread)
        status.conditions = [_active(queue, activity, message, now)]
        return Desired(
            f"{CLUSTER_QUEUES.path}/{name}", _head(queue), wire(status), wire(queue.status), activity
        )

    def _local_queue(self, key: str, now: float) -> Desired | None:
        local = self._state.local_queues.get(key)
        if local is None:
            return None
        name = local.spec.cluster_queue
        queue = self._state.queues.get(name)
        activity = local_queue_activity(local, queue.activity if queue is not None else None)
        status = local_queue_status(
            queue.spec if queue is not None else None,
            self._tally.local_queue(key, name),
            sum(self._pending.local_counts(key)),
        )
        status.conditions = [_active(local, activity, activity.message, now)]
        group, _, plural = LOCAL_QUEUES.path.rpartition("/")
        path = f"{group}/namespaces/{local.metadata.namespace}/{plural}/{local.metadata.name}"
        return Desired(path, _head(local), wire(status), wire(local.status), activity)

    def _cohort(self, name: str) -> Desired | None:
        cohort = self._state.cohorts.get(name)
        if cohort is None:
            return None
        share = self._share(name, cohort=True)
        status = CohortStatus(None if share is None else fair_sharing_status(share))
        return Desired(f"{COHORTS.path}/{name}", _head(cohort), wire(status), wire(cohort.status), None)

    def _share(self, name: str, *, cohort: bool) -> float | None:
        return self._state.weighted_share(name, cohort=cohort) if self._fair_sharing else None


def wire(status: Status | None) -> Json:
    """The fields that are ours, as JSON. Numbers and lists are never left out, because a status says them also if they
    are zero."""
    value: Json = {}
    if status is None:
        return value
    if status.fair_sharing is not None:
        value["fairSharing"] = msgspec.to_builtins(status.fair_sharing)
    if isinstance(status, CohortStatus):
        return value
    return value | {
        "conditions": [condition_json(each) for each in status.conditions or () if each.type == ACTIVE],
        "flavorsReservation": msgspec.to_builtins(status.flavors_reservation or []),
        "flavorsUsage": msgspec.to_builtins(status.flavors_usage or []),
        "pendingWorkloads": status.pending_workloads,
        "reservingWorkloads": status.reserving_workloads,
        "admittedWorkloads": status.admitted_workloads,
    }


def _head(item: ClusterQueue | LocalQueue | Cohort) -> Json:
    meta = item.metadata
    identity = {
        "name": meta.name,
        "namespace": meta.namespace,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
    metadata = {name: value for name, value in identity.items() if value}
    return {"apiVersion": API_VERSION, "kind": item.kind, "metadata": metadata}


def _active(item: ClusterQueue | LocalQueue, activity: Activity, message: str, now: float) -> Condition:
    """The condition to write."""
    stored = (item.status.conditions if item.status is not None else None) or ()
    before = next((each for each in stored if each.type == ACTIVE), None)
    status = "True" if activity.is_active else "False"
    generation = item.metadata.generation
    wanted = Condition(ACTIVE, status, activity.reason, message[:MESSAGE], None, generation)
    return dated(wanted, before, now)


def _unread(keys: Sequence[str]) -> str:
    """What a message adds about objects that cannot be read."""
    if not keys:
        return ""
    more = "" if len(keys) <= NAMED else f" and {len(keys) - NAMED} more"
    return (
        f"; {counted(len(keys), 'object')} cannot be read, and the last readable state counts: "
        f"{', '.join(sorted(keys)[:NAMED])}{more}"
    )
