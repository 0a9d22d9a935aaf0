"""Nodes with free room for pods for which nothing may be evicted, although their scheduler would evict.

kube-scheduler also presents members of its own gangs with all pods of lower priority gone, and does not say so. It does
so after it has found no room for any of them, and would evict on every node that filter leaves it then. So a node
that filter names must be one that the scheduler itself would have found: our view may be older than the scheduler's.
What counts there is all that it counts, as far as the mirror shows it (pods, nominations), or may show it later: pods
that filter let pass, this one's siblings among them.
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
        free = [name for name in names if self.is_free(pod, requests, name)]
        barred = set(self._promises.let_pass(pod, requests, priority, free))
        node = next((name for name in free if name not in barred), None)
        if node is not None:
            self._promises.reservations.grants.note(pod, [node], requests)
        return node

    def is_free(self, pod: Pod, requests: Requests, node: str) -> bool:
        """Whether the scheduler itself finds room for the pod on the node, beside all pods there."""
        wanted = {resource: amount for resource, amount in requests.items() if amount > 0}
        if not self._fits(wanted, {}, node):
            return False
        return self._fits(wanted, self._promises.coming(pod, node), node)

    def _fits(self, wanted: Requests, coming: Requests, node: str) -> bool:
        return all(
            amount + coming.get(resource, 0) <= self._roster.free_now(node, resource)
            for resource, amount in wanted.items()
        )
