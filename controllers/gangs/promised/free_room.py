"""Nodes with free room for pods for which nothing may be evicted, although their scheduler would evict.

kube-scheduler also presents members of its own gangs with all pods of lower priority gone, and does not say so. So the
mirror says what is free, and what one pod was offered counts against the next one.
"""

from __future__ import annotations

from collections.abc import Iterable

from api.core import Pod
from controllers.gangs.mirror.group_members import Requests
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.promises import Promises

__all__ = ["FreeRoom"]


class FreeRoom:
    """Finds one node for one pod. Room of pods that terminate is not free yet."""

    def __init__(self, roster: Roster, promises: Promises) -> None:
        self._roster, self._promises = roster, promises

    def find(self, pod: Pod, requests: Requests, priority: int, names: Iterable[str]) -> str | None:
        """The first of these nodes with room for the pod that nobody else is promised; None if there is none.

        The pod counts as on its way there from now on.
        """
        free = [name for name in names if self._has_room(pod.metadata.uid, requests, name)]
        barred = set(self._promises.let_pass(pod, requests, priority, free))
        node = next((name for name in free if name not in barred), None)
        if node is not None:
            self._promises.reservations.grants.note(pod, [node], requests)
        return node

    def _has_room(self, uid: str, requests: Requests, node: str) -> bool:
        grants = self._promises.reservations.grants
        others = [each.requests for each in grants.values() if each.pod != uid and node in each.nodes]
        return all(
            amount + sum(other.get(resource, 0) for other in others) <= self._roster.free_now(node, resource)
            for resource, amount in requests.items()
            if amount > 0
        )
