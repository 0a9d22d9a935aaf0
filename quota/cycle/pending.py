"""The Workloads that wait for quota, in order. The rules are those of `quota.cycle.queues`; this answers without a walk
over all of them.

See docs/decisions/0010, 0042 and 0046.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Final

from api.workloads import Workload
from quota.cycle.entries import Entry
from quota.cycle.lines import Alike, ClusterLine, LocalLine, Place, Timers, Tree, Waiting
from quota.cycle.queues import PARKS_EQUALS, comes_back, held_back, is_queued, precedence, shape_of
from quota.search.assignment import Tried
from quota.state.amounts import QuotaError
from quota.state.workloads import key_of, local_queue_key, requeue_at

__all__ = ["RELEASE_INTERVAL", "PendingQueues"]

RELEASE_INTERVAL: Final = 100_000
"""The parked Workloads of a tree come back at most this often, in microseconds."""
NO_TREE: Final = ""


class PendingQueues:
    """Which workloads wait in each ClusterQueue, which are parked, and until when. Not safe for several threads.

    Times are in microseconds since 1970 and may go backwards. Workloads are shared with the caller and must not be
    changed.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._clusters: dict[str, ClusterLine] = {}
        self._locals: dict[str, LocalLine] = {}
        self._trees: dict[str, Tree] = {}
        self._put_off: set[Tree] = set()
        """Trees whose parked Workloads come back later."""
        self._open: set[ClusterLine] = set()
        """All that have a head, and some that may have one no longer."""
        self._timers = Timers()
        self._asked: list[Waiting] = []
        """What `heads` returned last."""
        self._numbers = count()
        self._now = 0
        """The time of the last call that gave one."""

    # ---- queues

    def set_cluster_queue(self, name: str, *, strategy: str, active: bool, tree: str) -> None:
        """`tree`: the name of the root of its cohort tree, or its own name. A change brings its parked ones back."""
        cluster = self._cluster(name)
        cluster.exists = True
        self._configure(cluster, strategy, active, tree)

    def drop_cluster_queue(self, name: str) -> None:
        """Its Workloads wait until there is one of this name."""
        cluster = self._clusters.get(name)
        if cluster is not None and cluster.exists:
            cluster.exists = False
            cluster.sticky = None
            self._configure(cluster, "", False, NO_TREE)
            self._tidy_cluster(cluster)

    def set_local_queue(self, key: str, *, cluster_queue: str, active: bool) -> None:
        """`key` is `namespace/name`. After a change none of its Workloads is parked."""
        local = self._local(key)
        local.exists = True
        self._connect(local, self._cluster(cluster_queue), active)

    def drop_local_queue(self, key: str) -> None:
        """Its Workloads wait until there is one of this name."""
        local = self._locals.get(key)
        if local is not None:
            local.exists = False
            self._connect(local, None, False)
            self._tidy_local(local)

    # ---- Workloads

    def put(self, workload: Workload, now: int) -> None:
        """The newest state of a Workload. It is forgotten if it is not queued.

        It is forgotten as well if a time of it cannot be read: it has no place among the others. A parked one comes
        back if `comes_back` says so.
        """
        self._now = now
        key = key_of(workload)
        old = self._waiting.get(key)
        if not is_queued(workload):
            self.remove(key)
            return
        try:
            place, until = (*precedence(workload), next(self._numbers)), requeue_at(workload)
        except QuotaError:
            self.remove(key)
            return
        if old is not None and not comes_back(old.workload, workload):
            old.workload = workload
            self._move(old, place)
            return
        local = self._local(local_queue_key(workload))
        new = Waiting(key, workload, place, shape_of(workload), until, held_back(workload), local)
        self._waiting[key] = local.waiting[key] = new
        sticky = old is not None and old.is_sticky and old.workload.metadata.uid == workload.metadata.uid
        if old is not None:
            self._leave(old)
            if old.local is not local:
                del old.local.waiting[key]
                self._tidy_local(old.local)
        self._enter(new)
        if sticky and old is not None and old.local.cluster is local.cluster and new.alike is not None:
            new.alike.cluster.sticky = new

    def remove(self, key: str) -> None:
        """Forget a Workload, if it is here."""
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            self._leave(waiting)
            del waiting.local.waiting[key]
            self._tidy_local(waiting.local)

    # ---- cycles

    def heads(self, now: int) -> list[Workload]:
        """The first Workload of each active ClusterQueue, sorted by the name of the ClusterQueue.

        While parked Workloads of a tree are about to return, nobody passes them who comes after them.
        """
        self._now = now
        self._wake()
        for waiting in self._asked:
            waiting.asked = None
        self._asked = []
        returning = {tree: tree.first_parked() for tree in self._put_off}
        for cluster in sorted(self._open, key=lambda each: each.name):
            head = self._head(cluster) if cluster.active else None
            if head is None:
                self._open.discard(cluster)
                continue
            first = returning.get(cluster.tree)
            if first is None or head.place < first:
                head.asked = head.workload, cluster.quotas, cluster.turns
                self._asked.append(head)
        return [waiting.workload for waiting in self._asked]

    @property
    def tried(self) -> Mapping[str, Tried]:
        """For the heads that were returned last: what their last search tried, unless quota was freed since then."""
        found = {each.key: tried for each in self._asked if (tried := each.last_tried) is not None}
        return MappingProxyType(found)

    def answered(self, entry: Entry, now: int, apart: Iterable[str] = ()) -> list[str]:
        """What the cycle says of a head. Its Workload must be the object that the last call of `heads` returned.

        `apart`: keys of Workloads that are not parked together with equals, because quota is promised to them.

        Returns the keys of those that are parked together with it and did not have its reason yet, sorted.

        The entry parks nobody if parked Workloads of the tree came back after that call: quota was freed, and the
        entry may be wrong. If the Workload itself has changed so that it would come back, the entry has no effect at
        all.
        """
        waiting = self._waiting.get(key_of(entry.workload))
        if waiting is None or waiting.alike is None or waiting.asked is None:
            return []
        workload, quotas, turns = waiting.asked
        if workload is not entry.workload:
            return []
        waiting.asked = None
        alike, cluster = waiting.alike, waiting.alike.cluster
        alike.answered(waiting, entry.quota_reserved_reason)
        if entry.requeue_reason == "PendingPreemption":
            cluster.sticky = waiting if cluster.best_effort else None
        elif cluster.sticky is waiting and entry.outcome != "Admit":
            cluster.sticky = None
        waiting.tried = None if entry.tried is None else (entry.tried, quotas)
        if turns != cluster.turns:
            return []
        if entry.retry_at is not None:
            if entry.retry_at <= now:
                return []
            self._retry(alike, entry.retry_at)
        if entry.outcome == "Admit" or entry.requeue == "immediate":
            return []
        with_equals = entry.requeue_reason in PARKS_EQUALS and cluster.best_effort
        others = (each for key in apart if (each := self._waiting.get(key)) is not None)
        told = alike.park(waiting, entry.quota_reserved_reason, with_equals=with_equals, apart=others)
        self._sort(alike)
        return told

    def passed(self, key: str, now: int) -> None:
        """The Workload gets quota that its ClusterQueue borrows. Those who are parked before it may reclaim it."""
        waiting = self._waiting.get(key)
        tree = waiting.alike.cluster.tree if waiting is not None and waiting.alike is not None else None
        if waiting is not None and tree is not None and tree.is_passed_by(waiting):
            self.freed([tree.name], now)

    def freed(self, trees: Collection[str], now: int) -> None:
        """Quota came back in these trees, or something changed there that a decision depends on.

        Their parked Workloads come back now, or `RELEASE_INTERVAL` after they last came back.
        """
        self._now = now
        for name in trees:
            tree = self._trees.get(name)
            if tree is None:
                continue
            tree.freed = next(self._numbers)
            if self._may_release(tree):
                self._release(tree)
            else:
                self._put_off.add(tree)

    def next_due(self, now: int) -> int | None:
        """When time alone may change the answer of `heads`, or of a cycle. It is `now` if that time has come."""
        times = [
            now if tree.released is None or now < tree.released else tree.released + RELEASE_INTERVAL
            for tree in self._put_off
        ]
        timer = self._timers.first()
        if timer is not None:
            times.append(timer[0][0])
        return max(now, min(times)) if times else None

    # ---- counts

    def counts(self, cluster_queue: str) -> tuple[int, int]:
        """How many may be heads (active), and how many are parked or back off (inadmissible).

        As in Kueue, nobody is active in a ClusterQueue that is not active, and Workloads of a LocalQueue that is not
        active do not count.
        """
        cluster = self._clusters.get(cluster_queue)
        return (0, 0) if cluster is None else cluster.counts()

    def local_counts(self, local_queue: str) -> tuple[int, int]:
        """The same for a LocalQueue. Nobody is active if it or its ClusterQueue is not active."""
        local = self._locals.get(local_queue)
        return (0, 0) if local is None else local.counts()

    # ---- one Workload

    def _enter(self, waiting: Waiting) -> None:
        """Let it wait in its ClusterQueue, if that and its LocalQueue let it."""
        local = waiting.local
        if local.cluster is None or not local.active:
            return
        waiting.place = *waiting.place[:4], next(self._numbers)
        waiting.alike = local.cluster.enter(waiting)
        if waiting.held_back:
            return
        if waiting.until is not None and self._now < waiting.until:
            self._delay(waiting, waiting.until)
        else:
            self._ready(waiting, waiting.alike)

    def _leave(self, waiting: Waiting) -> None:
        if waiting.alike is not None:
            waiting.alike.cluster.leave(waiting, waiting.alike)
        waiting.alike = waiting.timer = waiting.asked = waiting.tried = None
        waiting.told = ""

    def _move(self, waiting: Waiting, place: Place) -> None:
        """Give it another place in its line."""
        if place[:4] == waiting.place[:4]:
            return
        waiting.place = place
        if waiting.line is not None and waiting.alike is not None:
            waiting.line.add(waiting)
            waiting.alike.cluster.sort(waiting.alike)

    def _ready(self, waiting: Waiting, alike: Alike) -> None:
        waiting.timer = None
        alike.ready.add(waiting)
        alike.untold.add(waiting)
        self._sort(alike)

    def _delay(self, waiting: Waiting, until: int) -> None:
        if waiting.line is not None:
            waiting.line.discard(waiting)
        waiting.timer = until, next(self._numbers)
        self._timers.push(waiting.timer, waiting)

    def _head(self, cluster: ClusterLine) -> Waiting | None:
        while (head := cluster.head()) is not None and head.alike is not None:
            if head.until is None or head.until <= self._now:
                return head
            # The clock has gone backwards.
            self._delay(head, head.until)
            cluster.sort(head.alike)
        return None

    # ---- parked ones

    def _retry(self, alike: Alike, time: int) -> None:
        if alike.timer is None or time < alike.timer[0]:
            alike.timer = time, next(self._numbers)
            self._timers.push(alike.timer, alike)

    def _wake(self) -> None:
        """Everything whose time has come."""
        while (entry := self._timers.first()) is not None and entry[0][0] <= self._now:
            item = entry[1]
            if isinstance(item, Alike):
                item.release()
                self._sort(item)
            elif item.alike is not None:
                self._ready(item, item.alike)
        for tree in [tree for tree in self._put_off if self._may_release(tree)]:
            self._release(tree)

    def _may_release(self, tree: Tree) -> bool:
        return tree.released is None or not 0 <= self._now - tree.released < RELEASE_INTERVAL

    def _release(self, tree: Tree) -> None:
        self._put_off.discard(tree)
        tree.returned = next(self._numbers)
        parked = [self._release_cluster(cluster) for cluster in tree.clusters]
        # A head without an answer comes back, too.
        if any(parked) or any(waiting.is_asked_in(tree) for waiting in self._asked):
            tree.released = self._now

    def _release_cluster(self, cluster: ClusterLine) -> bool:
        """Whether anybody was parked."""
        parked = list(cluster.parked)
        for alike in parked:
            alike.release()
            self._sort(alike)
        return bool(parked)

    def _sort(self, alike: Alike) -> None:
        alike.cluster.sort(alike)
        if alike.ready.size:
            self._open.add(alike.cluster)

    # ---- one queue

    def _configure(self, cluster: ClusterLine, strategy: str, active: bool, tree: str) -> None:
        if (cluster.strategy, cluster.active, cluster.tree.name) == (strategy, active, tree):
            return
        cluster.strategy, cluster.active, cluster.changes = strategy, active, next(self._numbers)
        if cluster.tree.name != tree:
            self._leave_tree(cluster)
            cluster.tree = self._tree(tree)
            cluster.tree.clusters.add(cluster)
        self._release_cluster(cluster)
        self._open.add(cluster)

    def _connect(self, local: LocalLine, cluster: ClusterLine | None, active: bool) -> None:
        if local.cluster is cluster and local.active == active:
            return
        old = local.cluster
        for waiting in local.waiting.values():
            self._leave(waiting)
        local.cluster, local.active = cluster, active
        if old is not None:
            old.locals.discard(local)
        if cluster is not None:
            cluster.locals.add(local)
        for waiting in local.waiting.values():
            self._enter(waiting)
        if old is not None:
            self._tidy_cluster(old)

    def _cluster(self, name: str) -> ClusterLine:
        cluster = self._clusters.get(name)
        if cluster is None:
            cluster = self._clusters[name] = ClusterLine(name, self._tree(NO_TREE))
            cluster.tree.clusters.add(cluster)
        return cluster

    def _local(self, key: str) -> LocalLine:
        return self._locals.setdefault(key, LocalLine(key))

    def _tree(self, name: str) -> Tree:
        return self._trees.setdefault(name, Tree(name))

    def _tidy_cluster(self, cluster: ClusterLine) -> None:
        if not cluster.exists and not cluster.locals:
            del self._clusters[cluster.name]
            self._open.discard(cluster)
            self._leave_tree(cluster)

    def _tidy_local(self, local: LocalLine) -> None:
        if not local.exists and not local.waiting:
            del self._locals[local.key]

    def _leave_tree(self, cluster: ClusterLine) -> None:
        tree = cluster.tree
        tree.clusters.discard(cluster)
        if not tree.clusters:
            self._trees.pop(tree.name, None)
            self._put_off.discard(tree)
