"""A bound pod as the tables had it. It is good after the pod is gone, and refers to no row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nodes.state.columns.classes import PodClass
from nodes.state.columns.flags import STAYING, TERMINATING
from nodes.state.groups.groups import GroupKey
from nodes.state.pods.pod_facts import NOWHERE
from nodes.state.volumes.volume_facts import ClaimUse

if TYPE_CHECKING:
    from nodes.state.tables import Tables

__all__ = ["KeptPod", "keep"]


@dataclass(frozen=True, slots=True)
class KeptPod:
    """What the columns of `Snapshot` say of it, as if it did not terminate."""

    namespace: str
    name: str
    uid: str
    node: str
    """Its name."""
    pod_class: PodClass
    group: GroupKey | None
    labels: Mapping[str, str]
    priority: int
    scheduler: str
    start: int
    created: int
    cost: int
    flags: int
    health: int
    claims: tuple[ClaimUse, ...]


def keep(tables: Tables, row: int) -> KeptPod | None:
    """The pod in this row; None if it has no node."""
    pods = tables.pods
    node = pods.node.array.item(row)
    its_class = tables.classes.classes.keys[pods.pod_class.array.item(row)]
    labels = tables.label_sets.sets[pods.labels.array.item(row)]
    if node == NOWHERE or its_class is None or labels is None:
        return None
    group = pods.group.array.item(row)
    return KeptPod(
        pods.namespaces[row],
        pods.names[row],
        pods.uids[row],
        tables.nodes.names.keys[node] or "",
        its_class,
        tables.groups.keys.keys[group] if group != NOWHERE else None,
        labels[1],
        pods.priority.array.item(row),
        pods.schedulers.keys[pods.scheduler.array.item(row)] or "",
        pods.start.array.item(row),
        pods.created.array.item(row),
        pods.cost.array.item(row),
        pods.flags.array.item(row) & ~(TERMINATING | STAYING),
        pods.health.column.array.item(row),
        pods.claimants.uses_of(row),
    )
