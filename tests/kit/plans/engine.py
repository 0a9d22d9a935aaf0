"""The engine under test: plain objects in, the plan as plain data out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Final

import msgspec

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.foreign_groups import (
    COSCHEDULING,
    NATIVE,
    VOLCANO,
    CoschedulingPodGroup,
    NativePodGroup,
    VolcanoPodGroup,
)
from api.groups import PodGroup
from nodes.search.decision import EFFORT, Limits, decide_group
from nodes.state.costs import CostRules
from nodes.state.snapshot import Exclusion, Snapshot
from nodes.state.tables import Tables
from nodes.state.volumes.volumes import STORAGE_KINDS
from tests.kit.plans.raw import Object

DEFAULT: Final = CostRules()
STORAGE: Final = {kind.__name__: kind for kind in STORAGE_KINDS}
FOREIGN: Final = {
    COSCHEDULING: CoschedulingPodGroup,
    NATIVE: NativePodGroup,
    VOLCANO: VolcanoPodGroup,
}
Key = tuple[str, str]
"""Namespace and name of a pod."""


def upsert(tables: Tables, item: Object) -> None:
    """The tables hear of one object."""
    match item["kind"]:
        case "Node":
            tables.upsert_node(msgspec.convert(item, Node))
        case "Pod":
            tables.upsert_pod(msgspec.convert(item, Pod))
        case "PodGroup" if item.get("apiVersion") in FOREIGN:
            tables.upsert_foreign_group(msgspec.convert(item, FOREIGN[item["apiVersion"]]))
        case "PodGroup":
            tables.upsert_group(msgspec.convert(item, PodGroup))
        case "PodDisruptionBudget":
            tables.upsert_budget(msgspec.convert(item, PodDisruptionBudget))
        case "PriorityClass":
            tables.upsert_priority_class(msgspec.convert(item, PriorityClass))
        case kind if kind in STORAGE:
            tables.upsert_storage(msgspec.convert(item, STORAGE[kind]))
        case kind:
            raise ValueError(kind)


def delete(tables: Tables, item: Object) -> None:
    """The tables hear that a node, pod or group is gone."""
    meta = item["metadata"]
    match item["kind"]:
        case "Node":
            tables.delete_node(meta["name"])
        case "Pod":
            tables.delete_pod(meta["namespace"], meta["name"])
        case "PodGroup":
            tables.delete_group(meta["namespace"], meta["name"])
        case kind:
            raise ValueError(kind)


def snapshot_of(objects: Iterable[Object]) -> Snapshot:
    """The mirror's view of the objects."""
    return tables_of(objects).snapshot()


def tables_of(objects: Iterable[Object]) -> Tables:
    """The mirror of the objects."""
    tables = Tables()
    for item in objects:
        upsert(tables, item)
    return tables


def excluding(snapshot: Snapshot, excluded: Iterable[tuple[Key, str]]) -> Snapshot:
    """The snapshot in which these pods, and those of the same class, are excluded from these nodes."""
    pods = list(zip(snapshot.pod_namespaces, snapshot.pod_names, strict=True))
    rows = {
        (int(snapshot.pod_class[pods.index(pod)]), snapshot.node_names.index(node)): Exclusion(
            "/".join(pod), "no"
        )
        for pod, node in excluded
    }
    return replace(snapshot, excluded=rows)


def alike(objects: Iterable[Object], excluded: Iterable[tuple[Key, str]]) -> set[tuple[Key, str]]:
    """The same with all pods of the same class."""
    snapshot = snapshot_of(objects)
    pods = list(zip(snapshot.pod_namespaces, snapshot.pod_names, strict=True))
    classes = snapshot.pod_class.tolist()
    return {
        (other, node)
        for pod, node in excluded
        for other, pod_class in zip(pods, classes, strict=True)
        if pod_class == classes[pods.index(pod)]
    }


def plan_for(
    objects: Iterable[Object],
    preemptor: str,
    effort: int = EFFORT,
    excluded: Collection[tuple[Key, str]] = (),
    costs: CostRules = DEFAULT,
) -> dict[str, Any]:
    """The decision for `namespace/name`, as it is written; see `excluding`."""
    namespace, _, name = preemptor.partition("/")
    snapshot = excluding(replace(snapshot_of(objects), costs=costs), excluded)
    decided = decide_group(snapshot, namespace, name, limits=Limits(effort=effort))
    spec: dict[str, Any] = msgspec.to_builtins(decided)
    return spec
