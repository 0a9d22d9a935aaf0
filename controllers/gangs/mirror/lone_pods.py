"""Pods that preempt alone, as the gangs of one that the planner takes them for: what `Roster` says of them."""

from __future__ import annotations

from collections.abc import Callable

from api.priority import preemption_policy
from api.times import rfc3339
from controllers.gangs.keys import GroupKey, LonePod
from controllers.gangs.mirror.group_members import Members, member_of
from nodes.search.preemptors.demand import Count, Demand
from nodes.search.preemptors.mismatch import mismatch
from nodes.state.columns.flags import GATED, NEVER, TERMINATING
from nodes.state.pod_view import PodView
from nodes.state.tables import Tables

__all__ = ["LonePods"]


class LonePods:
    """Questions to the tables. Such a pod has the priority with which
    `nodes.search.preemptors.preemptor.pod_preemptor` asks."""

    def __init__(self, tables: Tables, group_priority: Callable[[GroupKey], int | None]) -> None:
        """`group_priority`: of a PodGroup; None if it is not known."""
        self._tables, self._group_priority = tables, group_priority

    def find(self, pod: LonePod) -> PodView | None:
        """The pod; None if it is gone, terminates or is gated."""
        row = self._tables.pod(pod.uid)
        view = self._tables.view(row) if row is not None else None
        return view if view is not None and not view.flags & (TERMINATING | GATED) else None

    def priority(self, pod: LonePod) -> int | None:
        """Its group's, if it has one, else its own; None if it is gone, or the group's is not known."""
        view = self.find(pod)
        if view is None:
            return None
        is_member = view.group is not None and self._tables.groups.asking(view.group) is not None
        return self._group_priority(view.group) if view.group is not None and is_member else view.priority

    def created(self, pod: LonePod) -> str:
        """When it was created, as PodGroups say it; empty if it is gone."""
        view = self.find(pod)
        return rfc3339(view.created) if view is not None else ""

    def members(self, pod: LonePod) -> Members:
        """The pod itself, if it is there."""
        view = self.find(pod)
        return Members([view] if view is not None else ())

    def count(self, pod: LonePod) -> Count:
        """One member, which has to run."""
        view = self.find(pod)
        if view is None:
            return Count(0, 0, 0, None, 0)
        return Count(members=1, bound=int(view.node is not None), succeeded=0, minimum=1, gated=0)

    def demand(self, pod: LonePod) -> Demand | None:
        """Room for the pod on any node; None if it does not wait."""
        view = self.find(pod)
        if view is None or view.node is not None:
            return None
        return Demand(frozenset({(view.pod_class, 1)}), needed=1, topology_key=None)

    def why_no_evictions(self, pod: LonePod) -> str:
        """Why its own or its group's policy, or a difference between both, lets it evict nobody; else empty."""
        view, priority = self.find(pod), self.priority(pod)
        if view is None or priority is None:
            return "it has no known priority"
        if view.flags & NEVER:
            return "its preemptionPolicy is Never"
        group = self._tables.groups.asking(view.group) if view.group is not None else None
        if group is None:
            return ""
        if preemption_policy(group, self._tables.priority_classes) == "Never":
            return "the preemptionPolicy of its PodGroup is Never"
        differs = mismatch(group, priority, [member_of(view).asking])
        return differs.text if differs is not None else ""
