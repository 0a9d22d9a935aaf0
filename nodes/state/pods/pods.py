"""The table of pods that use room or ask for it. A pod that Succeeded or Failed is not in it.

What is kept of members that Succeeded is in `nodes.state.pods.succeeded`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Set
from typing import Final

import numpy as np

from api.core import Pod
from api.disruption import DaemonSetPods
from nodes.filters.pod_volumes import claims_of
from nodes.filters.profile import DEFAULT_SCHEDULER, Profiles
from nodes.state.columns.change_log import ChangeLog
from nodes.state.columns.class_table import ClassTable
from nodes.state.columns.classes import PodClass
from nodes.state.columns.columns import Column, Columns, Register, Rows
from nodes.state.columns.flags import STAYING, UNSAID
from nodes.state.columns.known_classes import KnownClasses
from nodes.state.columns.name_order import NameOrder
from nodes.state.columns.paged import PagedList
from nodes.state.columns.shared import SharedDict
from nodes.state.groups.budgets import LabelSets
from nodes.state.groups.groups import GroupKey, GroupTable
from nodes.state.groups.owner_groups import OwnerGroups
from nodes.state.nodes import NodeTable
from nodes.state.pods.counts import PodCounts
from nodes.state.pods.health import PodHealth
from nodes.state.pods.nominations import Nominations
from nodes.state.pods.pod_facts import (
    NOWHERE,
    Change,
    Controller,
    Facts,
    MemberStatus,
    controller_of,
    cost_of,
    deletion_time,
    flags_of,
    whole_seconds,
)
from nodes.state.pods.terminations import Terminations
from nodes.state.volumes.claimants import Claimants
from nodes.state.volumes.volume_facts import ClaimKey
from nodes.state.volumes.volumes import VolumeTable

__all__ = ["ENDED", "PodTable"]

ENDED: Final = frozenset({"Succeeded", "Failed"})
"""Phases in which a pod uses nothing any more."""
NO_LABELS: Final[dict[str, str]] = {}
NOTHING: Final = Change.NOTHING
"""A name of the module is found faster than a member of an enumeration. Every event of a pod comes here."""


class PodTable:
    """Pods by row; see `nodes.state.snapshot` for what the columns mean."""

    def __init__(
        self,
        classes: ClassTable,
        nodes: NodeTable,
        groups: GroupTable,
        label_sets: LabelSets,
        volumes: VolumeTable,
        owners: OwnerGroups,
        profiles: Profiles,
        daemon_set_pods: DaemonSetPods,
    ) -> None:
        self._known_classes, self._owners = KnownClasses(profiles), owners
        self._daemon_set_pods: Final[DaemonSetPods] = daemon_set_pods
        self.claimants = Claimants(volumes)
        self._classes, self._nodes, self._groups, self._label_sets = classes, nodes, groups, label_sets
        self.live = Column(np.bool_)
        self.node = Column(np.int32, NOWHERE)
        self.pod_class = Column(np.int32)
        self.group = Column(np.int32, NOWHERE)
        self.labels = Column(np.int32)
        self.priority = Column(np.int64)
        self.scheduler = Column(np.int32)
        self.controller = Column(np.int32, NOWHERE)
        self.start = Column(np.int64)
        self.created = Column(np.int64)
        self.cost = Column(np.int32, UNSAID)
        self.flags = Column(np.uint8)
        self._facts: tuple[Column[np.int32] | Column[np.int64] | Column[np.uint8], ...] = (
            self.node, self.pod_class, self.group, self.labels,
            self.priority, self.scheduler, self.controller, self.start, self.created, self.cost, self.flags,
        )  # fmt: skip
        self.health = PodHealth(label_sets)
        self._columns = Columns(self.live, self.health.column, *self._facts)
        self._rows = Rows()
        self.schedulers: Register[str] = Register()
        """Values of spec.schedulerName."""
        self.controllers: Register[Controller] = Register()
        """Who would create a pod again that is evicted."""
        self.namespaces: PagedList[str] = PagedList()
        self.names: PagedList[str] = PagedList()
        self.uids: PagedList[str] = PagedList()
        self.name_order = NameOrder(self.namespaces, self.names)
        self.status: dict[int, MemberStatus] = {}
        """Of groups' members only."""
        self._on_node: dict[int, set[int]] = {}
        """Bound pods by the row of their node."""
        self.counts = PodCounts(nodes, groups, classes, self.node)
        self.nominations = Nominations(nodes)
        self.terminations = Terminations()
        self.changed: ChangeLog[str] = ChangeLog()
        """UIDs of the pods that came, went or changed in a column or in `status`."""
        self.apart_changes = 0
        """Grows with such a change of a pod that may keep other pods off nodes: see `ClassTable.keeping_apart`."""
        self.moves = 0
        """Grows when a pod comes to a node or leaves one, and when a pod on a node changes."""
        self._by_name: dict[tuple[str, str], int] = {}
        self._by_uid: SharedDict[str, int] = SharedDict()

    def __len__(self) -> int:
        """Pods that exist and have not ended."""
        return len(self._by_name)

    @property
    def size(self) -> int:
        """The number of rows, including free rows."""
        return self._rows.size

    def find(self, uid: str) -> int | None:
        """The row of the pod with this UID."""
        return self._by_uid.items.get(uid)

    def on(self, node: int) -> Set[int]:
        """Rows of the pods that are bound to the node in this row. Good until the next event."""
        return self._on_node.get(node, frozenset())

    def controller_of(self, uid: str) -> str | None:
        """The UID of what controls the pod with this UID; empty if nothing does, None if there is no such pod."""
        row = self.find(uid)
        if row is None:
            return None
        found = self.controllers.keys[held] if (held := self.controller.cells[row]) != NOWHERE else None
        return found.uid if found is not None else ""

    def share_rows(self) -> Mapping[str, int]:
        """The current rows by UID, for a snapshot to keep.

        This copies nothing. The next pod that comes or goes causes the copy: about a millisecond with 150,000 pods.
        """
        return self._by_uid.share()

    def upsert(self, pod: Pod) -> Change:
        """Add or change a pod. Raises ValueError, and changes nothing, for an invalid quantity or time."""
        meta = pod.metadata
        if pod.status.phase in ENDED:
            return self.delete(meta.namespace, meta.name)
        row = self._by_name.get((meta.namespace, meta.name))
        deletion, claims = deletion_time(pod), claims_of(pod)
        bare, told = self._known_classes.of(pod), self._owners.told(pod)
        facts = self._hold(pod, self.claimants.resolved(bare, claims), deletion, self._owners.unit(told))
        replaced, asks_otherwise = NOTHING, False
        is_another = row is not None and self.uids[row] != meta.uid
        if row is not None and is_another:
            replaced, row = self._remove(row), None
        if row is None:
            row = self._add(meta.namespace, meta.name, meta.uid)
            changed = self._set(row, facts, None)
        else:
            before = self._read(row)
            changed = self._set(row, facts, before)
            asks_otherwise = facts.priority != before.priority or self.counts.requests_otherwise(
                facts, before
            )
            self._release(before)
        self.claimants.note(row, bare, claims)
        if (group := self._owners.note(row, told)) is not None:
            self._groups.renew(group)
        if is_another and self._owners.may_move(row):  # what was known of its controller may be gone
            replaced = max(replaced, self.regroup({row}))
            facts = self._read(row)
        self.terminations.note(row, pod, deletion)
        nominated = self.nominations.note(row, facts, pod.status.nominated_node_name, asks_otherwise)
        healthy = self.health.note(row, facts, pod.status)
        return max(replaced, changed, nominated, healthy, self._note_status(row, facts.group, pod))

    def delete(self, namespace: str, name: str) -> Change:
        """Remove the pod."""
        row = self._by_name.get((namespace, name))
        return self._remove(row) if row is not None else NOTHING

    def tell_time(self, overdue: float) -> list[str]:
        """See `Tables.tell_time`."""
        changed = []
        for row, stays in self.terminations.tell_time(overdue):
            if bool(self.flags.array[row] & STAYING) != stays:
                before = self._read(row)
                self._set(row, before._replace(flags=before.flags ^ STAYING), before)
                changed.append(self.uids[row])
        return changed

    def look_behind(self, claims: Collection[ClaimKey]) -> Change:
        """Something else is behind these claims now: the pods that use them may have another class."""
        changed = NOTHING
        for row in self.claimants.users(claims):
            before = self._read(row)
            its_class, attaches_otherwise = self.claimants.look_again(row)
            facts = before._replace(pod_class=self._classes.hold(its_class))
            changed = max(changed, self._set(row, facts, before))
            self._classes.drop(before.pod_class)
            if attaches_otherwise and facts == before:
                self.changed.note(self.uids[row])
                if facts.group != NOWHERE:
                    self._groups.touch(facts.group)
                changed = max(changed, facts.weight)
        return changed

    def regroup(self, rows: Set[int]) -> Change:
        """The pods in these rows may belong to another group of an owner than before, or to none."""
        changed = NOTHING
        for row in sorted(rows):
            group, held = self._owners.group_in(row), self.group.cells[row]
            if group == (self._groups.keys.keys[held] if held != NOWHERE else None):
                continue
            before = self._read(row)
            facts = before._replace(group=self._groups.hold(group) if group is not None else NOWHERE)
            changed = max(changed, self._set(row, facts, before))
            if held != NOWHERE:
                self._groups.drop(held)
            if group is None:
                self.status.pop(row, None)
        return changed

    def _add(self, namespace: str, name: str, uid: str) -> int:
        row = self._rows.take()
        namespace = sys.intern(namespace)
        if row == len(self.names):
            self._columns.reach(row + 1)
            self.namespaces.append(namespace)
            self.names.append(name)
            self.uids.append(uid)
        else:
            self.namespaces[row], self.names[row], self.uids[row] = namespace, name, uid
        self.name_order.change(row)
        self._by_name[namespace, name] = row
        if uid:
            self._by_uid.own()[uid] = row
        self.live.cells[row] = True
        return row

    def _remove(self, row: int) -> Change:
        before = self._read(row)
        self._leave(row, before)
        if before.node != NOWHERE:
            self._nodes.count(self._nodes.pod_changes, before.node)
        self._release(before)
        nominated = self.nominations.end(row)
        self.changed.note(self.uids[row])
        self.terminations.forget(row)
        self.health.forget(row)
        self.claimants.forget(row)
        self._owners.forget(row)
        del self._by_name[self.namespaces[row], self.names[row]]
        self._by_uid.own().pop(self.uids[row], None)
        self.status.pop(row, None)
        self.live.cells[row] = False
        self.node.array[row] = self.group.array[row] = self.controller.array[row] = NOWHERE
        self.namespaces[row] = self.names[row] = self.uids[row] = ""
        self.name_order.change(row)
        self._rows.give_back(row)
        return max(before.weight, nominated)

    def _hold(self, pod: Pod, its_class: PodClass, deletion: float | None, group: GroupKey | None) -> Facts:
        """The pod's facts; classes, nodes, groups and label sets are referred to once more."""
        meta, spec = pod.metadata, pod.spec
        # Calls that may raise come first, so that an error changes nothing.
        created = whole_seconds(meta.creation_timestamp, "metadata.creationTimestamp", 0)
        start = whole_seconds(pod.status.start_time, "status.startTime", created)
        labels = meta.labels or NO_LABELS
        controller = controller_of(pod)
        stays = STAYING if self.terminations.is_overdue(deletion) else 0
        facts = (
            self._nodes.hold(spec.node_name) if spec.node_name else NOWHERE,
            self._classes.hold(its_class),
            self._groups.hold(group) if group is not None else NOWHERE,
            self._label_sets.hold(sys.intern(meta.namespace), labels),
            spec.priority or 0,
            self.schedulers.hold(spec.scheduler_name or DEFAULT_SCHEDULER)[0],
            self.controllers.hold(controller)[0] if controller is not None else NOWHERE,
            start,
            created,
            cost_of(pod),
            flags_of(pod, self._daemon_set_pods) | stays,
        )
        return tuple.__new__(Facts, facts)  # names take four times as long

    def _release(self, facts: Facts) -> None:
        if facts.node != NOWHERE:
            self._nodes.drop(facts.node)
        if facts.group != NOWHERE:
            self._groups.drop(facts.group)
        self._classes.drop(facts.pod_class)
        self._label_sets.drop(facts.labels)
        self.schedulers.drop(facts.scheduler)
        if facts.controller != NOWHERE:
            self.controllers.drop(facts.controller)

    def _read(self, row: int) -> Facts:
        return Facts(*[column.cells[row] for column in self._facts])

    def _set(self, row: int, facts: Facts, before: Facts | None) -> Change:
        if facts == before:
            return NOTHING
        if before is not None:
            self._leave(row, before)
        for column, value in zip(self._facts, facts, strict=True):
            column.cells[row] = value
        self.changed.note(self.uids[row])
        self.apart_changes += facts.pod_class in self._classes.keeping_apart
        if facts.node != NOWHERE:
            self.moves += 1
            requests = self._classes.requests.array[facts.pod_class]
            self._nodes.take(facts.node, requests, leaving=facts.leaves)
            beside = self._on_node.get(facts.node)
            if beside is None:
                beside = self._on_node[facts.node] = set()
            beside.add(row)
        if facts.group != NOWHERE:
            self._groups.members[facts.group].add(row)
            self._groups.touch(facts.group)
            self.counts.count_member(facts, 1)
        self.counts.count_pod(facts, before)
        return facts.weight if before is None else max(facts.weight, before.weight)

    def _leave(self, row: int, before: Facts) -> None:
        self.apart_changes += before.pod_class in self._classes.keeping_apart
        if before.node != NOWHERE:
            self.moves += 1
            requests = self._classes.requests.array[before.pod_class]
            self._nodes.take(before.node, -requests, leaving=before.leaves)
            on_node = self._on_node[before.node]
            on_node.discard(row)
            if not on_node:
                del self._on_node[before.node]
        if before.group != NOWHERE:
            self._groups.members[before.group].discard(row)
            self._groups.touch(before.group)
            self.counts.count_member(before, -1)

    def _note_status(self, row: int, group: int, pod: Pod) -> Change:
        """Keep the status of a group's member. The status of all pods would be the largest part of the mirror."""
        if group == NOWHERE:
            self.status.pop(row, None)
            return NOTHING
        scheduled = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
        status = MemberStatus(pod.status.nominated_node_name, scheduled)
        if self.status.get(row) == status:
            return NOTHING
        self.status[row] = status
        self.changed.note(self.uids[row])
        return Change.STATUS
