"""Who comes to the room that plans are freeing without asking: pods of other schedulers, and pods with a nodeName.

Filter notes each pod that it lets onto a node with reserved room (`Grants`). A pod that is bound there without such a
note never asked. Known of pods that come while this process leads.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

from api.core import Pod
from api.times import parse_rfc3339
from controllers.gangs.life import ActivePlan, GroupKey
from controllers.gangs.roster import group_of

__all__ = ["Arrivals"]


@dataclass(slots=True)
class _Watched:
    """A plan that evicts."""

    nodes: Set[str]
    since: float
    """Seconds since the epoch."""
    asked: set[str] = field(default_factory=set)
    """Pods (UIDs) that came and had asked."""
    taken: set[str] = field(default_factory=set)
    """Nodes to which others came."""
    open: bool = True


class Arrivals:
    """Watches the nodes where plans evict, from the first eviction to the plan's end. Kept until it is forgotten."""

    def __init__(self, has_asked: Callable[[str, str], bool]) -> None:
        """`has_asked`: whether filter let the pod (UID) onto the node."""
        self._has_asked = has_asked
        self._watched: dict[GroupKey, _Watched] = {}

    def watch(self, plan: ActivePlan, since: float) -> None:
        """The plan begins to evict at `since`, in seconds since the epoch."""
        evicting = {pod.node for victim in plan.spec.victims for pod in victim.pods}
        nodes = evicting & {member.node for member in plan.members.values()}
        self._watched[plan.group] = _Watched(nodes, since)

    def close(self, group: GroupKey) -> None:
        """The plan has ended. Its room is free for all: who comes now need not ask."""
        if (watched := self._watched.get(group)) is not None:
            watched.open = False

    def forget(self, group: GroupKey) -> None:
        """Nobody will want to know any more."""
        self._watched.pop(group, None)

    def taken(self, group: GroupKey) -> frozenset[str]:
        """Nodes of the group's plan to which pods came that never asked."""
        watched = self._watched.get(group)
        return frozenset(watched.taken) if watched is not None else frozenset()

    def pod_changed(self, uid: str, pod: Pod | None, *, waited: bool) -> None:
        """There is a newer state of a pod. `waited`: before it, the pod was not bound.

        To be called before a grant is settled.
        """
        if pod is None or not pod.spec.node_name or not self._watched:
            return
        node = pod.spec.node_name
        for group, watched in self._watched.items():
            if (
                not watched.open
                or node not in watched.nodes
                or uid in watched.asked
                or group_of(pod) == group
            ):
                continue
            if self._has_asked(uid, node):
                watched.asked.add(uid)
            elif waited or _created(pod) >= watched.since:
                watched.taken.add(node)


def _created(pod: Pod) -> float:
    created = pod.metadata.creation_timestamp
    return parse_rfc3339(created, "metadata.creationTimestamp") if created else 0.0
