"""Quota that a plan frees is promised to its preemptor, and other heads of queues count it as taken.

See docs/decisions/0040.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from api.workloads import Workload
from native.quota._quota import Ledger
from quota.state.overlap import Usage, numbered
from quota.state.snapshot import Holder, Queue, QuotaSnapshot
from quota.state.workloads import effective_priority, key_of

__all__ = ["Promise", "Promises", "Standing"]


@dataclass(frozen=True, slots=True)
class Promise:
    """The quota of one active plan.

    It ends when its preemptor is admitted, changes or is gone, and when the plan ends. Whoever keeps the promises
    drops it then. The end of a promise is like freed quota: parked workloads of the tree have to return, also after
    an admission.
    """

    key: str
    """The preemptor, `namespace/name`."""
    queue: str
    """The ClusterQueue of the preemptor."""
    priority: int
    usage: Mapping[tuple[str, str], int]
    """What the preemptor will use, by flavor and resource, in canonical units."""
    victims: frozenset[str]
    """The victims of the plan, `namespace/name`. They may be gone already."""
    former: frozenset[str] = frozenset()
    """The victims of earlier plans of the same preemptor that did not get it its quota."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A promise that counts in this cycle."""

    promise: Promise
    node: int
    frs: tuple[int, ...]
    amounts: tuple[int, ...]
    victims: Mapping[str, Holder]
    """Those that still hold quota, by key."""


class Promises:
    """The promises that heads of one cycle respect or pass. If there are none, the cycle is as without promises."""

    def __init__(
        self, snapshot: QuotaSnapshot, promises: Iterable[Promise], heads: Sequence[tuple[Queue, Workload]]
    ) -> None:
        """`snapshot`: the one that the turns of the cycle change. `promises`: at most one for each preemptor. `heads`:
        those that get a decision.

        Promises are passed over whose ClusterQueue does not exist, or has no such flavor any more, and those whose
        preemptor holds quota already.
        """
        self._ledger = snapshot.ledger
        self._parent: list[int] = snapshot.layout.quotas.parent.tolist()
        possible = [each for each in promises if _is_possible(snapshot, each)]
        self._gone = frozenset[str]().union(*(each.victims | each.former for each in possible))
        wanted = [each for each in possible if self._matters(snapshot, each, heads)]
        roots = {self._root(snapshot.queues[each.queue].node) for each in wanted}
        nodes = [queue.node for queue in snapshot.queues.values() if self._root(queue.node) in roots]
        holders = _holders(snapshot, wanted, nodes)
        self._standing = {
            each.key: _standing(snapshot, each, holders) for each in wanted if each.key not in holders
        }
        self._decides = bool(self._standing)
        """Whether heads were decided as if victims of promises were gone. That stays so once a promise is kept."""
        self._present = snapshot.ledger.snapshot() if self._decides else snapshot.ledger
        """What is held at this moment: without the usage of those who wait for others to leave."""
        self._waiting: set[str] = set()
        """Preemptors that had their turn. Their own entries count in the ledger of the turns."""

    def seen_by(self, queue: Queue, workload: Workload) -> list[Standing]:
        """The promises of its tree that the workload respects."""
        return [each for each in self._in_tree_of(queue) if self.respects(workload, each.promise)]

    def passed_by(self, queue: Queue, workload: Workload) -> list[Standing]:
        """The promises of its tree, to others, that the workload need not respect. Their victims leave all the same."""
        key = key_of(workload)
        return [
            each
            for each in self._in_tree_of(queue)
            if each.promise.key != key and not self.respects(workload, each.promise)
        ]

    def _in_tree_of(self, queue: Queue) -> Iterator[Standing]:
        root = self._root(queue.node)
        return (each for each in self._standing.values() if self._root(each.node) == root)

    def respects(self, workload: Workload, promise: Promise) -> bool:
        """Whether the workload must leave the promised quota alone: to another preemptor of equal or higher priority.

        A victim of a plan leaves all promises alone.
        """
        key = key_of(workload)
        if key == promise.key:
            return False
        # A victim of higher priority exists: reclaimWithinCohort may be Any. It must not take its room back either,
        # nor that of the next victim: two of them would take turns for ever. And if it took what another plan frees,
        # two preemptors would count on what is left, and one would evict it again.
        return effective_priority(workload) <= promise.priority or key in self._gone

    @contextmanager
    def counted(self, seen: Iterable[Standing]) -> Iterator[None]:
        """Within this context the ledger of the turns counts these promises as used. Each is counted once: if the
        preemptor had its turn, its entry counts already."""
        with _reserved(self._ledger, [each for each in seen if each.promise.key not in self._waiting]):
            yield

    def fits_now(self, queue: Queue, snapshot: QuotaSnapshot, usage: Usage, seen: Iterable[Standing]) -> bool:
        """Whether the usage is free at this moment, while no victim has left, and all these promises could still be
        kept if it were taken."""
        if not self._decides:
            return True
        frs, wanted = numbered(snapshot, usage)
        with _reserved(self._present, seen):
            available = [self._present.available(queue.node, fr) for fr in frs]
        return all(amount <= free for amount, free in zip(wanted, available, strict=True))

    def own(self, workload: Workload) -> Standing | None:
        """The promise to this workload."""
        return self._standing.get(key_of(workload))

    def waits(self, workload: Workload) -> None:
        """The workload had its turn, and waits. Its usage is reserved in the ledger of the turns."""
        self._waiting.add(key_of(workload))

    def admitted(self, queue: Queue, snapshot: QuotaSnapshot, workload: Workload, usage: Usage) -> None:
        """The workload has got this quota. The promise to it, if any, is kept."""
        if self._decides:
            self._present.reserve(queue.node, *numbered(snapshot, usage))
            self._standing.pop(key_of(workload), None)

    def _matters(
        self, snapshot: QuotaSnapshot, promise: Promise, heads: Iterable[tuple[Queue, Workload]]
    ) -> bool:
        """Whether a head of its tree respects the promise, or passes it: any head but its own preemptor."""
        root = self._root(snapshot.queues[promise.queue].node)
        return any(
            self._root(queue.node) == root and key_of(workload) != promise.key for queue, workload in heads
        )

    def _root(self, node: int) -> int:
        while self._parent[node] >= 0:
            node = self._parent[node]
        return node


def _is_possible(snapshot: QuotaSnapshot, promise: Promise) -> bool:
    """Whether the ClusterQueue still has each flavor of the promise."""
    queue = snapshot.queues.get(promise.queue)
    if queue is None:
        return False
    groups = ((flavor, queue.group_of.get(resource)) for flavor, resource in promise.usage)
    return all(group is not None and flavor in group.flavors for flavor, group in groups)


def _holders(snapshot: QuotaSnapshot, promises: Iterable[Promise], nodes: Iterable[int]) -> dict[str, Holder]:
    """The victims and preemptors of these promises that hold quota of these ClusterQueues, by key."""
    wanted: set[str] = set()
    for each in promises:
        wanted |= {each.key, *each.victims}
    found: dict[str, Holder] = {}
    for node in nodes:
        if len(found) == len(wanted):
            break
        for holder in snapshot.ledger.holders(node):
            if isinstance(holder, Holder) and holder.key in wanted:
                found[holder.key] = holder
    return found


def _standing(snapshot: QuotaSnapshot, promise: Promise, holders: Mapping[str, Holder]) -> Standing:
    frs, amounts = numbered(snapshot, promise.usage)
    victims = {key: holders[key] for key in sorted(promise.victims) if key in holders}
    return Standing(promise, snapshot.queues[promise.queue].node, frs, amounts, victims)


@contextmanager
def _reserved(ledger: Ledger, promises: Iterable[Standing]) -> Iterator[None]:
    counted = list(promises)
    for each in counted:
        ledger.reserve(each.node, each.frs, each.amounts)
    try:
        yield
    finally:
        for each in counted:
            ledger.unreserve(each.node, each.frs, each.amounts)
