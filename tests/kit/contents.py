"""What a snapshot says, whatever the rows and columns are that it says it in."""

from __future__ import annotations

from typing import Any

from nodes.state.snapshot import Snapshot

__all__ = ["contents", "live_rows"]

Amounts = dict[str, int]


def amounts(snapshot: Snapshot, row: Any) -> Amounts:
    """A row of a matrix by name, without zeros."""
    return {name: amount for name, amount in zip(snapshot.resources, row.tolist(), strict=True) if amount}


def live_rows(snapshot: Snapshot) -> list[int]:
    """Rows of the pods."""
    rows: list[int] = snapshot.pod_live.nonzero()[0].tolist()
    return rows


def contents(snapshot: Snapshot) -> dict[str, Any]:
    """What a snapshot says, rows and columns aside."""
    nodes = {}
    for row, name in enumerate(snapshot.node_names):
        shape = snapshot.node_shapes[row]
        assert bool(snapshot.node_live[row]) == (shape is not None)
        matrices = (snapshot.allocatable, snapshot.used, snapshot.leaving)
        held = tuple(amounts(snapshot, matrix[row]) for matrix in matrices)
        if shape is not None or any(held):
            nodes[name] = (shape, *held)
    pods: dict[tuple[str, str], Any] = {}
    for row in live_rows(snapshot):
        node_row, group_row = snapshot.pod_node[row], snapshot.pod_group[row]
        labels_row = snapshot.pod_labels[row]
        assert snapshot.pod_rows[snapshot.pod_uids[row]] == row
        selecting = [snapshot.budgets[budget_row] for budget_row in snapshot.label_budgets[labels_row]]
        pods[snapshot.pod_namespaces[row], snapshot.pod_names[row]] = (
            snapshot.pod_uids[row],
            snapshot.node_names[node_row] if node_row >= 0 else None,
            snapshot.classes[snapshot.pod_class[row]],
            amounts(snapshot, snapshot.class_requests[snapshot.pod_class[row]]),
            snapshot.group_keys[group_row] if group_row >= 0 else None,
            snapshot.groups[group_row] if group_row >= 0 else None,
            snapshot.label_sets[labels_row],
            sorted(found.name for found in selecting if found is not None),
            snapshot.pod_priority[row],
            snapshot.schedulers[snapshot.pod_scheduler[row]],
            snapshot.pod_start[row],
            snapshot.pod_created[row],
            snapshot.pod_flags[row],
            snapshot.pod_health[row],
            snapshot.node_names[snapshot.nominated[row]] if row in snapshot.nominated else None,
        )
    assert len(snapshot.pod_rows) == len(pods)
    return {
        "nodes": nodes,
        "pods": pods,
        "groups": {key: held for key, held in zip(snapshot.group_keys, snapshot.groups, strict=True) if held},
        "succeeded": {
            key: count
            for key, count in zip(snapshot.group_keys, snapshot.group_succeeded, strict=True)
            if count
        },
        "budgets": {held for held in snapshot.budgets if held is not None},
        "classes": {held for held in snapshot.classes if held is not None},
        "labels": sorted(
            (held[0], sorted(held[1].items())) for held in snapshot.label_sets if held is not None
        ),
        "priority classes": dict(snapshot.priority_classes),
    }
