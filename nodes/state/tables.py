"""The state of a cluster in tables of columns. One thread changes them in place, one event at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Final

import numpy as np

from api.core import Namespace, Node, Pod, PodDisruptionBudget, PriorityClass
from api.devices import DeviceClass
from api.foreign_owners import OwnerObject, OwningStatefulSet
from api.groups import PodGroup
from api.owner_annotations import ByOwner
from api.storage import CSINode
from nodes.filters.pod_volumes import PodVolumes, claims_of
from nodes.filters.profile import Profiles
from nodes.groups.forms import PREEMPTING, Sources
from nodes.groups.keys import foreign_name
from nodes.groups.registry import OBJECTS, ForeignGroup
from nodes.state.columns.class_table import ClassTable
from nodes.state.columns.classes import NO_PROFILES
from nodes.state.columns.resources import Resources
from nodes.state.copying import copy_columns
from nodes.state.costs import CostRules
from nodes.state.groups.budgets import BudgetTable, LabelSets
from nodes.state.groups.groups import GroupKey, GroupTable
from nodes.state.groups.owner_groups import NO_MOVES, Moves, OwnerGroups
from nodes.state.nodes import NodeTable
from nodes.state.pod_view import MemberCounts, PodView
from nodes.state.pods.pod_facts import Change
from nodes.state.pods.pods import ENDED, PodTable
from nodes.state.pods.succeeded import SucceededMembers
from nodes.state.snapshot import Snapshot
from nodes.state.volumes.volume_facts import ClaimKey, ClaimUse
from nodes.state.volumes.volumes import StorageObject, VolumeTable

__all__ = ["Tables"]

DECISION: Final = Change.DECISION
NOTHING: Final = Change.NOTHING


class Tables:
    """Nodes, pods, groups, budgets and priority classes, without an API server.

    The tables accept every event as the newest state; `runtime.mirror.views` drops stale events first. Every method
    that changes a table returns what changed. It raises ValueError, and changes nothing, for an invalid quantity or
    time.
    """

    def __init__(
        self,
        costs: CostRules | None = None,
        profiles: Profiles = NO_PROFILES,
        by_owner: ByOwner = "Victims",
        *,
        is_complete: bool = False,
        preempting: Sources = PREEMPTING,
    ) -> None:
        """`profiles`: what the schedulers' filters do, if it is not the default. `by_owner`: see `nodes.groups`.
        `is_complete`: storage that is not there does not exist. `preempting`: sources whose gangs ask for room as one.
        """
        self.costs = costs or CostRules()
        self.profiles: Final = profiles
        self.version = 0
        """Grows with every change that could change a decision: see `Snapshot.version`."""
        self.resources = Resources()
        self.nodes = NodeTable(self.resources)
        self.owners = OwnerGroups(by_owner, lambda uid: self.pods.controller_of(uid), preempting)
        self.groups = GroupTable(self.owners.form, preempting)
        self.budgets = BudgetTable()
        self.label_sets = LabelSets(self.budgets)
        self.classes = ClassTable(self.resources)
        self.volumes = VolumeTable(is_complete)
        beside = self.classes, self.nodes, self.groups, self.label_sets, self.volumes, self.owners
        self.pods = PodTable(*beside, profiles, self.costs.daemon_set_pods)
        self.succeeded_members = SucceededMembers(self.groups, self.owners)
        self.priority_classes: dict[str, PriorityClass] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        """Labels by namespace."""
        self._unsettled: set[ClaimKey] = set()
        """Claims behind which something else may be: see `settle`."""
        self.backed: dict[str, str] = {}
        """Extended resources by the name of the DeviceClass that backs them."""
        self.class_changes = 0
        """Grows whenever a PriorityClass comes, goes, or changes what decisions depend on."""

    # ---- events

    def upsert_node(self, node: Node) -> Change:
        """Add or change a node."""
        return self._decides(self.nodes.upsert(node))

    def delete_node(self, name: str) -> Change:
        """Remove a node. The pods on it stay until they are deleted too."""
        return self._decides(self.nodes.delete(name))

    def upsert_pod(self, pod: Pod) -> Change:
        """Add or change a pod, or remove it if it Succeeded or Failed. Its group counts it if it Succeeded."""
        if pod.status.phase in ENDED:
            counted = self._decides(self.succeeded_members.note(pod))
            return max(counted, self._note(self.pods.upsert(pod)))
        changed = self._note(self.pods.upsert(pod))
        changed = max(changed, self._regroup(self.owners.pod_changed(pod.metadata.uid)))
        if not self.succeeded_members.any:
            return changed
        return max(changed, self._forget_succeeded(pod.metadata.namespace, pod.metadata.name))

    def delete_pod(self, namespace: str, name: str) -> Change:
        """Remove a pod."""
        return max(self._note(self.pods.delete(namespace, name)), self._forget_succeeded(namespace, name))

    def _forget_succeeded(self, namespace: str, name: str) -> Change:
        return self._decides(self.succeeded_members.forget(namespace, name))

    def upsert_group(self, group: PodGroup) -> Change:
        """Add or change a PodGroup."""
        key = group.metadata.namespace, group.metadata.name
        changed = self._decides_unit(self.groups.upsert(group), *key)
        return max(changed, self._regroup(self.owners.know_native(key, group)))

    def delete_group(self, namespace: str, name: str) -> Change:
        """Remove a PodGroup. Its pods stay."""
        changed = self._decides_unit(self.groups.delete(namespace, name), namespace, name)
        return max(changed, self._regroup(self.owners.know_native((namespace, name), None)))

    def upsert_foreign_group(self, item: ForeignGroup) -> Change:
        """Add or change an object that is a group of another kind."""
        return self.upsert_group(OBJECTS[type(item)].form(item))

    def delete_foreign_group(self, kind: type[ForeignGroup], namespace: str, name: str) -> Change:
        """Remove such an object. Its pods stay, and still go together."""
        return self.delete_group(namespace, foreign_name(OBJECTS[kind].source, name))

    def upsert_owner(self, item: OwnerObject) -> Change:
        """Add or change an object whose pods may be a group."""
        return self._regroup(self.owners.upsert_owner(item))

    def delete_owner(self, kind: type[OwnerObject], namespace: str, name: str) -> Change:
        """Remove such an object. Its pods stay."""
        return self._regroup(self.owners.delete_owner(kind, namespace, name))

    def set_preempting(self, sources: Sources) -> None:
        """Sources whose gangs ask for room as one. Before anybody asks about them."""
        self.groups.preempting = sources
        self.owners.set_preempting(sources)

    def set_by_owner(self, by_owner: ByOwner) -> Change:
        """From now on this counts where neither an owner nor its namespace says something."""
        return self._regroup(self.owners.set_default(by_owner))

    def upsert_stateful_set(self, item: OwningStatefulSet) -> Change:
        """Add or change a StatefulSet, which may be between pods and their LeaderWorkerSet."""
        return self._regroup(self.owners.upsert_stateful_set(item))

    def delete_stateful_set(self, namespace: str, name: str) -> Change:
        """Remove a StatefulSet. Its pods stay, and belong together as before."""
        self.owners.delete_stateful_set(namespace, name)
        return Change.NOTHING

    def _regroup(self, moves: Moves) -> Change:
        if moves is NO_MOVES:
            return NOTHING
        counted = self._decides(self.succeeded_members.regroup(moves.controllers, moves.natives))
        changed = max(counted, self._note(self.pods.regroup(moves.rows)))
        forms = [self._decides_unit(self.groups.renew(key), *key) for key in sorted(moves.groups)]
        return max([changed, *forms])

    def upsert_budget(self, budget: PodDisruptionBudget) -> Change:
        """Add or change a PodDisruptionBudget."""
        return self._decides(self.budgets.upsert(budget))

    def delete_budget(self, namespace: str, name: str) -> Change:
        """Remove a PodDisruptionBudget."""
        return self._decides(self.budgets.delete(namespace, name))

    def upsert_priority_class(self, priority_class: PriorityClass) -> Change:
        """Add or change a PriorityClass."""
        name = priority_class.metadata.name
        before = self.priority_classes.get(name)
        self.priority_classes[name] = priority_class
        return self._decides_classes(before is None or _weight(before) != _weight(priority_class))

    def delete_priority_class(self, name: str) -> Change:
        """Remove a PriorityClass."""
        return self._decides_classes(self.priority_classes.pop(name, None) is not None)

    def upsert_device_class(self, device_class: DeviceClass) -> Change:
        """Add or change a DeviceClass."""
        name, resource = device_class.metadata.name, device_class.spec.extended_resource_name
        if not resource:
            return self.delete_device_class(name)
        before = self.backed.get(name)
        self.backed[name] = resource
        return self._decides(before != resource)

    def delete_device_class(self, name: str) -> Change:
        """Remove a DeviceClass."""
        return self._decides(self.backed.pop(name, None) is not None)

    def upsert_storage(self, item: StorageObject) -> Change:
        """Add or change a claim, a volume or what describes storage. Pods have what it changes after `settle`."""
        drivers = self._drivers
        claims = self.volumes.upsert(item)
        return self._decides_claims(claims, self._has_changed(drivers, type(item), item.metadata.name))

    def delete_storage(self, kind: type[StorageObject], namespace: str, name: str) -> Change:
        """Remove an object of this kind. Pods have what it changes after `settle`."""
        drivers = self._drivers
        claims = self.volumes.delete(kind, namespace, name)
        return self._decides_claims(claims, self._has_changed(drivers, kind, name))

    def settle(self) -> None:
        """Look behind the claims of pods whose storage has changed. Whoever decides calls this first.

        A free volume changes something for every claim of its class. A cluster brings thousands of volumes at once, so
        pods are not looked at for each of them.
        """
        if self._unsettled:
            claims, self._unsettled = self._unsettled, set()
            self._note(self.pods.look_behind(claims))

    @property
    def _drivers(self) -> tuple[int, frozenset[str]]:
        """What claims do not tell of CSI drivers, to be compared."""
        return self.volumes.limits.changes, self.volumes.needed_drivers

    def upsert_namespace(self, namespace: Namespace) -> Change:
        """Add or change a namespace."""
        name, labels = namespace.metadata.name, namespace.metadata.labels or {}
        before = self.namespaces.get(name)
        self.namespaces[name] = labels
        regrouped = self._regroup(self.owners.upsert_namespace(name, namespace.metadata.annotations))
        return max(regrouped, self._decides_labels(before != labels))

    def delete_namespace(self, name: str) -> Change:
        """Remove a namespace. Its pods stay until they are deleted too."""
        regrouped = self._regroup(self.owners.upsert_namespace(name, None))
        return max(regrouped, self._decides_labels(self.namespaces.pop(name, None) is not None))

    def tell_time(self, overdue: float) -> list[str]:
        """Pods that should have been gone by `overdue` (seconds since the epoch) and are still there count as staying.

        Such a pod's node may be dead, or a finalizer holds it: its room is not counted as leaving, and nobody can evict
        it once more. metadata.deletionTimestamp says when a pod should be gone; its grace period is included. Whoever
        owns the clock tells the time, and the pod's flag changes here, with a new version: so snapshots, `free` and
        everybody who reads flags agree, and a decision depends on the tables alone. Nobody tells the time to tables
        that are filled from files. Returns the UIDs of the pods for which this has changed.
        """
        changed = self.pods.tell_time(overdue)
        self._decides(bool(changed))
        return changed

    # ---- what the extender asks between snapshots

    def pod(self, uid: str) -> int | None:
        """The row of the pod with this UID."""
        return self.pods.find(uid)

    def behind(self, pod: Pod) -> tuple[PodVolumes | None, tuple[ClaimUse, ...]]:
        """What is behind the claims of a pod that need not exist; None for a pod without claims."""
        claims = claims_of(pod)
        volumes = self.volumes.resolve(claims, exists=False) if claims else None
        return volumes, self.volumes.uses(claims)

    def claims_of(self, rows: Iterable[int]) -> set[ClaimKey]:
        """The claims that these pods use."""
        return self.pods.claimants.claims_of(rows)

    def view(self, row: int) -> PodView:
        """The pod in this row."""
        self.settle()
        return PodView(self, row)

    def controlled(self, uid: str) -> list[int]:
        """Rows of the pods whose controller has this UID."""
        pods, size = self.pods, self.pods.size
        rows = [row for row, each in enumerate(pods.controllers.keys) if each is not None and each.uid == uid]
        found: list[int] = np.flatnonzero(np.isin(pods.controller.array[:size], rows)).tolist()
        return found

    def members(self, key: GroupKey) -> Set[int]:
        """Rows of the pods whose label names the group, including bound, gated and terminating pods."""
        row = self.groups.keys.get(key)
        return self.groups.members[row] if row is not None else frozenset()

    def succeeded(self, key: GroupKey) -> Set[str]:
        """UIDs of the pods whose label names the group and that Succeeded. Good until the next event."""
        row = self.groups.keys.get(key)
        return self.succeeded_members.uids(row) if row is not None else frozenset()

    def count_succeeded(self, key: GroupKey) -> int:
        """See `SucceededMembers.count`."""
        row = self.groups.keys.get(key)
        return self.succeeded_members.count(row) if row is not None else 0

    def member_counts(self, key: GroupKey) -> MemberCounts:
        """How many of the group's pods have neither ended nor begun to terminate."""
        row = self.groups.keys.get(key)
        if row is None:
            return MemberCounts(0, 0, 0)
        groups = self.groups
        return MemberCounts(groups.waiting[row].total(), groups.running[row].total(), groups.gated[row])

    def touched(self, key: GroupKey) -> int:
        """A number that grows when the group or a member changes; 0 for an unknown group.

        A change of what the scheduler says of a member does not count.
        """
        row = self.groups.keys.get(key)
        return self.groups.touched[row] if row is not None else 0

    def free(self, node: str, resource: str, *, after_leaving: bool) -> int:
        """Allocatable less used; may be negative. `after_leaving`: terminating pods not overdue count as gone.

        0 for a node that does not exist, and for an unknown resource.
        """
        row, column = self.nodes.find(node), self.resources.get(resource)
        if row is None or column is None:
            return 0
        nodes = self.nodes
        room = nodes.allocatable.array.item(row, column) - nodes.used.array.item(row, column)
        return room + nodes.leaving.array.item(row, column) if after_leaving else room

    # ---- what has changed since somebody last asked

    @property
    def budget_changes(self) -> int:
        """Grows when something may help a gang that budgets stop: `BudgetTable.changes` and `PodHealth.exempted`."""
        return self.budgets.changes + self.pods.health.exempted

    @property
    def last_change(self) -> int:
        """The highest count so far. All counters below count in one sequence."""
        return self.nodes.last_change

    def node_changes(self, name: str) -> int:
        """Grows when the node comes, goes, or changes its labels, taints, unschedulable or allocatable.

        It never goes back, also when a node of the same name is created again. Heartbeats and pods do not move it.
        While there is no such node, it may grow for no reason.
        """
        return self.nodes.read(self.nodes.changes, name)

    def node_pod_changes(self, name: str) -> int:
        """Grows when a pod is bound there, leaves, begins to terminate, or changes what it requests; never back."""
        return self.nodes.read(self.nodes.pod_changes, name)

    def nomination_changes(self, name: str) -> int:
        """Grows when a pod is nominated to the node, changes its requests, or loses its nomination; never back."""
        return self.nodes.read(self.nodes.nomination_changes, name)

    def nominated(self, name: str) -> Set[int]:
        """Rows of the pods with this `status.nominatedNodeName` that are neither bound nor terminating.

        The node need not exist. Gated pods are among them. Good until the next event.
        """
        row = self.nodes.names.get(name)
        return self.pods.nominations.by_node.get(row, frozenset()) if row is not None else frozenset()

    # ---- snapshots

    def snapshot(self) -> Snapshot:
        """A copy of the columns."""
        self.settle()
        self.label_sets.match_again()
        return copy_columns(self)

    def _has_changed(self, drivers: object, kind: type[StorageObject], name: str) -> bool:
        """Whether `_drivers` is something else now. If a node's CSINode says so, the node has changed."""
        if self._drivers == drivers:
            return False
        node = self.nodes.find(name) if kind is CSINode else None
        if node is not None:
            self.nodes.count(self.nodes.label_changes, node)
        return True

    def _decides_unit(self, changed: bool, namespace: str, name: str) -> Change:
        row = self.groups.keys.get((namespace, name))
        if changed and row is not None:
            self.pods.counts.count_unit(row)
        return self._decides(changed)

    def _decides_classes(self, changed: bool) -> Change:
        self.class_changes += changed
        return self._decides(changed)

    def _decides_claims(self, claims: Collection[ClaimKey], drivers: bool) -> Change:
        self._unsettled.update(claims)
        return self._decides(drivers or bool(self.pods.claimants.users(claims)))

    def _decides_labels(self, changed: bool) -> Change:
        """Labels of namespaces matter only while a pod chooses namespaces by them. Then they may matter on any node."""
        if not changed or not self.classes.choosing_namespaces:
            return Change.NOTHING
        self.pods.apart_changes += 1
        for node in np.flatnonzero(self.nodes.live.array).tolist():
            self.nodes.count(self.nodes.label_changes, node)
        return self._decides(True)

    def _decides(self, changed: bool) -> Change:
        return self._note(Change.DECISION if changed else Change.NOTHING)

    def _note(self, change: Change) -> Change:
        self.version += change is DECISION
        return change


def _weight(priority_class: PriorityClass) -> tuple[int, bool, str | None]:
    return priority_class.value, priority_class.global_default, priority_class.preemption_policy
