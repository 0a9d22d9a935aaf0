"""Which units stay, and why: simple rules over a plan and the snapshot behind it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Literal

from api.groups import goes_whole
from api.plans import PreemptionPlanSpec
from api.priority import group_priority
from nodes.state.snapshot import DAEMON, GATED, KEPT, TERMINATING, BudgetRow, Snapshot

__all__ = ["Survivor", "Survivors", "budget_text", "budgets_of", "survivors", "waiting"]


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
    Reason.BUDGET: "still fit; going would break their budgets",
    Reason.FITS: "still fit beside the preemptor",
    Reason.ABOVE_CUTOFF: "above the cut-off",
    Reason.KEPT: "pods of DaemonSets and static pods, which nobody may evict",
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
    here = _domain_nodes(snapshot, spec)
    gone = {pod.uid for victim in spec.victims for pod in victim.pods}
    evicted = _evicted_by_budget(snapshot, gone)
    staying: list[Survivor] = []
    elsewhere = 0
    for unit in _units(snapshot, spec):
        if snapshot.pod_uids[unit.pods[0]] in gone:
            continue
        if not any(int(snapshot.pod_node[row]) in here for row in unit.pods):
            elsewhere += 1
            continue
        unit.reason, unit.why = _why(snapshot, spec, unit, evicted)
        staying.append(unit)
    staying.sort(key=lambda unit: (unit.reason, unit.priority, unit.name))
    leaving = sum(int(snapshot.pod_node[row]) in here for row in _bound(snapshot, TERMINATING))
    return Survivors(staying, elsewhere, leaving)


def waiting(snapshot: Snapshot, spec: PreemptionPlanSpec) -> list[str]:
    """Names of the group's members that get no node from the plan.

    They are beyond minCount, so nobody is evicted for them.
    """
    if spec.preemptor.kind == "Pod":
        return []
    key, placed = (spec.preemptor.namespace, spec.preemptor.name), {each.pod for each in spec.placements}
    return sorted(
        snapshot.pod_names[row]
        for row in range(len(snapshot.pod_uids))
        if snapshot.pod_live[row] and snapshot.pod_node[row] < 0 and snapshot.pod_group[row] >= 0
        if snapshot.group_keys[snapshot.pod_group[row]] == key and snapshot.pod_names[row] not in placed
        if not int(snapshot.pod_flags[row]) & (TERMINATING | GATED)
    )


def budgets_of(snapshot: Snapshot, rows: Iterable[int]) -> dict[int, int]:
    """How many of these pods count against each budget, by row of the budget."""
    matching: Counter[int] = Counter()
    for row in rows:
        name = snapshot.pod_names[row]
        for budget in snapshot.label_budgets[int(snapshot.pod_labels[row])]:
            held = snapshot.budgets[budget]
            matching[budget] += held is not None and name not in held.disrupted
    return dict(matching)


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
        return Reason.KEPT, f"a {who}, which nobody may evict"
    if spec.priority_cutoff is not None and unit.priority > spec.priority_cutoff:
        return Reason.ABOVE_CUTOFF, f"above the cut-off {spec.priority_cutoff}"
    for row, pods in budgets_of(snapshot, unit.pods).items():
        budget = snapshot.budgets[row]
        if budget is not None and pods and evicted[row] + pods > budget.allowed:
            return Reason.BUDGET, f"still fits; going would break budget {budget_text(budget)}"
    return Reason.FITS, "still fits beside the preemptor"


def _evicted_by_budget(snapshot: Snapshot, gone: set[str]) -> Counter[int]:
    rows = [row for uid in gone if (row := snapshot.pod_rows.get(uid)) is not None]
    return Counter(budgets_of(snapshot, rows))


def _units(snapshot: Snapshot, spec: PreemptionPlanSpec) -> Iterator[Survivor]:
    """Bound groups in `all` mode and bound single pods, except the preemptor's own pods."""
    whole: dict[int, list[int]] = defaultdict(list)
    own = (spec.preemptor.namespace, spec.preemptor.name) if spec.preemptor.kind == "PodGroup" else None
    for row in _bound(snapshot, 0):
        number = int(snapshot.pod_group[row])
        group = snapshot.groups[number] if number >= 0 else None
        if group is not None and snapshot.group_keys[number] == own:
            continue
        if group is not None and goes_whole(group):
            whole[number].append(row)
            continue
        priority = (
            int(snapshot.pod_priority[row])
            if group is None
            else group_priority(group, snapshot.priority_classes)
        )
        name = f"{snapshot.pod_namespaces[row]}/{snapshot.pod_names[row]}"
        yield Survivor("Pod", name, priority, [row])
    for number, rows in whole.items():
        group = snapshot.groups[number]
        if group is not None:
            lowest = min(int(snapshot.pod_priority[row]) for row in rows)
            priority = min(lowest, group_priority(group, snapshot.priority_classes))
            yield Survivor("PodGroup", "/".join(snapshot.group_keys[number]), priority, rows)


def _bound(snapshot: Snapshot, terminating: int) -> Iterator[int]:
    """Rows of the bound pods that terminate (`terminating` is TERMINATING) or that do not (0)."""
    for row in range(len(snapshot.pod_uids)):
        bound = snapshot.pod_live[row] and snapshot.pod_node[row] >= 0
        if bound and int(snapshot.pod_flags[row]) & TERMINATING == terminating:
            yield row


def _domain_nodes(snapshot: Snapshot, spec: PreemptionPlanSpec) -> set[int]:
    domain = spec.domain
    if domain is None:
        return set()
    rows = {row for row in range(len(snapshot.node_names)) if snapshot.node_live[row]}
    if domain.topology_key is None:
        return rows
    if spec.preemptor.kind == "Pod":
        return {row for row in rows if snapshot.node_names[row] == domain.value}
    return {row for row in rows if _label(snapshot, row, domain.topology_key) == domain.value}


def _label(snapshot: Snapshot, row: int, key: str) -> str | None:
    shape = snapshot.node_shapes[row]
    return shape.labels.get(key) if shape is not None else None
