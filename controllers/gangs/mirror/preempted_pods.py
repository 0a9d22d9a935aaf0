"""Pods that a scheduler has preempted and that are gone, for as long as somebody may ask what was there before.

kube-scheduler preempts for the first members of a gang before the last one exists. Their victims may be gone by then.
What is kept ends: with the gang that has members on the node or nominated to it, after a while without one, and where
too much is kept, with the oldest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from api.clock import Clock
from api.core import Pod
from api.preempted import mark_in
from controllers.gangs.keys import GroupKey
from nodes.state.kept import KeptPod, keep
from nodes.state.tables import Tables

__all__ = ["KEPT_SECONDS", "PreemptedPods"]

KEPT_SECONDS: Final = 60.0
"""How long the pods of a node are kept without a gang that has a member there, and how often that is asked."""
KEPT_AT_MOST: Final = 20_000
"""Pods in all."""


@dataclass(frozen=True, slots=True)
class _Gone:
    """A pod that was preempted, and is gone."""

    pod: KeptPod
    at: float
    """When it went, in seconds since the epoch."""


@dataclass(slots=True)
class _Node:
    """What was preempted on a node."""

    beside: set[str]
    """The pods (UIDs) that were there when the first pod was marked."""
    gone: dict[str, _Gone] = field(default_factory=dict)
    """By UID."""
    lost: float = 0.0
    """When a pod went last that is not kept, in seconds since the epoch; 0 if all are kept."""


class PreemptedPods:
    """Follows the pods. The tables must have the newest state of a pod already."""

    def __init__(self, tables: Tables, is_open: Callable[[GroupKey], bool], clock: Clock) -> None:
        """`is_open`: whether a gang of this name waits, and has not run whole."""
        self._tables, self._is_open, self._clock = tables, is_open, clock
        self._marked: dict[str, KeptPod] = {}
        self._nodes: dict[str, _Node] = {}
        self._kept = 0
        self._due: deque[tuple[float, str]] = deque()
        """When each node of `_nodes` is looked at, in monotonic seconds, in order."""

    def __len__(self) -> int:
        """How many pods and nodes are kept."""
        return self._kept + len(self._marked) + len(self._nodes)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        self._forget()
        marked = self._marked.get(uid)
        if pod is None:
            if marked is not None:
                del self._marked[uid]
                self._went(marked)
            return
        is_marked = bool(pod.spec.node_name) and mark_in(pod.status.conditions or ()) is not None
        if is_marked == (marked is not None):
            return
        if marked is not None:
            del self._marked[uid]
        elif (row := self._tables.pod(uid)) is not None and (kept := keep(self._tables, row)) is not None:
            self._marked[uid] = kept
            self._node(kept.node)

    def gone_from(self, node: str, since: float) -> list[KeptPod] | None:
        """The pods that went from the node at `since` (seconds since the epoch) or later. None if not all are known."""
        here = self._nodes.get(node)
        if here is None:
            return []
        if here.lost and here.lost >= since:
            return None
        return [each.pod for each in here.gone.values() if each.at >= since]

    def newcomers(self, node: str, but: Collection[str]) -> set[str]:
        """UIDs of the pods that have come to the node since the first pod was marked there. `but`: these aside."""
        here = self._nodes.get(node)
        return self._on(node) - here.beside - set(but) if here is not None else set()

    def _forget(self) -> None:
        """Time has passed: forget what nobody asks for any longer."""
        while self._due and self._due[0][0] <= (now := self._clock.monotonic()):
            _, node = self._due.popleft()
            if self._is_asked_for(node):
                self._due.append((now + KEPT_SECONDS, node))
            else:
                self._kept -= len(self._nodes.pop(node).gone)

    def _node(self, name: str) -> _Node:
        here = self._nodes.get(name)
        if here is None:
            here = self._nodes[name] = _Node(self._on(name))
            self._due.append((self._clock.monotonic() + KEPT_SECONDS, name))
        return here

    def _went(self, pod: KeptPod) -> None:
        here = self._node(pod.node)
        here.gone[pod.uid] = _Gone(pod, self._clock.wall())
        self._kept += 1
        for other in (each for each in self._nodes.values() if each.gone):
            if self._kept <= KEPT_AT_MOST:
                break
            self._kept -= len(other.gone)
            other.lost = max(each.at for each in other.gone.values())
            other.gone.clear()

    def _on(self, node: str) -> set[str]:
        row = self._tables.nodes.find(node)
        uids = self._tables.pods.uids
        return {uids[pod] for pod in self._tables.pods.on(row)} if row is not None else set()

    def _is_asked_for(self, node: str) -> bool:
        tables = self._tables
        row = tables.nodes.find(node)
        there = {*tables.nominated(node), *(tables.pods.on(row) if row is not None else ())}
        groups = {tables.view(pod).group for pod in there}
        return any(group is not None and self._is_open(group) for group in groups)
