"""The engine under test: plain objects in, the plan as plain data out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.groups import PodGroup
from nodes.search.decision import BUDGET, EFFORT, decide_group
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables
from tests.kit.plans.raw import Object


def snapshot_of(objects: Iterable[Object]) -> Snapshot:
    """The mirror's view of the objects."""
    tables = Tables()
    for item in objects:
        match item["kind"]:
            case "Node":
                tables.upsert_node(msgspec.convert(item, Node))
            case "Pod":
                tables.upsert_pod(msgspec.convert(item, Pod))
            case "PodGroup":
                tables.upsert_group(msgspec.convert(item, PodGroup))
            case "PodDisruptionBudget":
                tables.upsert_budget(msgspec.convert(item, PodDisruptionBudget))
            case "PriorityClass":
                tables.upsert_priority_class(msgspec.convert(item, PriorityClass))
            case kind:
                raise ValueError(kind)
    return tables.snapshot()


def plan_for(
    objects: Iterable[Object], preemptor: str, budget: int = BUDGET, effort: int = EFFORT
) -> dict[str, Any]:
    """The decision for `namespace/name`, as it is written."""
    namespace, _, name = preemptor.partition("/")
    decided = decide_group(snapshot_of(objects), namespace, name, budget=budget, effort=effort)
    spec: dict[str, Any] = msgspec.to_builtins(decided)
    return spec
