"""Who comes to the room that plans are freeing without asking: pods of other schedulers, and pods with a nodeName.

Filter notes each pod that it lets onto a node with reserved room (`Grants`). A pod that is bound there without such a
note never asked, unless nobody may have answered when it did (`Unanswered`). Known of pods that come while this process
leads.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

from api.core import Pod
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey
from controllers.gangs.mirror.roster import Roster

__all__ = ["Arrivals"]


@dataclass(slots=True)
class _Watched:
    """A plan that evicts."""

    group: GroupKey
    nodes: Set[str]
    known: set[str]
    """Pods (UIDs) that were there before, or that have come since."""
    taken: set[str] = field(default_factory=set)
    """Nodes to which pods came that had not asked."""
    open: bool = True

    def concerns(self, uid: str, pod: Pod, gang: GroupKey | None) -> bool:
        """Whether a bound pod, which is of this gang, has just come for the plan's room, and is not of the plan's."""
        if not self.open or pod.spec.node_name not in self.nodes:
            return False
        return uid not in self.known and gang != self.group


class Arrivals:
    """Watches the nodes where plans evict, from the first eviction to the plan's end. Kept until it is forgotten."""

    def __init__(
        self, roster: Roster, has_asked: Callable[[str, str], bool], may_have_asked: Callable[[Pod], bool]
    ) -> None:
        """`has_asked`: whether filter let the pod (UID) onto the node. `may_have_asked`: whether it may have asked in
        vain."""
        self._roster, self._has_asked, self._may_have_asked = roster, has_asked, may_have_asked
        self._watched: dict[GroupKey, _Watched] = {}

    def watch(self, plan: ActivePlan) -> None:
        """The plan begins to evict, or is resumed. The pods that are there now have not come since."""
        evicting = {pod.node for victim in plan.spec.victims for pod in victim.pods}
        nodes = evicting & {member.node for member in plan.members.values()}
        self._watched[plan.group] = _Watched(plan.group, nodes, self._roster.bound_on(nodes))

    def close(self, group: GroupKey) -> None:
        """The plan has ended. Its room is free for all: who comes now need not ask."""
        if (watched := self._watched.get(group)) is not None:
            watched.open = False
            watched.known.clear()

    def forget(self, group: GroupKey) -> None:
        """Nobody will want to know any more."""
        self._watched.pop(group, None)

    def taken(self, group: GroupKey) -> frozenset[str]:
        """Nodes of the group's plan to which pods came that never asked."""
        watched = self._watched.get(group)
        return frozenset(watched.taken) if watched is not None else frozenset()

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod. To be called before its grant is settled."""
        if pod is None or not pod.spec.node_name:
            return
        gang = self._roster.gang_of(pod) if self._watched else None
        for watched in self._watched.values():
            if watched.concerns(uid, pod, gang):
                watched.known.add(uid)
                if not (self._has_asked(uid, pod.spec.node_name) or self._may_have_asked(pod)):
                    watched.taken.add(pod.spec.node_name)
