"""Which Workload is next in each ClusterQueue, while Workloads come, change and go: the live form of `quota.queues`.

An event costs the logarithm of what waits, and an answer as much as there are ClusterQueues in which somebody waits.
Times are microseconds since 1970.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Final

from api.workloads import EVICTED, REQUEUED, Workload
from quota.amounts import QuotaError
from quota.assignment import Tried
from quota.cycle import Entry
from quota.lines import Item, Lines
from quota.queues import PARKS_EQUALS, Precedence, backs_off, is_queued, precedence, shape_of
from quota.workloads import has_closed_preemption_gate, key_of, requeue_at

__all__ = ["PendingQueues"]

RELEASE_EVERY: Final = 100_000
"""The parked Workloads of a tree return at most so often. Quota comes back in many small parts."""
FAILED: Final = frozenset({"Retry", "Rejected"})


@dataclass(slots=True)
class _Queue:
    strategy: str
    active: bool
    tree: str
    lines: Lines = field(default_factory=Lines)
    sticky: str = ""
    """Key of the Workload that waits for its own preemptions: it stays first (BestEffortFIFO)."""
    seen: int = 0
    """The tree's changes when this queue last gave a head."""


@dataclass(slots=True)
class _Tree:
    changes: int = 0
    """How often quota was freed."""
    released: int = -RELEASE_EVERY
    """When parked Workloads last returned."""
    due: int | None = None
    """When they return next."""
    queues: set[str] = field(default_factory=set)


class PendingQueues:
    """All Workloads that wait for quota."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}
        self._trees: dict[str, _Tree] = {}
        self._local_queues: dict[str, tuple[str, bool]] = {}
        """ClusterQueue, and whether it is active, by key."""
        self._items: dict[str, Item] = {}
        self._of_local: dict[str, set[str]] = {}
        self._tried: dict[str, Tried] = {}
        self._locals_of: dict[str, set[str]] = {}
        """Keys of LocalQueues by ClusterQueue."""
        self._sticky: dict[str, str] = {}
        """The ClusterQueue by key of a Workload that is sticky there."""
        self._due: set[str] = set()
        """Trees with a release that is due."""
        self._timers: list[tuple[int, int, str, Item]] = []
        """(time, number, key, item). The timer of a former item is void."""
        self._numbers = count()

    # ---- queues

    def set_cluster_queue(self, name: str, *, strategy: str, active: bool, tree: str) -> None:
        """A ClusterQueue is there, or has changed. `tree`: the name of the root of its cohort tree."""
        known = self._queues.get(name)
        if known is not None and known.tree != tree:
            self._leave_tree(name, known.tree)
        self._trees.setdefault(tree, _Tree()).queues.add(name)
        if known is not None:
            known.strategy, known.active, known.tree = strategy, active, tree
            return
        self._queues[name] = _Queue(strategy, active, tree)
        for local in self._locals_of.get(name, ()):
            self._wake_local(local)

    def drop_cluster_queue(self, name: str) -> None:
        """The ClusterQueue is gone."""
        queue = self._queues.get(name)
        if queue is None:
            return
        for local in self._locals_of.get(name, ()):
            self._lull_local(local)
        self._leave_tree(name, queue.tree)
        self._sticky.pop(queue.sticky, None)
        del self._queues[name]

    def set_local_queue(self, key: str, *, cluster_queue: str, active: bool) -> None:
        """A LocalQueue is there, or has changed."""
        if self._local_queues.get(key) == (cluster_queue, active):
            return
        self.drop_local_queue(key)
        self._local_queues[key] = cluster_queue, active
        self._locals_of.setdefault(cluster_queue, set()).add(key)
        self._wake_local(key)

    def drop_local_queue(self, key: str) -> None:
        """The LocalQueue is gone."""
        known = self._local_queues.get(key)
        if known is None:
            return
        self._lull_local(key)
        del self._local_queues[key]
        self._locals_of[known[0]].discard(key)
        if not self._locals_of[known[0]]:
            del self._locals_of[known[0]]

    # ---- Workloads

    def put(self, workload: Workload, now: int) -> None:
        """The newest state of a Workload, whether or not it waits."""
        key = key_of(workload)
        before = self._items.get(key)
        order = _order_of(workload)
        if order is None:
            self.remove(key)
            return
        local = f"{workload.metadata.namespace}/{workload.spec.queue_name}"
        if before is None:
            item = Item(workload, local, order, shape_of(workload))
            self._add(key, item, now)
        elif _stays(before, workload, local, order, now):
            before.workload = workload
        else:
            parked = before.is_parked and not _brings_back(before.workload, workload)
            self._discard(key, before)
            self._add(key, Item(workload, local, order, shape_of(workload)), now, parked)

    def remove(self, key: str) -> None:
        """The Workload does not wait any longer."""
        item = self._items.get(key)
        if item is not None:
            self._discard(key, item)
        self._tried.pop(key, None)
        queue = self._queues.get(self._sticky.pop(key, ""))
        if queue is not None:
            queue.sticky = ""

    # ---- answers

    def heads(self, now: int) -> list[Workload]:
        """The first Workload of each active ClusterQueue, sorted by the name of the ClusterQueue.

        While parked Workloads of a tree are about to return, nobody passes them who comes after them.
        """
        self._ring(now)
        found, returning = [], {name: self._first_returning(name) for name in self._due}
        for name in sorted(self._queues):
            queue = self._queues[name]
            if not queue.active or not queue.lines:
                continue
            item = self._sticky_of(queue) or queue.lines.head()
            first = returning.get(queue.tree)
            if item is not None and (first is None or item.precedence < first):
                queue.seen = self._trees[queue.tree].changes
                found.append(item.workload)
        return found

    def answered(self, entry: Entry, now: int) -> None:
        """What a cycle said of a head: whether it is tried again at once, or waits for a change.

        If quota was freed since `heads`, the answer may be out of date already, and the Workload does not wait.
        """
        key = key_of(entry.workload)
        item = self._items.get(key)
        queue = self._queue_of(item) if item is not None else None
        if item is None or queue is None or item.heap is None:
            return
        self._stick(queue, key, entry)
        if entry.tried is not None:
            self._tried[key] = entry.tried
        else:
            self._tried.pop(key, None)
        tree = self._trees[queue.tree]
        if entry.requeue != "parked" or (tree.changes != queue.seen and tree.due is None):
            return
        self._park(queue, item, entry)
        if entry.retry_at is not None and entry.retry_at > now:
            self._set_timer(entry.retry_at, key, item)

    def freed(self, trees: Collection[str], now: int) -> None:
        """Quota of these trees has come back, or quotas have changed there: what is parked there returns."""
        for name in trees:
            tree = self._trees.get(name)
            if tree is None:
                continue
            tree.changes += 1
            self._tried_anew(name)
            if tree.due is None:
                tree.due = max(now, tree.released + RELEASE_EVERY)
                self._due.add(name)
        self._release_due(now)

    @property
    def tried(self) -> Mapping[str, Tried]:
        """Where the search of a Workload goes on. See `quota.cycle.cycle`."""
        return MappingProxyType(self._tried)

    def next_due(self, now: int) -> int | None:
        """When time alone gives other heads; None if it does not."""
        self._ring(now)
        times = [due for name in self._due if (due := self._trees[name].due) is not None]
        if self._timers:
            times.append(self._timers[0][0])
        return min(times, default=None)

    def counts(self, cluster_queue: str) -> tuple[int, int]:
        """How many wait for a turn in a ClusterQueue, and how many for a change or a time."""
        queue = self._queues.get(cluster_queue)
        queued = queue.lines.counts()[0] if queue is not None else 0
        total = sum(len(self._of_local.get(key, ())) for key in self._locals_of.get(cluster_queue, ()))
        return queued, total - queued

    def local_counts(self, local_queue: str) -> tuple[int, int]:
        """The same for a LocalQueue."""
        total = len(self._of_local.get(local_queue, ()))
        queue = self._queues.get(self._local_queues.get(local_queue, ("", False))[0])
        queued = queue.lines.counts(local_queue)[0] if queue is not None else 0
        return queued, total - queued

    # ---- inside

    def _queue_of(self, item: Item) -> _Queue | None:
        """The queue in whose lines the item may be; None if its LocalQueue is missing, stopped or has none."""
        name, active = self._local_queues.get(item.local_queue, ("", False))
        return self._queues.get(name) if active else None

    def _add(self, key: str, item: Item, now: int, parked: bool = False) -> None:
        self._items[key] = item
        self._of_local.setdefault(item.local_queue, set()).add(key)
        self._wake(key, item, now, parked)

    def _discard(self, key: str, item: Item) -> None:
        self._lull(item)
        del self._items[key]
        keys = self._of_local[item.local_queue]
        keys.discard(key)
        if not keys:
            del self._of_local[item.local_queue]

    def _wake(self, key: str, item: Item, now: int, parked: bool = False) -> None:
        """Put the item where it belongs, if it need not sleep."""
        queue = self._queue_of(item)
        if queue is None or item.heap is not None:
            return
        if backs_off(item.workload, now):
            until = requeue_at(item.workload)
            if until is not None and until > now:
                self._set_timer(until, key, item)
            return
        queue.lines.put(item, parked=parked)

    def _lull(self, item: Item) -> None:
        queue = self._queue_of(item)
        if queue is not None:
            queue.lines.take(item)

    def _wake_local(self, local: str) -> None:
        for key in self._of_local.get(local, ()):
            # The time is not known here. A timer that rings at once wakes those whose backoff is over.
            item = self._items[key]
            self._set_timer(0, key, item)

    def _lull_local(self, local: str) -> None:
        for key in self._of_local.get(local, ()):
            self._lull(self._items[key])

    def _park(self, queue: _Queue, item: Item, entry: Entry) -> None:
        if entry.requeue_reason in PARKS_EQUALS and queue.strategy == "BestEffortFIFO":
            queue.lines.park_line(item.shape)
        elif not item.is_parked:
            queue.lines.take(item)
            queue.lines.put(item, parked=True)

    # ---- the Workload that waits for its own preemptions

    def _sticky_of(self, queue: _Queue) -> Item | None:
        item = self._items.get(queue.sticky)
        if item is None or queue.strategy != "BestEffortFIFO" or item.heap is None or item.is_parked:
            return None
        return item if self._queue_of(item) is queue else None

    def _stick(self, queue: _Queue, key: str, entry: Entry) -> None:
        if entry.outcome == "Preempt":
            self._sticky.pop(queue.sticky, None)
            queue.sticky = key
            self._sticky[key] = self._local_queues[self._items[key].local_queue][0]
        elif queue.sticky == key and entry.outcome in ("NoFit", "NoCandidates", "Gated", "Inadmissible"):
            self._sticky.pop(key, None)
            queue.sticky = ""

    # ---- time

    def _set_timer(self, at: int, key: str, item: Item) -> None:
        heapq.heappush(self._timers, (at, next(self._numbers), key, item))

    def _ring(self, now: int) -> None:
        while self._timers and (self._timers[0][0] <= now or self._is_void(self._timers[0])):
            timer = heapq.heappop(self._timers)
            if not self._is_void(timer):
                _, _, key, item = timer
                if item.is_parked:
                    self._lull(item)
                self._wake(key, item, now)
        self._release_due(now)

    def _is_void(self, timer: tuple[int, int, str, Item]) -> bool:
        return self._items.get(timer[2]) is not timer[3]

    def _release_due(self, now: int) -> None:
        for name in [name for name in self._due if (self._trees[name].due or 0) <= now]:
            self._due.discard(name)
            tree = self._trees[name]
            tree.due, tree.released = None, now
            for queue in tree.queues:
                self._queues[queue].lines.release()

    def _first_returning(self, tree: str) -> Precedence | None:
        """The precedence of the first Workload that is parked in the tree."""
        queues = [self._queues[name] for name in self._trees[tree].queues]
        firsts = [
            first for queue in queues if queue.active and (first := queue.lines.first_parked()) is not None
        ]
        return min((first.precedence for first in firsts), default=None)

    def _leave_tree(self, queue: str, name: str) -> None:
        self._trees[name].queues.discard(queue)
        if not self._trees[name].queues:
            del self._trees[name]
            self._due.discard(name)

    def _tried_anew(self, tree: str) -> None:
        """The search of those in the tree begins with the first flavor again."""
        for key in list(self._tried):
            item = self._items.get(key)
            queue = self._queue_of(item) if item is not None else None
            if queue is None or queue.tree == tree:
                del self._tried[key]


def _order_of(workload: Workload) -> Precedence | None:
    """Its place among others; None if it waits for nothing, or a time of it cannot be read."""
    try:
        return precedence(workload) if is_queued(workload) else None
    except QuotaError:
        return None


def _stays(item: Item, workload: Workload, local: str, order: Precedence, now: int) -> bool:
    """Whether the new state leaves the item where it is."""
    same = (
        item.local_queue == local
        and item.precedence == order
        and (item.workload.spec is workload.spec or item.workload.spec == workload.spec)
        and not _brings_back(item.workload, workload)
    )
    return same and item.heap is not None and not backs_off(workload, now)


def _brings_back(before: Workload, after: Workload) -> bool:
    """Whether the change lets a parked Workload return (Kueue), or what its checks have said is over."""
    return (
        before.spec != after.spec
        or before.status.reclaimable_pods != after.status.reclaimable_pods
        or _condition(before, EVICTED) != _condition(after, EVICTED)
        or _condition(before, REQUEUED) != _condition(after, REQUEUED)
        or has_closed_preemption_gate(before) != has_closed_preemption_gate(after)
        or (_has_failed(before) and not _has_failed(after))
    )


def _condition(workload: Workload, kind: str) -> tuple[str, str, str | None] | None:
    for each in workload.status.conditions or ():
        if each.type == kind:
            return each.status, each.reason, each.last_transition_time
    return None


def _has_failed(workload: Workload) -> bool:
    return any(check.state in FAILED for check in workload.status.admission_checks or ())
