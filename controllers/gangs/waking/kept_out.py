"""Pods that filter kept out of promised room, and the nodes whose room would let them pass.

Nothing in the cluster tells the scheduler that a reservation or a grant has ended. So whoever was kept out is woken by
what lets it pass: a node that it was kept out of has room for it now. A look compares what is left on each node with
what was left at the last look, and then checks those pods only that wait for a node which has gained. A node whose
claims became pods has gained nothing, although filter bars nobody there any longer.

What holds after each look: no pod in here would pass and find room on a node that it is kept out of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from api.core import Pod
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.group_members import Requests
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import pod_asks_with
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.waking.waker import Waker
from controllers.gangs.writing.writes import Writes

__all__ = ["KeptOut", "let_in"]

Int64s = NDArray[np.int64]

Shape = tuple[tuple[str, int], ...]
"""What a pod requests, sorted by resource. Pods of one shape and one priority pass or do not pass together."""

ANY: Final = ""
"""Stands for all nodes: the pod waits for many, or it is not known for which."""
MOST_NODES: Final = 256
"""A pod that is kept out of more nodes waits for any node."""
NOTHING: Final = -(2**62)
"""Less than what is left anywhere."""


class _Pod(NamedTuple):
    """A pod that waits."""

    priority: int
    shape: Shape
    nodes: frozenset[str]
    group: GroupKey | None
    is_guess: bool
    """Filter has not said for which nodes it waits."""


class _Level:
    """The pods of one priority."""

    def __init__(self) -> None:
        self.resources: list[str] = []
        """What the shapes name."""
        self.left: Int64s = np.zeros((0, 0), np.int64)
        """[n, len(resources)] What was left at the last look, or less. Rows are those of `Leftover`."""
        self.layout = 0
        self.names: Sequence[str] = ()
        """Those of `Leftover` at the last look: what `left` is about."""
        self.unchecked = False
        """The next look checks every node."""
        self.pods: dict[str, dict[Shape, set[str]]] = {}
        """UIDs by node and shape."""

    def add(self, uid: str, pod: _Pod) -> None:
        """The pod waits for its nodes."""
        self.resources += [resource for resource, _ in pod.shape if resource not in self.resources]
        for node in pod.nodes:
            self.pods.setdefault(node, {}).setdefault(pod.shape, set()).add(uid)

    def discard(self, uid: str, pod: _Pod) -> None:
        """It does not any longer."""
        for node in pod.nodes:
            shapes = self.pods[node]
            shapes[pod.shape].discard(uid)
            if not shapes[pod.shape]:
                del shapes[pod.shape]
            if not shapes:
                del self.pods[node]

    def note(self, left: Int64s, leftover: Leftover) -> None:
        """What is left now is what the next look compares with."""
        self.left, self.layout, self.names = left, leftover.layout, leftover.names

    def fit(self, left: Int64s) -> Int64s:
        """`left` of the last look in the form of this one: what was not there then has NOTHING."""
        fitted = np.full(left.shape, NOTHING, np.int64)
        rows, columns = self.left.shape
        fitted[:rows, :columns] = self.left
        return fitted


class KeptOut:
    """It holds pods while this process leads; `Waker` knows their names."""

    def __init__(self, leftover: Leftover, roster: Roster) -> None:
        self._leftover, self._roster = leftover, roster
        self._levels: dict[int, _Level] = {}
        self._pods: dict[str, _Pod] = {}
        self._groups: dict[GroupKey, tuple[int | None, set[str]]] = {}
        """The group's priority when its first pod was kept out, and the UIDs of its pods."""
        self._woken: set[str] = set()
        self._recalled: set[str] = set()
        self._ended: set[str] = set()
        """Nodes of plans that have ended since the last look."""

    def __len__(self) -> int:
        return len(self._pods)

    def hold(self, pod: Pod, priority: int, requests: Requests, nodes: Collection[str]) -> None:
        """Filter has just kept the pod out of these nodes. Those of earlier calls count as well until it is woken."""
        shape = tuple(sorted((resource, amount) for resource, amount in requests.items() if amount > 0))
        waits_for, before = frozenset(nodes), self._pods.get(pod.metadata.uid)
        if before is not None and not before.is_guess:
            waits_for |= before.nodes
        if len(waits_for) > MOST_NODES or ANY in waits_for:
            waits_for = frozenset((ANY,))
        self._put(pod.metadata.uid, _Pod(priority, shape, waits_for, self._roster.gang_of(pod), ANY in nodes))

    def recall(self, pod: Pod) -> None:
        """The pod's status says that filter has kept it out, and it is not in here. It waits for any node.

        Another process may have kept it out, and the room may have come back since. So it is woken once.
        """
        uid = pod.metadata.uid
        if uid not in self._pods:
            requests = self._roster.asks_for(pod)
            self.hold(pod, pod_asks_with(self._roster, pod), requests, (ANY,))
            if uid not in self._woken:
                self._recalled.add(uid)

    def forget(self, uid: str) -> None:
        """The pod is bound or gone."""
        self._woken.discard(uid)
        self._recalled.discard(uid)
        self._drop(uid)

    def plan_ended(self, nodes: Iterable[str]) -> None:
        """A plan on these nodes has ended. Whoever waits for one that is not reserved any longer is woken, room or not:
        it may evict somebody there.
        """
        self._ended.update(nodes)

    def take_recalled(self) -> set[str]:
        """Pods to wake because nobody knows what they wait for. They are in here no longer."""
        return self._take(set(self._recalled))

    def take_freed(self) -> set[str]:
        """Pods to wake because they would pass now. They are in here no longer."""
        freed = set(self._of_changed_groups())
        for priority, level in self._levels.items():
            freed.update(self._freed(priority, level))
            for node in self._ended:
                if self._leftover.is_open(node, priority):
                    freed.update(*level.pods.get(node, {}).values(), *level.pods.get(ANY, {}).values())
        self._ended.clear()
        return self._take(freed)

    # ---- looks: what filter would say now

    def _freed(self, priority: int, level: _Level) -> Iterator[str]:
        left = self._leftover.room(priority, level.resources)
        if level.layout != self._leftover.layout:
            level.unchecked = True
            for node in {*level.pods, *level.names} - {ANY}:
                if not self._leftover.has(node):  # it has no claims any longer, so all that is free is left
                    yield from self._passing(
                        level, node, [self._roster.free(node, r) for r in level.resources]
                    )
        gained = np.ones(len(left), np.bool_) if level.unchecked else (left > level.fit(left)).any(axis=1)
        level.note(left, self._leftover)
        level.unchecked = False
        for row in np.flatnonzero(gained).tolist():
            yield from self._passing(level, level.names[row], left[row].tolist())
        yield from self._nominees(priority, level)

    def _passing(self, level: _Level, node: str, room: list[int]) -> Iterator[str]:
        """Pods that wait for the node or for any, and would pass with so much room on it."""
        amounts = dict(zip(level.resources, room, strict=True))
        for waited_for in (node, ANY):
            for shape, uids in level.pods.get(waited_for, {}).items():
                if _fits(shape, amounts):
                    yield from uids

    def _nominees(self, priority: int, level: _Level) -> Iterator[str]:
        """Pods that wait for the node to which they are nominated: what is kept for each is its own."""
        for uid, row, requests in self._leftover.nominees(priority):
            pod, node = self._pods.get(uid), self._leftover.names[row]
            if pod is None or pod.priority != priority or not pod.nodes.intersection((node, ANY)):
                continue
            room = zip(level.resources, level.left[row].tolist(), strict=True)
            if _fits(pod.shape, {resource: left + requests.get(resource, 0) for resource, left in room}):
                yield uid

    def _of_changed_groups(self) -> Iterator[str]:
        """Pods that filter would ask for with another priority now."""
        for key, (priority, uids) in self._groups.items():
            if self._roster.group_priority(key) != priority:
                yield from uids

    # ---- who is in here

    def _put(self, uid: str, pod: _Pod) -> None:
        before = self._drop(uid)
        self._pods[uid] = pod
        is_new = pod.priority not in self._levels
        level = self._levels.setdefault(pod.priority, _Level())
        level.add(uid, pod)
        # What was left at this moment may be less than at the last look.
        left = self._leftover.room(pod.priority, level.resources)
        if is_new:
            level.note(left, self._leftover)
        elif level.layout == self._leftover.layout:
            level.left = np.minimum(left, level.fit(left))
        if before is not None and (before.priority, before.shape) != (pod.priority, pod.shape):
            level.unchecked = True  # nobody has checked its earlier nodes with what it asks for now
        if pod.group is not None:
            noted = self._groups.setdefault(pod.group, (self._roster.group_priority(pod.group), set()))
            noted[1].add(uid)

    def _take(self, uids: set[str]) -> set[str]:
        for uid in uids:
            self._drop(uid)
        self._recalled -= uids
        self._woken |= uids
        for priority in [priority for priority, level in self._levels.items() if not level.pods]:
            del self._levels[priority]
        return uids

    def _drop(self, uid: str) -> _Pod | None:
        pod = self._pods.pop(uid, None)
        if pod is None:
            return None
        self._levels[pod.priority].discard(uid, pod)
        if pod.group is not None:
            uids = self._groups[pod.group][1]
            uids.discard(uid)
            if not uids:
                del self._groups[pod.group]
        return pod


def let_in(kept_out: KeptOut, waker: Waker, writes: Writes) -> None:
    """Wake the pods that filter would no longer keep out, whatever has freed the room."""
    freed, recalled = kept_out.take_freed(), kept_out.take_recalled()
    waker.wake_kept_out(freed, "RoomFreed", "room that was reserved can be used now", writes)
    waker.wake_kept_out(recalled, "Restarted", "nobody knows any longer what it waited for", writes)


def _fits(shape: Shape, room: Requests) -> bool:
    return all(amount <= room[resource] for resource, amount in shape)
