"""What ClusterQueues and Cohorts may use, counted anew for each question, without the engine of `quota/`.

The rules are Kueue's (pkg/cache/scheduler/resource_node.go), in their plainest form.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from api.kueue import ClusterQueue, Cohort, ResourceQuota
from api.workloads import Workload
from quota.state.amounts import QuotaError, quota_amount
from quota.state.workloads import holds_quota, key_of, usage

__all__ = ["FlavorResource", "Tree"]

FlavorResource = tuple[str, str]
Node = tuple[str, str]
"""(kind, name)"""
QUEUE, COHORT = "ClusterQueue", "Cohort"
NOTHING: Final = ResourceQuota("", "0")


class Holder(NamedTuple):
    """A Workload that holds quota."""

    queue: str
    usage: dict[FlavorResource, int]


@dataclass
class Tree:
    """Follows objects as they change. Amounts are canonical units of `quota.state.amounts`."""

    _specs: dict[Node, ClusterQueue | Cohort] = field(default_factory=dict)
    _holders: dict[str, Holder] = field(default_factory=dict)

    def put(self, item: ClusterQueue | Cohort | Workload) -> None:
        """The newest state of an object. A Workload whose usage cannot be read holds what it held."""
        if not isinstance(item, Workload):
            self._specs[item.kind, item.metadata.name] = item
            return
        key = key_of(item)
        if not holds_quota(item) or item.status.admission is None:
            self._holders.pop(key, None)
            return
        try:
            self._holders[key] = Holder(item.status.admission.cluster_queue, usage(item))
        except QuotaError:
            return

    def remove(self, item: ClusterQueue | Cohort | Workload) -> None:
        """The object is gone."""
        if isinstance(item, Workload):
            self._holders.pop(key_of(item), None)
        else:
            self._specs.pop((item.kind, item.metadata.name), None)

    def held(self, key: str) -> dict[FlavorResource, int]:
        """What a Workload holds; empty if it holds nothing."""
        holder = self._holders.get(key)
        return dict(holder.usage) if holder is not None else {}

    def fits(self, key: str, only: Collection[FlavorResource] | None = None) -> bool:
        """Whether what a holder has (of these flavors and resources) would be free for it if it had nothing.

        True in a ClusterQueue that is gone.
        """
        holder = self._holders.pop(key)
        try:
            node = QUEUE, holder.queue
            return node not in self._specs or all(
                not amount or amount <= self._available(node, each)
                for each, amount in holder.usage.items()
                if only is None or each in only
            )
        finally:
            self._holders[key] = holder

    # ---- one node, one flavor and resource

    def _available(self, node: Node, what: FlavorResource) -> int:
        subtree, kept, used = self._subtree(node, what), self._kept(node, what), self._used(node, what)
        parent = self._parent(node)
        if parent is None:
            return subtree - used
        rest = self._available(parent, what)
        limit = self._limit(node, what, self._quota(node, what).borrowing_limit)
        if limit is not None:
            rest = min(rest, subtree - kept - max(0, used - kept) + limit)
        return max(0, kept - used) + rest

    def _subtree(self, node: Node, what: FlavorResource) -> int:
        own = self._limit(node, what, self._quota(node, what).nominal_quota) or 0
        return own + sum(
            self._subtree(child, what) - self._kept(child, what) for child in self._children(node)
        )

    def _kept(self, node: Node, what: FlavorResource) -> int:
        """What the node lends to nobody."""
        limit = self._limit(node, what, self._quota(node, what).lending_limit)
        return 0 if limit is None else max(0, self._subtree(node, what) - limit)

    def _used(self, node: Node, what: FlavorResource) -> int:
        kind, name = node
        if kind == QUEUE:
            return sum(each.usage.get(what, 0) for each in self._holders.values() if each.queue == name)
        return sum(
            max(0, self._used(child, what) - self._kept(child, what)) for child in self._children(node)
        )

    # ---- the tree

    def _parent(self, node: Node) -> Node | None:
        item = self._specs.get(node)
        if item is None:
            return None
        name = item.spec.cohort_name if isinstance(item, ClusterQueue) else item.spec.parent_name
        return (COHORT, name) if name else None

    def _children(self, node: Node) -> Iterator[Node]:
        return (each for each in self._specs if self._parent(each) == node)

    def _quota(self, node: Node, what: FlavorResource) -> ResourceQuota:
        item = self._specs.get(node)
        for group in (item.spec.resource_groups if item is not None else None) or ():
            for flavor in group.flavors:
                for each in flavor.resources:
                    if (flavor.name, each.name) == what:
                        return each
        return NOTHING

    def _limit(self, node: Node, what: FlavorResource, quantity: object) -> int | None:
        return None if quantity is None else quota_amount(what[1], str(quantity), str(node), str(what))
