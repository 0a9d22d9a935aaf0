"""What our filters say of a random cluster, after each of its steps: see `hack.fidelity.worlds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from api.core import Namespace, Node, Pod
from api.groups import PodGroup
from api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from controllers.gangs.scheduler.configuration import parse
from hack.fidelity.world import World
from hack.fidelity.worlds import GROUP
from nodes.search.cluster import Cluster, lay_out
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.room import Room
from nodes.search.unmodelled import not_modelled
from nodes.state.tables import Tables
from nodes.state.volumes.volumes import StorageObject

__all__ = ["Said", "judge", "tables_of"]

Json = dict[str, Any]
STORAGE: Final[dict[str, type[StorageObject]]] = {
    "persistentVolumeClaims": PersistentVolumeClaim,
    "persistentVolumes": PersistentVolume,
    "storageClasses": StorageClass,
    "csiNodes": CSINode,
    "csiDrivers": CSIDriver,
    "csiStorageCapacities": CSIStorageCapacity,
}
"""Kinds by the name of their list in a world."""
T = TypeVar("T")


@dataclass
class Said:
    """Our verdicts on one step that asks about a pod."""

    pod: str
    admits: dict[str, bool]
    """By node name."""
    named: list[str]
    """What is not modelled of the pod, and of those that were placed before it."""


def tables_of(world: World) -> Tables:
    """The mirror of the cluster."""
    configuration = world.configuration
    known = parse(msgspec.json.encode(configuration).decode()) if configuration is not None else None
    tables = Tables(profiles=known.profiles if known is not None else {}, is_complete=True)
    for node in world.nodes:
        tables.upsert_node(_typed(Node, node))
    for namespace in world.objects.get("namespaces", []):
        tables.upsert_namespace(_typed(Namespace, namespace))
    for name, kind in STORAGE.items():
        for item in world.objects.get(name, []):
            tables.upsert_storage(_typed(kind, item))
    spec: Json = {"schedulingPolicy": {"gang": {"minCount": len(world.members)}}, "priority": 100}
    if world.topology:
        spec["schedulingConstraints"] = {"topology": [{"key": world.topology}]}
    group = {"metadata": {"name": GROUP, "namespace": "default", "uid": "uid-gang"}, "spec": spec}
    tables.upsert_group(_typed(PodGroup, group))
    for pod in [*world.pods, *world.members]:
        tables.upsert_pod(_typed(Pod, pod))
    return tables


def judge(world: World) -> list[Said]:
    """What we say at each step that asks about a member."""
    snapshot = tables_of(world).snapshot()
    preemptor = group_preemptor(snapshot, "default", GROUP)
    cluster = Cluster(snapshot, preemptor, lay_out(snapshot, preemptor))
    nodes = np.arange(len(snapshot.node_names))
    row_of = {name: row for row, name in enumerate(snapshot.pod_names)}
    room, gone, placed = Room(cluster), list[int](), list[int]()
    said: list[Said] = []
    for step in world.steps:
        if step.remove:
            gone += [row_of[name] for name in step.remove if name in row_of]
            room = Room(cluster, gone)
        row = row_of.get(step.member)
        if row is None:
            continue
        fits = room.fits(row, nodes).tolist()
        admits = dict(zip(snapshot.node_names, fits, strict=True))
        said.append(Said(step.member, admits, not_modelled(cluster, [*placed, row], gone)))
        if step.node in snapshot.node_names:
            room.place(row, snapshot.node_names.index(step.node))
            placed.append(row)
    return said


def _typed(kind: type[T], value: Json) -> T:
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)
