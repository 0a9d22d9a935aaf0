"""Claims, volumes and what describes storage (core/v1, storage.k8s.io/v1), as far as filters read them."""

from __future__ import annotations

from typing import Final

import msgspec

from api.core import NodeSelector, Present, Quantities
from api.meta import LabelSelector, ObjectMeta, Struct

__all__ = [
    "BIND_COMPLETED",
    "NO_PROVISIONER",
    "READ_WRITE_ONCE_POD",
    "SELECTED_NODE",
    "STORAGE",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "claim_class",
    "volume_class",
]

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""On a claim: its binding is complete."""
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""On a claim: the scheduler has asked for a volume for this node."""
STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
"""On a claim or volume: its class, before there was a field for it. It still counts first."""
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
STORAGE: Final = "storage"


class VolumeResourceRequirements(Struct):
    """core/v1 VolumeResourceRequirements."""

    requests: Quantities | None = None


class PersistentVolumeClaimSpec(Struct):
    """core/v1 PersistentVolumeClaimSpec."""

    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements | None = None
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Struct):
    """core/v1 PersistentVolumeClaimStatus."""

    phase: str = ""


class PersistentVolumeClaim(Struct):
    """core/v1 PersistentVolumeClaim."""

    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)


class VolumeNodeAffinity(Struct):
    """core/v1 VolumeNodeAffinity: from which nodes the volume can be reached."""

    required: NodeSelector | None = None


class ObjectReference(Struct):
    """core/v1 ObjectReference, as far as it names a claim."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CSIPersistentVolumeSource(Struct):
    """core/v1 CSIPersistentVolumeSource."""

    driver: str = ""
    volume_handle: str = ""


class PersistentVolumeSpec(Struct):
    """core/v1 PersistentVolumeSpec. Of the sources only those are here that a filter reads."""

    capacity: Quantities | None = None
    access_modes: list[str] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None
    gce_persistent_disk: Present | None = None
    aws_elastic_block_store: Present | None = None
    azure_disk: Present | None = None
    cinder: Present | None = None
    portworx_volume: Present | None = None


class PersistentVolumeStatus(Struct):
    """core/v1 PersistentVolumeStatus."""

    phase: str = ""


class PersistentVolume(Struct):
    """core/v1 PersistentVolume."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = msgspec.field(default_factory=PersistentVolumeStatus)


class TopologySelectorLabelRequirement(Struct):
    """core/v1 TopologySelectorLabelRequirement."""

    key: str
    values: list[str] | None = None


class TopologySelectorTerm(Struct):
    """core/v1 TopologySelectorTerm. All requirements must hold."""

    match_label_expressions: list[TopologySelectorLabelRequirement] | None = None


class StorageClass(Struct):
    """storage.k8s.io/v1 StorageClass."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: list[TopologySelectorTerm] | None = None
    """One of the terms must match. None or empty: any node."""


class VolumeNodeResources(Struct):
    """storage.k8s.io/v1 VolumeNodeResources."""

    count: int | None = None


class CSINodeDriver(Struct):
    """storage.k8s.io/v1 CSINodeDriver."""

    name: str
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct):
    """storage.k8s.io/v1 CSINodeSpec."""

    drivers: list[CSINodeDriver] | None = None


class CSINode(Struct):
    """storage.k8s.io/v1 CSINode. It has the name of its node."""

    metadata: ObjectMeta
    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIDriverSpec(Struct):
    """storage.k8s.io/v1 CSIDriverSpec."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Struct):
    """storage.k8s.io/v1 CSIDriver."""

    metadata: ObjectMeta
    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(Struct):
    """storage.k8s.io/v1 CSIStorageCapacity: how much a driver can provide for a class on some nodes."""

    metadata: ObjectMeta
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    """None: on no node."""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The name of the claim's StorageClass; empty if it has none (GetPersistentVolumeClaimClass)."""
    said = (claim.metadata.annotations or {}).get(STORAGE_CLASS)
    return said if said is not None else claim.spec.storage_class_name or ""


def volume_class(volume: PersistentVolume) -> str:
    """The name of the volume's StorageClass; empty if it has none (GetPersistentVolumeClass)."""
    said = (volume.metadata.annotations or {}).get(STORAGE_CLASS)
    return said if said is not None else volume.spec.storage_class_name
