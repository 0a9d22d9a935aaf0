"""The preemptor, which is the group or pod that asks for room: its priority, and which of its pods count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from api.disruption import BudgetPolicy
from api.groups import PodGroup
from api.priority import UnknownPriorityClass, group_priority, preemption_policy
from nodes.groups.forms import asking, by_its_pods
from nodes.groups.keys import is_native_name
from nodes.search.preemptors.gangs import minimum_of, topology_key_of
from nodes.search.preemptors.mismatch import Asking, Mismatch, mismatch
from nodes.search.preemptors.trying import NotTried, why_not_tried
from nodes.state.columns.flags import GATED, NEVER, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = [
    "DecisionError",
    "Preemptor",
    "asks_with",
    "group_preemptor",
    "not_tried",
    "pod_preemptor",
    "preemptor_of_pod",
    "priority_of_group",
]

HOSTNAME: Final = "kubernetes.io/hostname"


class DecisionError(ValueError):
    """No decision is possible, because an object is missing or wrong. Retry after that object changes.

    `subject` names the object ("PodGroup default/a"). `field` names the field, or is "" for the whole object.
    """

    def __init__(self, subject: str, field: str, problem: str) -> None:
        super().__init__(f"{subject}: {field}: {problem}" if field else f"{subject}: {problem}")
        self.subject = subject
        self.field = field
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Preemptor:
    """A group or pod that asks for room.

    Pods are rows of the snapshot, by creation, then by name. The search places them in this order.
    """

    kind: Literal["PodGroup", "Pod", "Workload"]
    """Of a Workload, the pods do not exist yet: see `nodes.search.preemptors.supposed`."""
    api_version: str
    namespace: str
    name: str
    uid: str
    priority: int
    evicts: bool
    """Whether it may evict."""
    mismatch: Mismatch | None
    """Why it may not, although its group's preemptionPolicy lets it. The live planner has a reason of its own."""
    group: int
    """Row of its group, -1 for a pod without one."""
    policy: Literal["gang", "basic"]
    minimum: int
    """How many members must run, including bound members: see `minimum_of`."""
    topology_key: str | None
    """The node label whose values are the domains. None means that the whole cluster is one domain."""
    bound: tuple[int, ...]
    unbound: tuple[int, ...]
    """The required members come first. Only `nodes.search.others` puts younger members before older ones."""
    among: frozenset[str] | None = None
    """The names of the nodes that may be its domains; None: every node."""
    budgets: BudgetPolicy = "Prefer"
    """How far the disruption budgets of its victims count."""

    @property
    def needed(self) -> int:
        """How many of the unbound members the group needs to run. The first ones are taken."""
        return max(0, self.minimum - len(self.bound))

    @property
    def required(self) -> tuple[int, ...]:
        """The unbound members that the group needs. Pods may be evicted for them."""
        return self.unbound[: self.needed]

    @property
    def later(self) -> tuple[int, ...]:
        """The other unbound members. They take free room only."""
        return self.unbound[self.needed :]


def group_preemptor(snapshot: Snapshot, namespace: str, name: str) -> Preemptor:
    """The PodGroup of that name. Raises DecisionError if the PodGroup or its PriorityClass does not exist."""
    subject = f"PodGroup {namespace}/{name}"
    row = _row_of_group(snapshot, namespace, name)
    group = snapshot.groups[row] if row is not None else None
    if row is None or group is None:
        raise DecisionError(subject, "", "there is no such object")
    members = _members(snapshot, row)
    priority = _asks_with(snapshot, group, members)
    spec = group.spec
    gang = spec.scheduling_policy.gang
    if (gang is None) == (spec.scheduling_policy.basic is None):
        raise DecisionError(subject, "spec.schedulingPolicy", "must have exactly one of basic and gang")
    is_bound = (snapshot.pod_node[members] >= 0).tolist()
    unbound = tuple(pod for pod, bound in zip(members, is_bound, strict=True) if not bound)
    evicts = gang is not None and preemption_policy(group, snapshot.priority_classes) != "Never"
    differs = mismatch(group, priority, _asking(snapshot, unbound)) if evicts else None
    return Preemptor(
        kind="PodGroup",
        api_version=group.api_version,
        namespace=namespace,
        name=name,
        uid=group.metadata.uid,
        priority=priority,
        evicts=evicts and differs is None,
        mismatch=differs,
        group=row,
        policy="gang" if gang is not None else "basic",
        minimum=minimum_of(group, len(members), snapshot.group_succeeded[row]) or 0,
        topology_key=topology_key_of(group),
        bound=tuple(pod for pod, bound in zip(members, is_bound, strict=True) if bound),
        unbound=unbound,
        budgets=snapshot.costs.budget_policy(namespace, group),
    )


def not_tried(snapshot: Snapshot, row: int, pods: Sequence[int]) -> NotTried | None:
    """Why kube-scheduler does not try the gang in this row, if it is of its own kind; None if it does, and for any
    other gang. `pods`: rows of all pods of the group that have not ended.

    Raises DecisionError if the PriorityClass of the PodGroup does not exist.
    """
    group = asking(snapshot.groups[row], snapshot.preempting) if row >= 0 else None
    if group is None or not is_native_name(snapshot.group_keys[row][1]):
        return None
    rows = np.array(pods, np.intp)
    gated = int((snapshot.pod_flags[rows] & (TERMINATING | GATED) == GATED).sum())
    members = _by_age(snapshot, rows)
    priority = _asks_with(snapshot, group, members)
    return why_not_tried(group, priority, _asking(snapshot, members), gated)


def asks_with(snapshot: Snapshot, row: int, pods: Sequence[int]) -> int | None:
    """The priority with which the group in this row asks for room, as `group_preemptor` has it. None if that would
    raise DecisionError. `pods`: rows of all pods of the group that have not ended."""
    group = snapshot.groups[row]
    if group is None:
        return None
    policy = group.spec.scheduling_policy
    if (policy.gang is None) == (policy.basic is None):
        return None
    try:
        if not by_its_pods(group):
            return priority_of_group(snapshot, group)
        return _asks_with(snapshot, group, _counted(snapshot, np.array(pods, np.intp)).tolist())
    except DecisionError:
        return None


def pod_preemptor(snapshot: Snapshot, namespace: str, name: str) -> Preemptor:
    """The pod of that name alone, as a gang of one. Each node is a domain.

    Raises DecisionError if the pod does not exist, terminates or is gated, or if the PriorityClass of its group does
    not exist.
    """
    row = _row_of_pod(snapshot, namespace, name)
    if row is None:
        raise DecisionError(f"Pod {namespace}/{name}", "", "there is no such object, or it has ended")
    return preemptor_of_pod(snapshot, row)


def preemptor_of_pod(snapshot: Snapshot, row: int) -> Preemptor:
    """The pod in this row: see `pod_preemptor`, which also says what is raised."""
    namespace, name = snapshot.pod_namespaces[row], snapshot.pod_names[row]
    subject = f"Pod {namespace}/{name}"
    flags = int(snapshot.pod_flags[row])
    if flags & TERMINATING:
        raise DecisionError(subject, "metadata.deletionTimestamp", "the pod terminates")
    if flags & GATED:
        raise DecisionError(subject, "spec.schedulingGates", "the pod is not to be scheduled yet")
    unit = snapshot.groups[snapshot.pod_group[row]] if snapshot.pod_group[row] >= 0 else None
    group = asking(unit, snapshot.preempting)
    bound = bool(snapshot.pod_node[row] >= 0)
    priority, evicts, differs = int(snapshot.pod_priority[row]), not flags & NEVER, None
    if group is not None:
        priority = _asks_with(snapshot, group, _members(snapshot, int(snapshot.pod_group[row])))
        evicts = preemption_policy(group, snapshot.priority_classes) != "Never"
        differs = mismatch(group, priority, _asking(snapshot, (row,))) if evicts and not bound else None
    return Preemptor(
        kind="Pod",
        api_version="v1",
        namespace=namespace,
        name=name,
        uid=snapshot.pod_uids[row],
        priority=priority,
        evicts=evicts and differs is None,
        mismatch=differs,
        group=int(snapshot.pod_group[row]) if unit is not None else -1,
        policy="gang",
        minimum=1,
        topology_key=HOSTNAME,
        bound=(row,) if bound else (),
        unbound=() if bound else (row,),
        budgets=snapshot.costs.budget_policy(namespace, group),
    )


def priority_of_group(snapshot: Snapshot, group: PodGroup) -> int:
    """The group's priority. Raises DecisionError if its PriorityClass does not exist."""
    try:
        return group_priority(group, snapshot.priority_classes)
    except UnknownPriorityClass as error:
        meta = group.metadata
        raise DecisionError(
            f"PodGroup {meta.namespace}/{meta.name}",
            "spec.priorityClassName",
            f"there is no PriorityClass {error.priority_class!r}",
        ) from error


def _row_of_pod(snapshot: Snapshot, namespace: str, name: str) -> int | None:
    named = (row for row, each in enumerate(snapshot.pod_names) if each == name)
    there = (row for row in named if snapshot.pod_live[row])
    return next((row for row in there if snapshot.pod_namespaces[row] == namespace), None)


def _asks_with(snapshot: Snapshot, group: PodGroup, members: Sequence[int]) -> int:
    """The priority with which the group asks for room: its own, or the lowest of its pods' if they alone say it."""
    if not by_its_pods(group):
        return priority_of_group(snapshot, group)
    return min(snapshot.pod_priority[np.array(members, np.intp)].tolist(), default=0)


def _row_of_group(snapshot: Snapshot, namespace: str, name: str) -> int | None:
    try:
        return snapshot.group_keys.index((namespace, name))
    except ValueError:
        return None


def _members(snapshot: Snapshot, group: int) -> list[int]:
    """Rows of the group's pods that have not ended, do not terminate and are not gated."""
    return _by_age(snapshot, np.flatnonzero(snapshot.pod_live & (snapshot.pod_group == group)))


def _counted(snapshot: Snapshot, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the pods that neither terminate nor are gated."""
    found: NDArray[np.intp] = rows[snapshot.pod_flags[rows] & (TERMINATING | GATED) == 0]
    return found


def _by_age(snapshot: Snapshot, rows: NDArray[np.intp]) -> list[int]:
    """The same by creation, then by name."""
    rows = _counted(snapshot, rows)
    pods = rows.tolist()
    aged = zip(snapshot.pod_created[rows].tolist(), snapshot.pod_names.at(pods), pods, strict=True)
    return [pod for _, _, pod in sorted(aged)]


def _asking(snapshot: Snapshot, pods: Sequence[int]) -> list[Asking]:
    rows = np.array(pods, np.intp)
    return [
        Asking(name, priority, bool(flags & NEVER), snapshot.schedulers[scheduler])
        for name, priority, flags, scheduler in zip(
            snapshot.pod_names.at(pods),
            snapshot.pod_priority[rows].tolist(),
            snapshot.pod_flags[rows].tolist(),
            snapshot.pod_scheduler[rows].tolist(),
            strict=True,
        )
    ]
