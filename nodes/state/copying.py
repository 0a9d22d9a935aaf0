"""A snapshot is made here: a copy of the columns of all tables at one moment."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from nodes.state.snapshot import Snapshot

if TYPE_CHECKING:
    from nodes.state.tables import Tables

__all__ = ["copy_columns"]


def copy_columns(tables: Tables) -> Snapshot:
    """The tables as they are now. What has not changed since the last snapshot is shared with it."""
    resources, order = tables.resources.ordered()
    nodes, pods, groups = tables.nodes, tables.pods, tables.groups
    n, p, c = nodes.names.size, pods.size, tables.classes.classes.size
    succeeded = tables.succeeded_members.counts()
    return Snapshot(
        version=tables.version,
        resources=resources,
        node_live=nodes.live.array[:n].copy(),
        node_names=[name or "" for name in nodes.names.keys],
        node_order=nodes.order(),
        node_shapes=nodes.shapes.copy(),
        allocatable=nodes.allocatable.array[:n, order],
        used=nodes.used.array[:n, order],
        leaving=nodes.leaving.array[:n, order],
        pod_live=pods.live.array[:p].copy(),
        pod_namespaces=pods.namespaces.share(),
        pod_names=pods.names.share(),
        pod_uids=pods.uids.share(),
        pod_name_rank=pods.name_order.ranks(),
        pod_rows=pods.share_rows(),
        pod_node=pods.node.array[:p].copy(),
        pod_class=pods.pod_class.array[:p].copy(),
        pod_group=pods.group.array[:p].copy(),
        pod_labels=pods.labels.array[:p].copy(),
        pod_priority=pods.priority.array[:p].copy(),
        pod_scheduler=pods.scheduler.array[:p].copy(),
        pod_start=pods.start.array[:p].copy(),
        pod_created=pods.created.array[:p].copy(),
        pod_cost=pods.cost.array[:p].copy(),
        pod_flags=pods.flags.array[:p].copy(),
        pod_health=pods.health.column.array[:p].copy(),
        schedulers=[name or "" for name in pods.schedulers.keys],
        classes=tables.classes.classes.keys.copy(),
        class_requests=tables.classes.requests.array[:c, order],
        group_keys=[key or ("", "") for key in groups.keys.keys],
        groups=groups.objects.copy(),
        group_succeeded=succeeded,
        group_columns=groups.columns.at(tables.priority_classes, succeeded),
        label_sets=tables.label_sets.sets.copy(),
        label_budgets=tables.label_sets.selected_by.copy(),
        label_budget=tables.label_sets.only.array[: len(tables.label_sets.sets)].copy(),
        budgets=tables.budgets.rows.copy(),
        profiles=tables.profiles,
        preempting=groups.preempting,
        backed_by_devices=frozenset(tables.backed.values()),
        priority_classes=MappingProxyType(tables.priority_classes.copy()),
        costs=tables.costs,
        namespaces=MappingProxyType(tables.namespaces.copy()),
        pod_claims=pods.claimants.share(),
        csi_drivers=tables.volumes.limits.share(),
        needed_drivers=tables.volumes.needed_drivers,
        nominated=MappingProxyType(pods.nominations.by_pod.copy()),
    )
