"""Which units stay, and why: simple rules over a plan and the snapshot behind it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from api.groups import goes_whole
from api.plans import PreemptionPlanSpec
from nodes.filters.filter import NodeShape
from nodes.groups.forms import victim_priority
from nodes.search.counted import budgets_of, counting
from nodes.state.columns.flags import DAEMON, GATED, KEPT, TERMINATING
from nodes.state.groups.budgets import BudgetRow
from nodes.state.snapshot import Snapshot

__all__ = ["Survivor", "Survivors", "budget_text", "survivors", "waiting"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]


class Reason(IntEnum):
    """Why a unit stays. The reason nearest to an eviction comes first."""

    BUDGET = 0
    FITS = 1
    ABOVE_CUTOFF = 2
    KEPT = 3
    NOT_LOWER = 4

    @property
    def text(self) -> str:
        """The words for several units together."""
        return TEXTS[self]


TEXTS: Final = {
    Reason.BUDGET: "still fit; evicting them would break their budgets",
    Reason.FITS: "still fit beside the preemptor",
    Reason.ABOVE_CUTOFF: "above the cut-off",
    Reason.KEPT: "pods of DaemonSets and static pods, which may not be evicted",
    Reason.NOT_LOWER: "equal or higher priority",
}


@dataclass(slots=True)
class Survivor:
    """A unit with a pod in the plan's domain that is not evicted."""

    kind: Literal["PodGroup", "Pod"]
    name: str
    """namespace/name."""
    priority: int
    pods: list[int] = field(default_factory=list)
    """Rows of its bound pods, on all nodes."""
    reason: Reason = Reason.FITS
    why: str = ""


@dataclass(frozen=True, slots=True)
class Survivors:
    """The units in the domain that stay, and counts of the others. Units nearest to an eviction come first."""

    units: list[Survivor]
    elsewhere: int
    """The number of units without a pod in the domain."""
    terminating: int
    """The number of terminating pods in the domain. They count as gone."""


def survivors(snapshot: Snapshot, spec: PreemptionPlanSpec) -> Survivors:
    """Every unit that stays in the plan's domain, ordered by reason, priority and name."""
    snapshot = counting(snapshot, spec.pod_disruption_budget_policy or "Prefer")
    here = _domain_nodes(snapshot, spec)
    uids = (pod.uid for victim in spec.victims for pod in victim.pods)
    gone = [row for uid in uids if (row := snapshot.pod_rows.get(uid)) is not None]
    evicted = Counter(budgets_of(snapshot, gone))
    staying, elsewhere = _units(snapshot, spec, here, gone)
    for unit in staying:
        unit.reason, unit.why = _why(snapshot, spec, unit, evicted)
    staying.sort(key=lambda unit: (unit.reason, unit.priority, unit.name))
    leaving = np.count_nonzero(here[snapshot.pod_node[_bound(snapshot, TERMINATING)]])
    return Survivors(staying, elsewhere, int(leaving))


def waiting(snapshot: Snapshot, spec: PreemptionPlanSpec) -> list[str]:
    """Names of the group's members that get no node from the plan.

    They are beyond minCount, so nobody is evicted for them.
    """
    key, placed = (spec.preemptor.namespace, spec.preemptor.name), {each.pod for each in spec.placements}
    if spec.preemptor.kind == "Pod" or key not in snapshot.group_keys:
        return []
    waits = snapshot.pod_live & (snapshot.pod_node < 0) & (snapshot.pod_flags & (TERMINATING | GATED) == 0)
    members = snapshot.pod_group == snapshot.group_keys.index(key)
    names = snapshot.pod_names.at(np.flatnonzero(waits & members).tolist())
    return sorted(name for name in names if name not in placed)


def budget_text(budget: BudgetRow) -> str:
    """The words for a budget: its namespace, its name and how many disruptions it allows."""
    return f"{budget.namespace}/{budget.name} (allows {budget.allowed})"


def _why(
    snapshot: Snapshot, spec: PreemptionPlanSpec, unit: Survivor, evicted: Counter[int]
) -> tuple[Reason, str]:
    if unit.priority >= spec.preemptor.priority:
        equal = unit.priority == spec.preemptor.priority
        return Reason.NOT_LOWER, "equal priority" if equal else "higher priority"
    if kept := [row for row in unit.pods if int(snapshot.pod_flags[row]) & KEPT]:
        is_daemon = int(snapshot.pod_flags[kept[0]]) & DAEMON
        who = "pod of a DaemonSet" if is_daemon else "static pod"
        return Reason.KEPT, f"a {who}, which may not be evicted"
    if spec.priority_cutoff is not None and unit.priority > spec.priority_cutoff:
        return Reason.ABOVE_CUTOFF, f"above the cut-off {spec.priority_cutoff}"
    for row, pods in budgets_of(snapshot, unit.pods).items():
        budget = snapshot.budgets[row]
        if budget is not None and pods and evicted[row] + pods > budget.allowed:
            return Reason.BUDGET, f"still fits; evicting it would break budget {budget_text(budget)}"
    return Reason.FITS, "still fits beside the preemptor"


def _units(
    snapshot: Snapshot, spec: PreemptionPlanSpec, here: Bools, gone: list[int]
) -> tuple[list[Survivor], int]:
    """The units that have a pod on a node of `here` [N], and the number of the others.

    Units are bound groups in `all` mode and bound single pods. The preemptor's own and those that are `gone` are none.
    """
    rows = _bound(snapshot, 0)
    own = (spec.preemptor.namespace, spec.preemptor.name) if spec.preemptor.kind == "PodGroup" else None
    if own in snapshot.group_keys:
        rows = rows[snapshot.pod_group[rows] != snapshot.group_keys.index(own)]
    stays = np.ones(len(snapshot.pod_live), np.bool_)
    stays[gone] = False
    whole = np.append(snapshot.group_columns.whole, 0)[snapshot.pod_group[rows]] > 0
    single = rows[~whole & stays[rows]]
    members: dict[int, list[int]] = defaultdict(list)
    for row, group in zip(rows[whole].tolist(), snapshot.pod_group[rows[whole]].tolist(), strict=True):
        members[group].append(row)
    units = [[row] for row in single[here[snapshot.pod_node[single]]].tolist()]
    together = [pods for pods in members.values() if stays[pods[0]]]
    units += (pods for pods in together if here[snapshot.pod_node[pods]].any())
    return [_survivor(snapshot, pods) for pods in units], len(single) + len(together) - len(units)


def _survivor(snapshot: Snapshot, pods: list[int]) -> Survivor:
    """The unit of these pods. `pods`: all that run of a group in `all` mode, or one pod of no such group."""
    number = int(snapshot.pod_group[pods[0]])
    group = snapshot.groups[number] if number >= 0 else None
    lowest = min(snapshot.pod_priority[pods].tolist())
    priority = lowest if group is None else victim_priority(group, lowest, snapshot.priority_classes)
    if group is None or not goes_whole(group):
        name = f"{snapshot.pod_namespaces[pods[0]]}/{snapshot.pod_names[pods[0]]}"
        return Survivor("Pod", name, priority, pods)
    return Survivor("PodGroup", "/".join(snapshot.group_keys[number]), priority, pods)


def _bound(snapshot: Snapshot, terminating: int) -> Rows:
    """Rows of the bound pods that terminate (`terminating` is TERMINATING) or that do not (0)."""
    bound = snapshot.pod_live & (snapshot.pod_node >= 0)
    return np.flatnonzero(bound & (snapshot.pod_flags & TERMINATING == terminating))


def _domain_nodes(snapshot: Snapshot, spec: PreemptionPlanSpec) -> Bools:
    """[N], the nodes of the plan's domain."""
    domain, live = spec.domain, snapshot.node_live
    if domain is None:
        return np.zeros(len(live), np.bool_)
    if domain.topology_key is None:
        return live
    if spec.preemptor.kind == "Pod":
        return live & np.array([name == domain.value for name in snapshot.node_names], np.bool_)
    labels = (_label(shape, domain.topology_key) for shape in snapshot.node_shapes)
    return live & np.array([label == domain.value for label in labels], np.bool_)


def _label(shape: NodeShape | None, key: str) -> str | None:
    return shape.labels.get(key) if shape is not None else None
