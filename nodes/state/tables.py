"""What is known of a cluster: tables of columns, changed in place by one event at a time, on one thread."""

from __future__ import annotations

from collections.abc import Set
from types import MappingProxyType

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.groups import PodGroup
from nodes.state.budgets import BudgetTable, LabelSets
from nodes.state.classes import PodClass
from nodes.state.groups import GroupKey, GroupTable
from nodes.state.nodes import NodeTable
from nodes.state.pods import Change, ClassTable, MemberStatus, PodTable
from nodes.state.resources import Resources
from nodes.state.snapshot import Snapshot

__all__ = ["PodView", "Tables"]


class Tables:
    """Nodes, pods, groups, budgets and priority classes, without an API server.

    Which of two states is the newer one is not asked here (`runtime.views` does): what comes counts. Every change
    says whether it was one; ValueError for quantities or times that cannot be read, with nothing changed.
    """

    def __init__(self) -> None:
        self.version = 0
        """Grows with every change that could change a decision, pods that only ask for themselves aside."""
        self.resources = Resources()
        self.nodes = NodeTable(self.resources)
        self.groups = GroupTable()
        self.budgets = BudgetTable()
        self.label_sets = LabelSets(self.budgets)
        self.classes = ClassTable(self.resources)
        self.pods = PodTable(self.classes, self.nodes, self.groups, self.label_sets)
        self.priority_classes: dict[str, PriorityClass] = {}

    # ---- events

    def upsert_node(self, node: Node) -> Change:
        """Add or change a node."""
        return self._decides(self.nodes.upsert(node))

    def delete_node(self, name: str) -> Change:
        """Remove a node; pods on it stay until they are deleted themselves."""
        return self._decides(self.nodes.delete(name))

    def upsert_pod(self, pod: Pod) -> Change:
        """Add or change a pod; one that Succeeded or Failed is removed."""
        return self._note(self.pods.upsert(pod))

    def delete_pod(self, namespace: str, name: str) -> Change:
        """Remove a pod."""
        return self._note(self.pods.delete(namespace, name))

    def upsert_group(self, group: PodGroup) -> Change:
        """Add or change a PodGroup."""
        return self._decides(self.groups.upsert(group))

    def delete_group(self, namespace: str, name: str) -> Change:
        """Remove a PodGroup; its pods stay."""
        return self._decides(self.groups.delete(namespace, name))

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
        return self._decides(before is None or _weight(before) != _weight(priority_class))

    def delete_priority_class(self, name: str) -> Change:
        """Remove a PriorityClass."""
        return self._decides(self.priority_classes.pop(name, None) is not None)

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

    def pod_by_name(self, namespace: str, name: str) -> int | None:
        """The row of the pod of this name."""
        return self.pods.find_name(namespace, name)

    def view(self, row: int) -> PodView:
        """The pod in this row."""
        return PodView(self, row)

    def members(self, key: GroupKey) -> Set[int]:
        """Rows of the pods whose label names the group: bound, gated and terminating ones included."""
        row = self.groups.keys.get(key)
        return self.groups.members[row] if row is not None else frozenset()

    def touched(self, key: GroupKey) -> int:
        """Grows whenever the group or one of its members changes (what the scheduler says of them aside); else 0."""
        row = self.groups.keys.get(key)
        return self.groups.touched[row] if row is not None else 0

    def free(self, node: str, resource: str, *, after_leaving: bool) -> int:
        """Allocatable less used; with `after_leaving`, terminating pods that are not overdue count as gone. May be
        negative.

        0 for a node that does not exist and a resource that nobody has.
        """
        row, column = self.nodes.find(node), self.resources.get(resource)
        if row is None or column is None:
            return 0
        nodes = self.nodes
        room = nodes.allocatable.array.item(row, column) - nodes.used.array.item(row, column)
        return room + nodes.leaving.array.item(row, column) if after_leaving else room

    # ---- what has changed since somebody last asked

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
        """Grows when a pending pod is nominated to the node, or when its nomination ends; never back."""
        return self.nodes.read(self.nodes.nomination_changes, name)

    def nominated(self, name: str) -> Set[int]:
        """Rows of the pods with this `status.nominatedNodeName` that are neither bound nor terminating.

        The node need not exist. Gated pods are among them. Good until the next event.
        """
        row = self.nodes.names.get(name)
        return self.pods.nominated.get(row, frozenset()) if row is not None else frozenset()

    # ---- snapshots

    def snapshot(self) -> Snapshot:
        """A copy of the columns."""
        self.label_sets.match_again()
        resources, order = self.resources.ordered()
        nodes, pods, groups = self.nodes, self.pods, self.groups
        n, p, c = nodes.names.size, pods.size, self.classes.classes.size
        return Snapshot(
            version=self.version,
            resources=resources,
            node_live=nodes.live.array[:n].copy(),
            node_names=[name or "" for name in nodes.names.keys],
            node_shapes=nodes.shapes.copy(),
            allocatable=nodes.allocatable.array[:n, order],
            used=nodes.used.array[:n, order],
            leaving=nodes.leaving.array[:n, order],
            pod_live=pods.live.array[:p].copy(),
            pod_namespaces=pods.namespaces.copy(),
            pod_names=pods.names.copy(),
            pod_uids=pods.uids.copy(),
            pod_rows=pods.share_rows(),
            pod_node=pods.node.array[:p].copy(),
            pod_class=pods.pod_class.array[:p].copy(),
            pod_group=pods.group.array[:p].copy(),
            pod_labels=pods.labels.array[:p].copy(),
            pod_priority=pods.priority.array[:p].copy(),
            pod_start=pods.start.array[:p].copy(),
            pod_created=pods.created.array[:p].copy(),
            pod_flags=pods.flags.array[:p].copy(),
            classes=self.classes.classes.keys.copy(),
            class_requests=self.classes.requests.array[:c, order],
            group_keys=[key or ("", "") for key in groups.keys.keys],
            groups=groups.objects.copy(),
            label_sets=self.label_sets.sets.copy(),
            label_budgets=self.label_sets.selected_by.copy(),
            budgets=self.budgets.rows.copy(),
            priority_classes=MappingProxyType(self.priority_classes.copy()),
            nominated=MappingProxyType(pods.nominations.copy()),
        )

    def _decides(self, changed: bool) -> Change:
        return self._note(Change.DECISION if changed else Change.NOTHING)

    def _note(self, change: Change) -> Change:
        self.version += change is Change.DECISION
        return change


class PodView:
    """A pod by its row, read from the columns when asked; good until the next event."""

    __slots__ = ("_tables", "row")

    def __init__(self, tables: Tables, row: int) -> None:
        self._tables = tables
        self.row = row

    @property
    def namespace(self) -> str:
        """metadata.namespace."""
        return self._tables.pods.namespaces[self.row]

    @property
    def name(self) -> str:
        """metadata.name."""
        return self._tables.pods.names[self.row]

    @property
    def uid(self) -> str:
        """metadata.uid."""
        return self._tables.pods.uids[self.row]

    @property
    def node(self) -> str | None:
        """The node that the pod is bound to, whether or not it exists."""
        row = self._tables.pods.node.array.item(self.row)
        return self._tables.nodes.names.keys[row] if row >= 0 else None

    @property
    def group(self) -> GroupKey | None:
        """The PodGroup that the pod's label names, whether or not it exists."""
        row = self._tables.pods.group.array.item(self.row)
        return self._tables.groups.keys.keys[row] if row >= 0 else None

    @property
    def pod_class(self) -> PodClass:
        """What the filters see of it."""
        its_class = self._tables.classes.classes.keys[self._tables.pods.pod_class.array.item(self.row)]
        if its_class is None:
            raise LookupError(f"row {self.row} holds no pod")
        return its_class

    @property
    def priority(self) -> int:
        """spec.priority, before a group's replaces it."""
        return self._tables.pods.priority.array.item(self.row)

    @property
    def created(self) -> int:
        """metadata.creationTimestamp, in seconds since the epoch."""
        return self._tables.pods.created.array.item(self.row)

    @property
    def flags(self) -> int:
        """`nodes.state.snapshot`'s TERMINATING, MIRROR, GATED, NEVER and STAYING."""
        return self._tables.pods.flags.array.item(self.row)

    @property
    def status(self) -> MemberStatus | None:
        """Of groups' members only."""
        return self._tables.pods.status.get(self.row)


def _weight(priority_class: PriorityClass) -> tuple[int, bool, str | None]:
    return priority_class.value, priority_class.global_default, priority_class.preemption_policy
