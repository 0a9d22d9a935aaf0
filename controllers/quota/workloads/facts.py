"""What is around each Workload: its queues, the plans that name it, and what the last cycle said."""

from __future__ import annotations

from collections.abc import Callable, Collection

from api.workloads import QUOTA_RESERVED, Workload
from controllers.quota.life.around import Around
from controllers.quota.life.dispatching import ClusterReport
from controllers.quota.life.evicting import Preemption
from controllers.quota.life.preempting import Preempting
from controllers.quota.life.saying import Waiting
from quota.state.activity import required_checks
from quota.state.state import QuotaState
from quota.state.workloads import is_true, key_of, local_queue_key
from runtime.exchange.reports import Reports

__all__ = ["Facts"]


class Facts:
    """Answers for one term. Times are microseconds since 1970."""

    def __init__(
        self,
        state: QuotaState,
        preemption_of: Callable[[str], Preemption | None],
        preempting_of: Callable[[str], Preempting | None],
        reports: Reports,
        why_paused: Callable[[str], str] = lambda _: "",
    ) -> None:
        """`preemption_of`: what an active plan wants of a Workload (key). `preempting_of`: what it says of its own
        plan. `why_paused`: why no Workload of a namespace may be evicted now; empty if they may be."""
        self._why_paused = why_paused
        self._state, self._preemption_of, self._preempting_of = state, preemption_of, preempting_of
        self._reports = reports
        self._waiting: dict[str, Waiting] = {}
        self._written: dict[str, int] = {}
        """When the text of why a Workload waits was last written."""
        self._taken_back: dict[str, tuple[str, str]] = {}
        """By key: the UID of a Workload that somebody else admitted beyond the quota, and what is said of it."""

    def workload(self, key: str) -> Workload | None:
        """The Workload of this key, if it exists."""
        return self._state.workloads.get(key)

    def around(self, workload: Workload) -> Around:
        """What the rules need to know of the Workload now."""
        key, state = key_of(workload), self._state
        local = state.local_queues.get(local_queue_key(workload))
        admission = workload.status.admission if is_true(workload, QUOTA_RESERVED) else None
        name = local.spec.cluster_queue if local is not None else ""
        if admission is not None:
            name = admission.cluster_queue
        queue = state.cluster_queues.get(name)
        known, dispatched = state.queues.get(name), self._reports.dispatched
        return Around(
            local_queue=local,
            cluster_queue=queue,
            inactive=known.inactive if known is not None else "",
            dispatches=known is not None and known.dispatches,
            required=required_checks(queue.spec, admission) if queue is not None else None,
            preemption=self._preemption_of(key),
            preempting=self._preempting_of(key),
            taken_back=self._why_taken_back(key, workload),
            waiting=self._waiting.get(key),
            reported=self._reports.workloads.of(workload.metadata.uid),
            clusters=ClusterReport(dispatched.of(workload.metadata.uid), dispatched.is_served),
            written=self._written.get(key, 0),
        )

    def says(self, key: str, waiting: Waiting | None) -> bool:
        """The last cycle said why the Workload waits; None: nothing. Returns whether that is new."""
        before = self._waiting.get(key)
        if waiting is None:
            self._waiting.pop(key, None)
        else:
            self._waiting[key] = waiting
        return before != waiting

    def knows(self, key: str) -> bool:
        """Whether it is known why the Workload waits."""
        return key in self._waiting

    def wrote(self, key: str, now: int) -> None:
        """The status of the Workload was written."""
        self._written[key] = now

    def take_back(self, workload: Workload, message: str) -> None:
        """Somebody else admitted the Workload, and its quota is not there."""
        self._taken_back[key_of(workload)] = workload.metadata.uid, message

    @property
    def taken_back(self) -> Collection[str]:
        """The keys of Workloads that others admitted beyond the quota."""
        return self._taken_back.keys()

    def changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """Forget what no longer applies."""
        if after is None or not is_true(after, QUOTA_RESERVED):
            self._taken_back.pop(key, None)
        if after is None:
            self._waiting.pop(key, None)
            self._written.pop(key, None)
        elif is_true(after, QUOTA_RESERVED):
            self._waiting.pop(key, None)

    def _why_taken_back(self, key: str, workload: Workload) -> str:
        uid, message = self._taken_back.get(key, ("", ""))
        is_meant = uid == workload.metadata.uid and not self._why_paused(workload.metadata.namespace)
        return message if is_meant else ""
