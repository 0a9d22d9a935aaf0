"""Keeps the queues, and the list of Workloads to look at, in step with what is watched."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from api.workloads import QUOTA_RESERVED, Workload
from controllers.quota.life.life import SUSPENDED
from quota.cycle.pending import PendingQueues
from quota.cycle.unsupported import why_unsupported
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState
from quota.state.workloads import (
    effective_priority,
    holds_quota,
    local_queue_key,
    reserved_at,
    usage,
)
from runtime.work.queue import KeyedQueue

__all__ = ["Following"]


class _Queue(NamedTuple):
    """What matters of a ClusterQueue to its Workloads, besides its quota."""

    strategy: str
    inactive: str
    stop_policy: str
    tree: str
    checks: object
    dispatches: bool


class Following:
    """The queues of one term. Times are microseconds since 1970."""

    def __init__(
        self,
        state: QuotaState,
        look: KeyedQueue[str],
        now: Callable[[], int],
        stir: Callable[[], None],
    ) -> None:
        """`stir` is called when another cycle may have another answer."""
        self.pending: Final = PendingQueues()
        """Who waits."""
        self._state, self._look = state, look
        self._now, self._stir = now, stir
        self._structure = -1
        self._queues: dict[str, _Queue] = {}
        self._local_queues: dict[str, tuple[str, str]] = {}
        self._held_back: set[str] = set()
        """Keys of Workloads whose admission was refused. They are in no queue for a while."""
        self._suspended: list[str] = []
        """Keys of Workloads that said that a queue is not active, when that has changed."""

    # ---- what happens

    def begin(self) -> None:
        """Take over what is known already."""
        self.follow()
        for key, workload in self._state.workloads.items():
            self._enqueue(key, workload)
            self._look.add(key)

    def workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """The Workload came, changed or went."""
        if after is None:
            self.pending.remove(key)
        else:
            self._enqueue(key, after)
        if before is not None and (_gives_back(before, after) or _may_now_be_preempted(before, after)):
            self._freed(before)
        if after is not None:
            self._look.add(key)
        self._stir()

    def _enqueue(self, key: str, workload: Workload) -> None:
        """Put the Workload into its queue, or leave it out."""
        queue = self._queues.get(self._local_queues.get(local_queue_key(workload), ("", ""))[0])
        elsewhere = queue is not None and queue.dispatches
        if key in self._held_back or why_unsupported(workload, elsewhere=elsewhere):
            self.pending.remove(key)
        else:
            self.pending.put(workload, self._now())

    def object_changed(self, kind: str, key: str) -> None:
        """A queue, a flavor, a cohort, a check or a namespace came, changed or went."""
        del key
        if kind == "Namespace":
            self.pending.freed(self._trees, self._now())
        self._stir()

    def hold_back(self, key: str) -> None:
        """Leave the Workload out of its queue: its admission was refused."""
        self._held_back.add(key)
        self.pending.remove(key)

    def let_in(self, key: str) -> None:
        """Put the Workload into its queue again."""
        if key not in self._held_back:
            return
        self._held_back.discard(key)
        workload = self._state.workloads.get(key)
        if workload is not None:
            self._enqueue(key, workload)
            self._stir()

    def freed(self, queue: str) -> None:
        """Quota of this ClusterQueue's tree has come back."""
        known = self._queues.get(queue)
        if known is not None:
            self.pending.freed({known.tree}, self._now())
            self._stir()

    def take_suspended(self) -> list[str]:
        """Workloads whose status says Suspended, although their queues may be active again. Each comes once."""
        taken, self._suspended = self._suspended, []
        return taken

    def due_in(self) -> float | None:
        """Seconds until time alone brings a Workload back into its queue; None if that is not so for any."""
        now = self._now()
        due = self.pending.next_due(now)
        return None if due is None else max(0.0, (due - now) / 1_000_000)

    # ---- queues

    def follow(self) -> None:
        """Follow changes of queues. They are rare, and all queues are compared."""
        if self._state.structure == self._structure:
            return
        self._structure = self._state.structure
        changed = self._follow_cluster_queues() | self._follow_local_queues()
        self.pending.freed(self._trees, self._now())
        for key, workload in self._state.workloads.items():
            admission, local = workload.status.admission, local_queue_key(workload)
            queue = self._local_queues.get(local, ("", ""))[0]
            if local in changed or queue in changed or (admission and admission.cluster_queue in changed):
                self._look.add(key)
                if why_unsupported(workload):
                    self._enqueue(key, workload)
                if _says_suspended(workload):
                    self._suspended.append(key)

    def _follow_cluster_queues(self) -> set[str]:
        """Names of the ClusterQueues whose Workloads must be looked at."""
        before, queues = self._queues, self._state.queues
        self._queues = {
            name: _Queue(
                queue.spec.queueing_strategy,
                queue.inactive,
                queue.spec.stop_policy,
                self._state.tree(name),
                queue.spec.admission_checks_strategy,
                queue.dispatches,
            )
            for name, queue in queues.items()
        }
        for name, queue in self._queues.items():
            self.pending.set_cluster_queue(
                name, strategy=queue.strategy, active=not queue.inactive, tree=queue.tree
            )
        for name in before.keys() - queues.keys():
            self.pending.drop_cluster_queue(name)
        return {name for name in before | self._queues if before.get(name) != self._queues.get(name)}

    def _follow_local_queues(self) -> set[str]:
        before = self._local_queues
        self._local_queues = {
            key: (local.spec.cluster_queue, local.spec.stop_policy)
            for key, local in self._state.local_queues.items()
        }
        for key, (queue, policy) in self._local_queues.items():
            self.pending.set_local_queue(key, cluster_queue=queue, active=policy == "None")
        for key in before.keys() - self._local_queues.keys():
            self.pending.drop_local_queue(key)
        return {key for key in before | self._local_queues if before.get(key) != self._local_queues.get(key)}

    @property
    def _trees(self) -> Collection[str]:
        return {queue.tree for queue in self._queues.values()}

    def _freed(self, before: Workload) -> None:
        if before.status.admission is not None:
            self.freed(before.status.admission.cluster_queue)


def _says_suspended(workload: Workload) -> bool:
    return any(
        each.type == QUOTA_RESERVED and each.status == "False" and each.reason == SUSPENDED
        for each in workload.status.conditions or ()
    )


def _may_now_be_preempted(before: Workload, after: Workload | None) -> bool:
    """Whether others may preempt it that could not before, or may do so earlier (KEP-8522).

    Its priority is lower now, or the time since when it holds its quota was changed in place: by a restore, or by
    another controller. Whoever waits then computes its moment anew. A moment that comes later is computed anew when
    the former one has come.
    """
    if after is None or not holds_quota(after) or not holds_quota(before):
        return False
    if effective_priority(after) < effective_priority(before):
        return True
    try:
        return reserved_at(after) < reserved_at(before)
    except QuotaError:
        return True  # nobody knows


def _gives_back(before: Workload, after: Workload | None) -> bool:
    """Whether the Workload held quota that it no longer holds."""
    if not holds_quota(before):
        return False
    if after is None or not holds_quota(after):
        return True
    if after.status.reclaimable_pods == before.status.reclaimable_pods:
        return False
    try:
        return usage(after) != usage(before)
    except QuotaError:
        return True
