"""Pods that filter let onto nodes, and that may have one before our watch shows it.

A scheduler tries one pod after the other. It assumes a pod on a node at once, or nominates it there, and tells the API
server later. So a pod that came by just now may have taken room that still looks free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Final

from api.clock import Clock
from api.core import Pod
from controllers.gangs.mirror.group_members import Requests
from controllers.gangs.promised.grants import Grants

__all__ = ["OnTheWay"]

SECONDS: Final = 10.0
"""How long such a pod counts at most. A scheduler binds within a second, but it may wait for volumes, and a pod that
keeps every node from others for long does more harm than one that is overlooked."""


class OnTheWay:
    """One entry a pod, of whatever kind. It ends when the watch shows the result of the attempt."""

    def __init__(self, clock: Clock) -> None:
        self._entries = Grants(clock, SECONDS)

    def __len__(self) -> int:
        return len(self._entries.values())

    def note(self, pod: Pod, nodes: Collection[str], requests: Requests) -> None:
        """The scheduler may put the pod on one of `nodes`, on any node if there are none.

        `pod` is as the scheduler sent it.
        """
        self._entries.expire()
        self._entries.note(pod, nodes, requests)

    def settle(self, uid: str) -> None:
        """The attempt has found no node, or the scheduler tries the pod anew."""
        self._entries.settle(uid)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The mirror has a new state of a pod; None when it is gone. A nomination counts by itself from now on."""
        self._entries.pod_changed(uid, pod)
        entry = self._entries.get(uid)
        if entry is not None and pod is not None and entry.has_nominated(pod):
            self.settle(uid)

    def taking(self, node: str, but: Callable[[str], bool]) -> Counter[str]:
        """What these pods may take on the node, without those (UID) for which `but` is true."""
        self._entries.expire()
        total = Counter[str]()
        for each in self._entries.values():
            if (not each.nodes or node in each.nodes) and not but(each.pod):
                total.update(each.requests)
        return total
