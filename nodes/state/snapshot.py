"""The snapshot that the search reads: a copy of the mirror's columns at one moment.

A snapshot is immutable by agreement. Code that needs other numbers (reservations, pods assumed gone) copies the column
first. An object keeps its row for as long as it exists. A freed row is dead (`*_live` is false) until another object
gets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from nodes.groups.forms import PREEMPTING
from nodes.state.columns.paged import Pages
from nodes.state.costs import CostRules

if TYPE_CHECKING:
    from api.core import PriorityClass
    from api.groups import PodGroup
    from nodes.filters.filter import NodeShape
    from nodes.filters.profile import Profiles
    from nodes.state.columns.classes import PodClass
    from nodes.state.columns.flags import Bools, Flags, Int32s, Int64s
    from nodes.state.groups.budgets import BudgetRow
    from nodes.state.groups.group_columns import GroupColumns
    from nodes.state.volumes.volume_facts import ClaimUse

__all__ = ["Exclusion", "PlanRoom", "Snapshot"]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A scheduler did not put a pod of some class on some node, against what the filters here say."""

    pod: str
    """NAMESPACE/NAME of an example: the pod that was tried. Empty if that is of another namespace than the plan's."""
    seen: str
    """What was seen of the scheduler."""


@dataclass(frozen=True, slots=True)
class PlanRoom:
    """What a stored plan says of the room that it holds until it ends."""

    kind: Literal["PodGroup", "Pod"]
    """Of its preemptor, as all that follows."""
    namespace: str
    name: str
    uid: str
    priority: int
    nodes: Mapping[str, str]
    """The planned node by the UID of each pod for which room is promised."""
    victims: frozenset[str]
    """UIDs of the pods that are evicted for it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Columns of nodes [N], pods [P], groups [G], classes [C], label sets [L], budgets [B]; R resources.

    Units: cpu in milli, everything else in whole units (kube-scheduler's Resource; KEP-5710 has none). The
    resource named `pods` counts pods. Pods that Succeeded or Failed have no rows. Times are whole seconds since
    the epoch.
    """

    version: int
    """Grows with every change of the mirror that could change a decision. A pod that is neither bound nor a
    member of a group does not count, because it changes only the decision for itself."""

    resources: tuple[str, ...]

    node_live: Bools
    node_names: list[str]
    node_order: Int32s
    """Rows of the live nodes, sorted by name."""
    node_shapes: list[NodeShape | None]
    """Labels, taints and unschedulable. Nodes that look alike to every filter share one shape."""
    allocatable: Int64s
    """[N, R]"""
    used: Int64s
    """[N, R], the requests of all bound pods, including terminating pods. May exceed allocatable."""
    leaving: Int64s
    """[N, R], the part of `used` that terminating pods hold, overdue ones aside."""

    pod_live: Bools
    pod_namespaces: Pages[str]
    pod_names: Pages[str]
    pod_uids: Pages[str]
    pod_name_rank: Int32s
    """The place of the live pod in the order of (namespace, name). Supposed pods have none."""
    pod_rows: Mapping[str, int]
    """Row by UID. The table never changes this mapping after a snapshot has it."""
    pod_node: Int32s
    """Row of the node, -1 while unbound. The node need not be live: it may come later, or be deleted already."""
    pod_class: Int32s
    pod_group: Int32s
    """Row of the PodGroup that the pod's label names, -1 without a label. The PodGroup need not exist."""
    pod_labels: Int32s
    """Row of the pod's (namespace, labels)."""
    pod_priority: Int64s
    """The pod's own priority, before a group's replaces it."""
    pod_scheduler: Int32s
    """Row of spec.schedulerName in `schedulers`."""
    pod_start: Int64s
    """status.startTime, or the creation time if the pod has none."""
    pod_created: Int64s
    pod_cost: Int32s
    """The pod's own disruption cost (`api.disruption`), or UNSAID."""
    pod_flags: Flags
    pod_health: Flags
    """READY and PENDING of `nodes.state.groups.exempt`."""

    schedulers: list[str]

    classes: list[PodClass | None]
    class_requests: Int64s
    """[C, R], with 1 in the column `pods`."""

    group_keys: list[tuple[str, str]]
    """(namespace, name), also for dead rows."""
    groups: list[PodGroup | None]
    """None if pods name this group but it does not exist."""
    group_succeeded: list[int]
    """How many pods of the group Succeeded. Those that are older than the group do not count."""
    group_columns: GroupColumns

    label_sets: list[tuple[str, Mapping[str, str]] | None]
    label_budgets: list[tuple[int, ...]]
    """For each label set, the rows of the budgets that select it."""
    label_budget: Int32s
    """The same as numbers: the row of the only budget, UNSELECTED, or SEVERAL."""
    budgets: list[BudgetRow | None]

    priority_classes: Mapping[str, PriorityClass]

    costs: CostRules = field(default_factory=CostRules)
    """What the configuration says of the cost of evictions."""

    profiles: Profiles = field(default_factory=dict)
    """What the filters of schedulers do, if it is not the default."""

    preempting: frozenset[str] = PREEMPTING
    """Sources whose gangs ask for room as one: see `nodes.groups.forms`."""

    backed_by_devices: frozenset[str] = frozenset()
    """Extended resources that a DeviceClass backs. A node without them in its allocatable may have devices for them."""

    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels by namespace. A namespace that nobody has shown is not in it."""

    pod_exempt: Bools | None = None
    """[P], the pods that count against no budget, for a preemptor that respects budgets. None: all pods count."""

    pod_claims: Mapping[int, tuple[ClaimUse, ...]] = field(default_factory=dict)
    """The claims of the pods that have any. The table never changes this mapping after a snapshot has it."""

    csi_drivers: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    """How many volumes a node can attach, by the names of node and CSI driver; None for a driver without a limit."""

    needed_drivers: frozenset[str] = frozenset()
    """CSI drivers without which a node takes no pod with a volume of theirs."""

    nominated: Mapping[int, int] = field(default_factory=dict)
    """Row of the node by row of the pod: nominations of pods that are neither bound nor terminating. The node may be
    dead. `used` does not count them: whether a nomination counts depends on the preemptor's priority."""

    promised: Mapping[int, int] = field(default_factory=dict)
    """Row of the node by row of the pod: unbound pods for which room is promised. `used` counts what they request;
    here it is known which ports and labels they will have there."""

    plans: Sequence[PlanRoom] = ()
    """Stored plans that are carried out. `used` does not count what they claim: whether a claim counts depends on the
    preemptor's priority. Only commands fill this in. The live planner has an account of promised room."""

    excluded: Mapping[tuple[int, int], Exclusion] = field(default_factory=dict)
    """By row of the class and row of the node: the search puts no pod of the class there."""
