"""The mirror as gangs and plans see it: who belongs to a group, and what they need.

Everything is read when asked, on the event loop; nothing here is kept but members between two changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set

from api.core import Pod
from api.disruption import BudgetPolicy
from api.groups import PodGroup, goes_whole
from api.plans import PreemptionPlanSpec
from api.priority import UnknownPriorityClass, group_priority, preemption_policy
from controllers.gangs.keys import GroupKey, lone_pod
from controllers.gangs.lifecycle.life import ActivePlan, PlannedPod
from controllers.gangs.mirror.bound_domains import BoundDomains
from controllers.gangs.mirror.budgets_left import exceeded
from controllers.gangs.mirror.group_members import (
    Claim,
    GroupMembers,
    Members,
    MemberView,
    requests_of,
)
from controllers.gangs.mirror.lone_pods import LonePods
from controllers.gangs.mirror.node_roster import NodeRoster
from controllers.gangs.mirror.owners import Owners
from controllers.gangs.mirror.table_changes import TableChanges
from nodes.groups.forms import by_its_pods, is_basic, victim_priority
from nodes.groups.keys import is_native_name
from nodes.search.preemptors.demand import Count, Demand, count_members, demand_of
from nodes.search.preemptors.mismatch import mismatch
from nodes.search.preemptors.trying import NotTried, why_not_tried
from nodes.state.columns.classes import admits, counted_requests
from nodes.state.columns.flags import KEPT, STAYING, TERMINATING
from nodes.state.pod_view import PodView
from nodes.state.repelling import may_repel
from nodes.state.tables import Tables

__all__ = ["MemberView", "Roster"]


class Roster(NodeRoster):
    """Questions to the tables."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self._alone = LonePods(tables, self.group_priority)
        self.domains = BoundDomains(tables)
        self._members = GroupMembers(tables)
        self.owners = Owners(tables, self.running_members)
        self.changes = TableChanges(tables)

    @property
    def version(self) -> int:
        """Grows with every change that could change a decision."""
        return self._tables.version

    # ---- groups

    def on_touch(self, hook: Callable[[GroupKey], None]) -> None:
        """Call `hook` whenever a PodGroup or one of its members changes what decisions depend on."""
        self._tables.groups.on_touch(hook)

    def groups(self) -> Iterator[tuple[GroupKey, PodGroup]]:
        """Every PodGroup that exists."""
        return (((g.metadata.namespace, g.metadata.name), g) for g in self._tables.groups.live)

    def group(self, key: GroupKey) -> PodGroup | None:
        """The PodGroup, None if it does not exist, and for a pod that preempts alone."""
        return self._tables.groups.find(*key)

    def preemptor_uid(self, key: GroupKey) -> str | None:
        """The UID of the PodGroup, or of the pod that preempts alone; None if it does not exist."""
        if (alone := lone_pod(key)) is not None:
            return alone.uid if self._alone.find(alone) is not None else None
        group = self.group(key)
        return group.metadata.uid if group is not None else None

    def touched(self, key: GroupKey) -> int:
        """Grows whenever the group or one of its members changes."""
        return self._tables.touched(key)

    def group_priority(self, key: GroupKey) -> int | None:
        """The preemptor's priority; None if there is no such group or pod, or the group's class does not exist."""
        if (alone := lone_pod(key)) is not None:
            return self._alone.priority(alone)
        group = self._tables.groups.asking(key)
        if group is None:
            return None
        return self._tables.groups.lowest_priority(key) if by_its_pods(group) else self._own_priority(group)

    def _own_priority(self, group: PodGroup) -> int | None:
        try:
            return group_priority(group, self._tables.priority_classes)
        except UnknownPriorityClass:
            return None

    def rank(self, key: GroupKey) -> tuple[int, str, GroupKey]:
        """Sorts gangs in the order in which they may take room: priority, creation, name."""
        group, priority = self.group(key), self.group_priority(key)
        created = (group.metadata.creation_timestamp if group else None) or ""
        if (alone := lone_pod(key)) is not None:
            created = self._alone.created(alone)
        return (-priority if priority is not None else 2**31, created, key)

    # ---- members

    def members(self, key: GroupKey) -> list[MemberView]:
        """The group's members by creation, then name. A pod that preempts alone is its own only member."""
        return self.gang_members(key).ordered

    def gang_members(self, key: GroupKey) -> Members:
        """The same members for all kinds of questions. Good until the next event."""
        alone = lone_pod(key)
        return self._members.of(key) if alone is None else self._alone.members(alone)

    def count(self, key: GroupKey) -> Count:
        """The group's members in numbers."""
        if (alone := lone_pod(key)) is not None:
            return self._alone.count(alone)
        return count_members(self._tables, key)

    def minimum(self, key: GroupKey) -> int | None:
        """How many members must run; None if there is no such group, or it is no gang."""
        return self.count(key).minimum

    def succeeded(self, key: GroupKey) -> Set[str]:
        """UIDs of the group's pods that Succeeded. Good until the next event."""
        return self._tables.succeeded(key)

    def needed(self, key: GroupKey, *, but: Collection[str]) -> int:
        """How many of the pods `but` (UIDs) have to run so that as many members run as must; 0 if it is no gang."""
        minimum = self.minimum(key)
        if minimum is None:
            return 0
        return max(0, minimum - len(self.gang_members(key).bound.difference(but)))

    def evicts(self, key: GroupKey) -> bool:
        """Whether the group may evict."""
        return not self.why_no_evictions(key)

    def why_no_evictions(self, key: GroupKey) -> str:
        """Why its policy, or an unbound member that differs from it, lets the group evict nobody; else empty."""
        if (alone := lone_pod(key)) is not None:
            return self._alone.why_no_evictions(alone)
        group, priority = self.group(key), self.group_priority(key)
        if group is None or priority is None:
            return "its group has no known priority"
        if preemption_policy(group, self._tables.priority_classes) == "Never":
            return "the preemptionPolicy of its PodGroup is Never"
        members = self.gang_members(key)
        if mismatch(group, priority, members.kinds) is None:
            return ""
        differs = mismatch(group, priority, members.asking)
        return differs.text if differs is not None else ""

    def why_not_tried(self, key: GroupKey) -> NotTried | None:
        """Why kube-scheduler does not try a gang of its own kind; None if it does, and for any other gang."""
        if not is_native_name(key[1]):
            return None
        group, priority = self.group(key), self.group_priority(key)
        if group is None or priority is None:
            return None
        members, gated = self.gang_members(key), self.count(key).gated
        if not members.bound and why_not_tried(group, priority, members.kinds, gated) is None:
            return None
        return why_not_tried(group, priority, members.everybody, gated)

    def forget(self, key: GroupKey) -> None:
        """The group is gone: do not keep its members."""
        self._members.forget(key)
        self.domains.forget(key)

    def demand(self, key: GroupKey) -> Demand | None:
        """What the gang needs at least; None if it needs no member that waits."""
        if (alone := lone_pod(key)) is not None:
            return self._alone.demand(alone)
        return demand_of(self._tables, key)

    def waiting(self, plan: ActivePlan) -> dict[str, PlannedPod]:
        """The planned members that are not bound and have not Succeeded, by UID."""
        placed = self.gang_members(plan.group).bound | self.succeeded(plan.group)
        return {uid: member for uid, member in plan.members.items() if uid not in placed}

    def waits(self, group: GroupKey, uid: str) -> bool:
        """Whether a planned member of the group is not bound and has not Succeeded."""
        return uid not in self.gang_members(group).bound and uid not in self.succeeded(group)

    def unscheduled_message(self, uid: str) -> str:
        """Why the scheduler last turned the group's member down; empty if it has not."""
        view = self.view(uid)
        status = view.status if view is not None else None
        condition = status.scheduled if status is not None else None
        if condition is None or condition.status != "False" or condition.reason == "SchedulingGated":
            return ""  # the API server says that a pod is gated
        return condition.message

    def planned(self, spec: PreemptionPlanSpec) -> dict[str, PlannedPod]:
        """The pods that the plan is for, by UID: those that minCount needs. A pod that is gone requests nothing."""
        return {
            placement.uid: PlannedPod(
                placement.uid,
                placement.pod,
                placement.node,
                self.planned_requests(spec, placement.uid) or {},
                placement.any_node,
                placement.wave or 0,
            )
            for placement in spec.placements
            if not placement.beyond_min_count
        }

    # ---- what proofs are about

    @property
    def last_change(self) -> int:
        """The highest number of the counters below, which count in one sequence."""
        return self._tables.last_change

    def candidate(self, uid: str) -> PodView | None:
        """The pod, if it waits for a node; None if it is bound, terminates, or is gone."""
        view = self.view(uid)
        return view if view is not None and view.node is None and not view.flags & TERMINATING else None

    def own_priority(self, uid: str) -> int | None:
        """The pod's own priority, before a group's replaces it; None if it is gone."""
        view = self.view(uid)
        return view.priority if view is not None else None

    def may_be_repelled(self, uid: str, node: str) -> bool:
        """Whether pods on other nodes may keep the pod off this node, in a way that is not modelled."""
        row = self._tables.pod(uid)
        return row is not None and may_repel(self._tables, row, node)

    # ---- pods

    # A bound pod is staying or leaving. Of those that stay, the overdue ones terminate: they are not evictable.

    def staying(self, uid: str) -> Claim | None:
        """Where a bound pod runs that is not leaving, and what it uses; None if it is no such pod."""
        view = self.view(uid)
        return _claim(view) if view is not None and not _leaves(view) else None

    def evictable(self, uid: str) -> Claim | None:
        """Where a bound pod runs that one may ask to delete, and what it uses; None if it is no such pod."""
        view = self.view(uid)
        return _claim(view) if view is not None and not view.flags & (TERMINATING | KEPT) else None

    def is_kept(self, uid: str) -> bool:
        """Whether nobody may evict the pod: a static pod, or a pod of a DaemonSet if the configuration says so."""
        view = self.view(uid)
        return view is not None and bool(view.flags & KEPT)

    def budget_policy(self, key: GroupKey) -> BudgetPolicy:
        """How far budgets count now for the PodGroup, or for a pod that preempts alone."""
        pod = lone_pod(key)
        group = self.group(key) if pod is None else None
        if pod is not None and (named := self.group_of_pod(pod.uid)) is not None:
            group = self.group(named)
        return self._tables.costs.budget_policy(key[0], group)

    def over_budget(self, pods: Iterable[str], namespace: str) -> str:
        """See `controllers.gangs.mirror.budgets_left.exceeded`."""
        return exceeded(self._tables, pods, namespace)

    def grace_seconds(self, victims: Iterable[str]) -> float:
        """The longest grace period among these pods (UIDs)."""
        views = (self.view(uid) for uid in victims)
        return max((float(view.grace_seconds) for view in views if view is not None), default=0.0)

    def asks_for(self, pod: Pod) -> dict[str, int]:
        """What the pod's scheduler looks for on a node, with `pods`. Raises QuantityError."""
        return counted_requests(pod, self._tables.profiles)

    def waiting_requests(self, uid: str) -> Mapping[str, int] | None:
        """What a pod that waits for a node asks for; None if it is bound, terminates, or is gone."""
        view = self.view(uid)
        if view is None or view.node is not None or view.flags & TERMINATING:
            return None
        return requests_of(view)

    def planned_requests(self, spec: PreemptionPlanSpec, uid: str) -> Mapping[str, int] | None:
        """The same, of a pod that the plan places; None also for a pod of another namespace.

        A placement has no namespace, so a plan that was written by hand may name anybody's pod.
        """
        view = self.view(uid)
        is_own = view is not None and view.namespace == spec.preemptor.namespace
        return self.waiting_requests(uid) if is_own else None

    def leaving(self, uid: str) -> Claim | None:
        """Where a bound pod runs that terminates and is not overdue, and what it uses; None if it is no such pod."""
        view = self.view(uid)
        return _claim(view) if view is not None and _leaves(view) else None

    def class_key(self, uid: str) -> bytes | None:
        """The key of the pod's class: what the filters see of it; None if it is gone."""
        view = self.view(uid)
        return view.pod_class.key if view is not None else None

    def running_members(self, key: GroupKey) -> Set[str]:
        """UIDs of the group's bound pods that are not terminating. Good until the next event."""
        if (members := self._members.find(key)) is not None:
            return members.running
        views = (self._tables.view(row) for row in self._tables.members(key))
        return {view.uid for view in views if view.node is not None and not view.flags & TERMINATING}

    def running_priorities(self, key: GroupKey) -> frozenset[int]:
        """The own priorities of the group's pods that run."""
        return self._tables.groups.running_priorities(key)

    def unit_priority(self, uid: str) -> int | None:
        """The priority at which the pod may be evicted; None if that is not known.

        Its group's, if it has one; in a group that is evicted whole, the lowest of that and its running pods' own. In a
        group without a priority, its own.
        """
        view = self.view(uid)
        if view is None:
            return None
        group = self.group(view.group) if view.group is not None else None
        if view.group is None or group is None:
            return view.priority
        lowest: int | None = view.priority
        if self.all_mode_group(uid) is not None:
            lowest = self._tables.groups.running_priority(view.group)
        try:
            return victim_priority(group, lowest, self._tables.priority_classes)
        except UnknownPriorityClass:
            return None

    def gang_of(self, pod: Pod) -> GroupKey | None:
        """The group with which the pod is scheduled if it is a gang: see `OwnerGroups.gang_of`."""
        return self._tables.owners.gang_of(pod)

    def comes_by_backoff(self, pod: Pod) -> bool:
        """Whether nothing that we write brings the pod back to its scheduler: it is of a group of the scheduler's own
        kind, and such groups are planned for."""
        key = self.gang_of(pod)
        return key is not None and is_native_name(key[1])

    def native_beside(self, pod: Pod) -> GroupKey | None:
        """See `OwnerGroups.native_beside`."""
        return self._tables.owners.native_beside(pod)

    def preempts_by_pod(self, key: GroupKey) -> bool:
        """Whether the group is a basic one of kube-scheduler's own kind whose pods may preempt, each for itself."""
        group = self.group(key)
        if group is None or not is_basic(group):
            return False
        return preemption_policy(group, self._tables.priority_classes) != "Never"

    def group_of_pod(self, uid: str) -> GroupKey | None:
        """The group that the pod's label names, whether or not it exists."""
        view = self.view(uid)
        return view.group if view is not None else None

    def all_mode_group(self, uid: str) -> GroupKey | None:
        """The pod's group, if that is evicted whole or not at all."""
        view = self.view(uid)
        key = view.group if view is not None else None
        return key if key is not None and goes_whole(self.group(key)) else None

    def refusal(self, uid: str, node: str) -> str | None:
        """Why the node would not take the pod, room aside; None if it would."""
        view, row = self.view(uid), self._tables.nodes.find(node)
        shape = self._tables.nodes.shapes[row] if row is not None else None
        if view is None or shape is None:
            return "it is gone"
        return admits(view.pod_class, shape, node)

    def is_known(self, uid: str) -> bool:
        """Whether the tables have the pod."""
        return self._tables.pod(uid) is not None

    def view(self, uid: str) -> PodView | None:
        """The pod as the tables have it; None if it is gone."""
        row = self._tables.pod(uid)
        return self._tables.view(row) if row is not None else None


def _claim(view: PodView) -> Claim | None:
    return Claim(view.node, requests_of(view)) if view.node is not None else None


def _leaves(view: PodView) -> bool:
    return view.flags & (TERMINATING | STAYING) == TERMINATING
