"""Which plans a change of a node or a group concerns."""

from __future__ import annotations

from collections.abc import Set

from controllers.gangs.lifecycle.life import ActivePlan, GroupKey

__all__ = ["PlanIndex"]


class PlanIndex:
    """The plans that are carried out, by the nodes and the groups that they are about."""

    def __init__(self) -> None:
        self._plans: dict[GroupKey, str] = {}
        """Names of the plans by their gangs."""
        self._nodes: dict[GroupKey, Set[str]] = {}
        self._victims: dict[GroupKey, Set[GroupKey]] = {}
        self._on_node: dict[str, set[GroupKey]] = {}
        self._of_victim: dict[GroupKey, set[GroupKey]] = {}

    def __len__(self) -> int:
        return len(self._plans)

    def put(self, plan: ActivePlan) -> None:
        """The gang has this plan."""
        group = plan.group
        if self._plans.get(group) == plan.name:
            return
        self.remove(group)
        self._plans[group] = plan.name
        evicting = {pod.node for victim in plan.spec.victims for pod in victim.pods}
        self._nodes[group] = evicting | {placement.node for placement in plan.spec.placements}
        self._victims[group] = {
            (victim.namespace, victim.name) for victim in plan.spec.victims if victim.kind == "PodGroup"
        }
        for node in self._nodes[group]:
            self._on_node.setdefault(node, set()).add(group)
        for victim in self._victims[group]:
            self._of_victim.setdefault(victim, set()).add(group)

    def remove(self, group: GroupKey) -> None:
        """The gang has no plan."""
        if self._plans.pop(group, None) is None:
            return
        for node in self._nodes.pop(group):
            self._on_node[node].discard(group)
            if not self._on_node[node]:
                del self._on_node[node]
        for victim in self._victims.pop(group):
            self._of_victim[victim].discard(group)
            if not self._of_victim[victim]:
                del self._of_victim[victim]

    def on_node(self, node: str) -> Set[GroupKey]:
        """The gangs whose plans place or evict pods there."""
        return self._on_node.get(node, frozenset())

    def of_victim(self, group: GroupKey) -> Set[GroupKey]:
        """The gangs whose plans evict this group."""
        return self._of_victim.get(group, frozenset())
