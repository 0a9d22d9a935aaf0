"""Writes the status of ClusterQueues, LocalQueues and Cohorts: counts, usage, and whether the queue is active.

A status is written by server-side apply, at most once a second for each object, and only if it has changed. While many
objects change all the time, each waits for five seconds or longer, so that the API server has time for the Workloads.
One field manager owns these fields. What another manager wrote before and an apply does not remove, such as flavors
that Kueue listed, is removed by a merge patch.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

import msgspec
import structlog

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK, Clock
from api.kueue import ClusterQueue, ClusterQueueSpec, Cohort, CohortSpec, LocalQueue
from api.meta import ObjectMeta
from api.workloads import Workload
from controllers.quota.queues.desired import Desired, Pending, Statuses, wire
from controllers.quota.queues.queue_metrics import QueueMetrics
from kube.client import APPLY_PATCH, MERGE_PATCH
from kube.errors import ApiError
from kube.sender import Sender
from quota.state.activity import Activity, flavors_of, named_checks
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState
from quota.state.statuses import Tally
from runtime.mirror.changes import Changes, joined
from runtime.mirror.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from runtime.mirror.views import View, Views
from runtime.work.queue import KeyedQueue

__all__ = ["FIELD_MANAGER", "QueueStatuses", "QueueViews"]

log = structlog.get_logger(__name__)

FIELD_MANAGER: Final = "reprieve-queue-status"
AT_ONCE: Final = 8
"""Writes in flight."""
BURST_SECONDS: Final = 0.05
"""Changes come in bursts. One write serves all changes within this time."""
PAUSE_SECONDS: Final = 1.0
"""The minimum time between two writes of one object."""
RATE: Final = 25.0
"""Writes a second of all objects, while more of them change all the time. Each is written less often then."""
BUSY_SECONDS: Final = 5.0
"""The minimum time between two writes of one object while the rate is full."""
FULL: Final = 25
"""The rate is full after more writes than these in that time."""
TICK_SECONDS: Final = 0.2
"""How often that is looked at which concerns many queues at once, or has no event."""
BACKOFF: Final = Backoff(0.2, 60.0)

Item = tuple[str, str]
"""(kind, key)"""
TYPES: Final[dict[str, type[ClusterQueue | LocalQueue | Cohort]]] = {
    "ClusterQueue": ClusterQueue,
    "LocalQueue": LocalQueue,
    "Cohort": Cohort,
}


class QueueViews:
    """The views that statuses depend on, and what changes in them. Made once a process, before the views run, and after
    the store that fills the state."""

    def __init__(self, views: Views) -> None:
        self.changes: Final = Changes()
        self.cluster_queues: Final[View[ClusterQueue]] = self.changes.follow(views, CLUSTER_QUEUES)
        self.local_queues: Final[View[LocalQueue]] = self.changes.follow(views, LOCAL_QUEUES)
        self.cohorts: Final[View[Cohort]] = self.changes.follow(views, COHORTS)
        self.workloads: Final[View[Workload]] = self.changes.follow(views, WORKLOADS, only=_is_deleted)
        self.changes.follow(views, RESOURCE_FLAVORS)
        self.changes.follow(views, ADMISSION_CHECKS)

    def apply(self, item: ClusterQueue | LocalQueue | Cohort) -> None:
        """Take the answer to one of our own writes."""
        match item:
            case ClusterQueue():
                self.cluster_queues.apply(item)
            case LocalQueue():
                self.local_queues.apply(item)
            case Cohort():
                self.cohorts.apply(item)


def _is_deleted(workload: Workload) -> bool:
    return workload.metadata.deletion_timestamp is not None


class QueueStatuses:
    """Writes the statuses, and exports the metrics of queues, for one term."""

    def __init__(
        self,
        state: QuotaState,
        tally: Tally,
        pending: Pending,
        views: QueueViews,
        sender: Sender,
        clock: Clock = SYSTEM_CLOCK,
        *,
        fair_sharing: bool = False,
    ) -> None:
        """`tally` must tell `views.changes` of the queues whose numbers change."""
        self._state, self._tally, self._views = state, tally, views
        self._sender, self._clock, self._fair_sharing = sender, clock, fair_sharing
        self._statuses = Statuses(state, tally, pending, fair_sharing=fair_sharing)
        self._metrics = QueueMetrics(state, tally, pending, fair_sharing=fair_sharing)
        self._queue: KeyedQueue[Item] = KeyedQueue(backoff=BACKOFF, clock=clock)
        self._not_before: dict[Item, float] = {}
        """An object is not written again before this time, in monotonic seconds."""
        self._writes: deque[float] = deque()
        """When the writes of the last seconds were, in monotonic seconds."""
        self._turn = 0.0
        """When the next write would come, had all come one by one at the rate, in monotonic seconds."""
        self._seen: dict[str, tuple[Activity, ClusterQueueSpec]] = {}
        """By ClusterQueue: what its LocalQueues depend on, as it was when it was last looked at."""
        self._locals: dict[str, str] = {}
        """By LocalQueue: its ClusterQueue."""
        self._cohort_specs: dict[str, CohortSpec] = {}
        self._moved: set[str] = set()
        """ClusterQueues whose LocalQueues are to be looked at."""
        self._all_moved = False
        """Everything is to be looked at."""
        self._written: dict[str, dict[str, Any]] = {}
        """The last status that was written to a ClusterQueue that cannot be read."""
        self._unread: dict[str, list[str]] = {}
        """By ClusterQueue: the objects that count in an old state."""

    async def run(self) -> None:
        """Write what has changed, until cancelled."""
        with self._views.changes.told(self.changed), self._metrics.registered():
            self._cohort_specs = {name: cohort.spec for name, cohort in self._state.cohorts.items()}
            self._locals = {key: local.spec.cluster_queue for key, local in self._state.local_queues.items()}
            self._all_moved = True
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._tick(), name="queue statuses, now and then")
                for number in range(AT_ONCE):
                    tasks.create_task(self._work(), name=f"queue statuses {number}")

    # ---- what changes

    def changed(self, kind: str, key: str) -> None:
        """An object has changed, or the number of Workloads that wait in a queue."""
        match kind:
            case "ClusterQueue":
                self._mark((kind, key))
                self._mark_cohorts(key)
            case "LocalQueue":
                self._mark((kind, key))
                self._mark_cluster_queue(key)
            case "Cohort":
                self._cohort_changed(key)
            case "ResourceFlavor" | "AdmissionCheck":
                self._mark_users(kind, key)
            case _:
                pass

    def _mark(self, item: Item) -> None:
        self._queue.add_after(item, max(BURST_SECONDS, self._pause(item)))

    def _mark_cluster_queue(self, local_queue: str) -> None:
        """Look at the ClusterQueue of a LocalQueue, and at its former one."""
        local = self._state.local_queues.get(local_queue)
        before = self._locals.pop(local_queue, "")
        if local is not None:
            self._locals[local_queue] = local.spec.cluster_queue
        for name in {before, self._locals.get(local_queue, "")} - {""}:
            self._mark(("ClusterQueue", name))

    def _mark_all(self) -> None:
        for name in self._state.cohorts:
            self._mark(("Cohort", name))
        for name in self._state.cluster_queues:
            self._mark(("ClusterQueue", name))
        for key in self._state.local_queues:
            self._mark(("LocalQueue", key))

    def _cohort_changed(self, name: str) -> None:
        """A Cohort may close a cycle, or change every share. Its status alone changes nothing."""
        cohort = self._state.cohorts.get(name)
        before = self._cohort_specs.pop(name, None)
        if cohort is not None:
            self._cohort_specs[name] = cohort.spec
            self._mark(("Cohort", name))
        if before is None or cohort is None or before != cohort.spec:
            self._all_moved = True

    def _mark_cohorts(self, cluster_queue: str) -> None:
        if not self._fair_sharing or cluster_queue not in self._state.cluster_queues:
            return
        try:
            above = self._state.above(cluster_queue)
        except QuotaError:
            return  # the ClusterQueue itself is looked at, which logs it
        for name in above:
            self._mark(("Cohort", name))

    def _mark_users(self, kind: str, name: str) -> None:
        for queue in self._state.cluster_queues.values():
            named = flavors_of(queue.spec) if kind == "ResourceFlavor" else named_checks(queue.spec)
            if name in named:
                self._mark(("ClusterQueue", queue.metadata.name))

    def _note(self, name: str, activity: Activity | None) -> None:
        """Look at the LocalQueues of a ClusterQueue if what they depend on has changed."""
        before = self._seen.pop(name, None)
        queue = self._state.cluster_queues.get(name)
        after = (activity, queue.spec) if activity is not None and queue is not None else None
        if after is not None:
            self._seen[name] = after
        if before == after:
            return
        self._moved.add(name)
        if self._fair_sharing and (before is None or after is None or before[1] != after[1]):
            self._all_moved = True  # what it lends changes the shares of others

    async def _tick(self) -> None:
        while True:
            try:
                self._look_for_unread()
                self._mark_moved()
            except Exception:
                log.exception("queues are looked at again later")
            await asyncio.sleep(TICK_SECONDS)

    def _mark_moved(self) -> None:
        if self._all_moved:
            self._mark_all()
        elif self._moved:
            for key, local in self._state.local_queues.items():
                if local.spec.cluster_queue in self._moved:
                    self._mark(("LocalQueue", key))
        self._all_moved = False
        self._moved.clear()

    def _look_for_unread(self) -> None:
        found = self._unread_objects()
        for name in {*found, *self._unread}:
            if found.get(name) != self._unread.get(name):
                self._mark(("ClusterQueue", name))
        self._unread = found

    def _unread_objects(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for _, name in self._views.cluster_queues.unread:
            found.setdefault(name, []).append("the ClusterQueue itself")
        for each in self._views.workloads.unread:
            key = joined(each)
            queue, note = self._unread_workload(key)
            found.setdefault(queue, []).append(f"Workload {key}{note}")
        found.pop("", None)
        return {name: sorted(keys) for name, keys in found.items()}

    def _unread_workload(self, key: str) -> tuple[str, str]:
        """The ClusterQueue of a Workload that cannot be read, and what is said of it; no ClusterQueue if that is not
        known."""
        remains, counted = self._state.remains.get(key), self._tally.queue_of(key)
        if remains is None:
            return (counted[0], "") if counted is not None else ("", "")
        local = self._state.local_queues.get(remains.local_queue)
        queue = remains.cluster_queue or (local.spec.cluster_queue if local is not None else "")
        known = "its quota is not known" if remains.usage is None else "only its admission is known"
        return queue, f" ({known})" if remains.usage != {} else " (it holds no quota)"

    # ---- writing

    def _pause(self, item: Item) -> float:
        """For how many seconds the object is not written again."""
        return max(0.0, self._not_before.get(item, 0.0) - self._clock.monotonic())

    async def _work(self) -> None:
        while True:
            item = await self._queue.get()
            try:
                if pause := self._pause(item):
                    self._queue.add_after(item, pause)
                else:
                    await self._look(item)
                    self._queue.forget(item)
            except ApiError as error:
                self._put_off(item)
                wait = self._queue.retry(item)
                log.info(
                    "a status is written again later", object=item, error=str(error), wait=round(wait, 2)
                )
            except Exception:
                log.exception("the status of a queue is passed over for now", object=item)
                self._queue.retry(item)
            finally:
                self._queue.done(item)

    async def _look(self, item: Item) -> None:
        """Write the status of an object if it has changed."""
        kind, key = item
        unread = self._unread.get(key, []) if kind == "ClusterQueue" else []
        desired = self._statuses.of(kind, key, self._clock.wall(), unread)
        if kind == "ClusterQueue":
            self._note(key, desired.activity if desired is not None else None)
        if desired is None:
            self._not_before.pop(item, None)
            self._written.pop(key, None)
            return
        if self._is_written(item, desired):
            return
        try:
            await self._write(item, desired)
        finally:
            self._put_off(item)

    def _put_off(self, item: Item) -> None:
        """The object was written, or refused."""
        now = self._clock.monotonic()
        self._turn = max(now, self._turn)
        pause = BUSY_SECONDS if self._is_full(now) else PAUSE_SECONDS
        self._not_before[item] = max(self._turn + PAUSE_SECONDS, now + pause)
        self._turn += 1 / RATE

    def _is_full(self, now: float) -> bool:
        """Note a write. Returns whether there are many."""
        self._writes.append(now)
        while self._writes[0] <= now - BUSY_SECONDS:
            self._writes.popleft()
        return len(self._writes) > FULL

    def _is_written(self, item: Item, desired: Desired) -> bool:
        if self._is_unread(item):
            return self._written.get(item[1]) == desired.status
        return desired.status == desired.stored

    def _is_unread(self, item: Item) -> bool:
        return item[0] == "ClusterQueue" and ("", item[1]) in self._views.cluster_queues.unread

    async def _write(self, item: Item, desired: Desired) -> None:
        """Raises ApiError, 409 if the object is newer than we know it."""
        if self._is_unread(item):
            await self._write_unread(item, desired)
            return
        kind, version, stored = TYPES[item[0]], desired.head["metadata"], desired.stored
        answer: bytes | None = None
        if desired.status:  # an apply of nothing would leave a status that is null, which the schema refuses
            answer = await self._patch(desired.path, APPLY_PATCH, {**desired.head, "status": desired.status})
            if answer is None:
                return
            now = msgspec.json.decode(answer, type=kind)
            version, stored = _version(now.metadata), wire(now.status)
        if (left := _left(stored, desired.status)) is not None:
            answer = await self._patch(desired.path, MERGE_PATCH, {"metadata": version, "status": left})
        if answer is not None:
            self._views.apply(msgspec.json.decode(answer, type=kind))

    async def _write_unread(self, item: Item, desired: Desired) -> None:
        """The ClusterQueue is newer than its last readable state, so its version is not known."""
        metadata = {"name": desired.head["metadata"]["name"]}
        await self._patch(
            desired.path, APPLY_PATCH, {**desired.head, "metadata": metadata, "status": desired.status}
        )
        self._written[item[1]] = desired.status

    async def _patch(self, path: str, content_type: str, value: dict[str, Any]) -> bytes | None:
        """The answer; None if there is no such object. Raises ApiError."""
        query = {"fieldManager": FIELD_MANAGER} | ({"force": "true"} if content_type == APPLY_PATCH else {})
        body = msgspec.json.encode(value)
        try:
            return await self._sender.send(
                "queue status", "PATCH", f"{path}/status", query=query, body=body, content_type=content_type
            )
        except ApiError as error:
            if error.status == 404:
                return None
            raise


def _version(meta: ObjectMeta) -> dict[str, str]:
    return {"uid": meta.uid, "resourceVersion": meta.resource_version}


def _left(stored: dict[str, Any], status: dict[str, Any]) -> dict[str, Any] | None:
    """The part of a merge patch that makes the stored fields ours; None if they are. Conditions are left alone:
    others have theirs there."""
    names = ({*stored} | {*status}) - {"conditions"}
    left = {name: status.get(name) for name in names if stored.get(name) != status.get(name)}
    return left or None
