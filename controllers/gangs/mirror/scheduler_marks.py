"""The pods that kube-scheduler has marked to evict them: a projection of watched pods.

It writes the condition DisruptionTarget, and deletes the pod then. Our own marks are signed (`MarkedPods`). A pod may
be gone a few milliseconds later, so a mark is remembered for a while.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from api.clock import Clock
from api.core import Pod
from api.preempted import mark_in

__all__ = ["GONE_SECONDS", "SchedulerMarks"]

GONE_SECONDS: Final = 30.0
"""How long the mark of a pod that is gone is remembered."""


class _Seen(NamedTuple):
    """A marked pod."""

    node: str
    since: float
    """When this process first saw the mark, in monotonic seconds."""


class SchedulerMarks:
    """Pods that are marked, until they are gone, and for a while those that are gone."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, _Seen] = {}
        self._gone: dict[str, _Seen] = {}
        """Those of them that have gone. The time is that of the mark."""
        self._ends: deque[tuple[float, str]] = deque()
        """When each of these is forgotten, in monotonic seconds, in order."""
        self._on: defaultdict[str, set[str]] = defaultdict(set)

    def __contains__(self, uid: object) -> bool:
        return uid in self._seen

    def __iter__(self) -> Iterator[str]:
        """UIDs."""
        return iter(list(self._seen))

    def node_of(self, uid: str) -> str | None:
        """The node of the marked pod; None if it is not marked."""
        seen = self._seen.get(uid)
        return seen.node if seen is not None else None

    def on(self, node: str, *, since: float) -> set[str]:
        """Pods (UIDs) on the node whose mark was first seen at this time (monotonic seconds) or later."""
        return {uid for uid in self._on.get(node, ()) if self._seen[uid].since >= since}

    def ever_on(self, node: str, *, since: float) -> set[str]:
        """The same, with those that have gone in the last seconds."""
        self._forget()
        gone = {uid for uid, each in self._gone.items() if each.node == node and each.since >= since}
        return gone | self.on(node, since=since)

    def last_on(self, nodes: Iterable[str]) -> float:
        """When a mark on one of these nodes was last seen for the first time, in monotonic seconds; 0 without marks.

        Pods that have gone in the last seconds count as well.
        """
        self._forget()
        names = {*nodes}
        there = (self._seen[uid].since for node in names for uid in self._on.get(node, ()))
        gone = (each.since for each in self._gone.values() if each.node in names)
        return max(chain(there, gone), default=0.0)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The tables have a new state of a pod; None when it is gone."""
        before = self._seen.get(uid)
        is_marked = (
            pod is not None and bool(pod.spec.node_name) and mark_in(pod.status.conditions or ()) is not None
        )
        if is_marked == (before is not None):
            return
        if before is not None:
            del self._seen[uid]
            self._on[before.node].discard(uid)
            if not self._on[before.node]:
                del self._on[before.node]
            if pod is None:
                self._forget()
                self._gone[uid] = before
                self._ends.append((self._clock.monotonic() + GONE_SECONDS, uid))
        elif pod is not None:
            node = pod.spec.node_name
            self._seen[uid] = _Seen(node, self._clock.monotonic())
            self._on[node].add(uid)

    def _forget(self) -> None:
        now = self._clock.monotonic()
        while self._ends and self._ends[0][0] < now:
            self._gone.pop(self._ends.popleft()[1], None)
