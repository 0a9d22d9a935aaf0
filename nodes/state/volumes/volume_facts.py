"""What is kept of claims and volumes: only what filters read."""

from __future__ import annotations

from typing import Final, NamedTuple

from api.quantity import Quantity, parse
from api.selectors import check_selector
from api.storage import (
    BIND_COMPLETED,
    READ_WRITE_ONCE_POD,
    SELECTED_NODE,
    STORAGE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    claim_class,
    volume_class,
)
from nodes.filters.node_volume_limits import in_tree_names
from nodes.filters.pod_volumes import AvailableVolume, UnboundClaim
from nodes.filters.volume_zone import zones_of

__all__ = ["ClaimFacts", "ClaimKey", "ClaimUse", "Handle", "VolumeFacts", "claim_facts", "volume_facts"]

FILESYSTEM: Final = "Filesystem"

ClaimKey = tuple[str, str]
"""(namespace, name)."""
Handle = tuple[str, str]
"""A volume as its CSI driver knows it: (driver, volumeHandle)."""


class ClaimUse(NamedTuple):
    """A claim that a pod uses."""

    claim: ClaimKey
    handle: Handle | None
    """The volume that its node attaches for it; None if it counts against no limit."""


class ClaimFacts(NamedTuple):
    """A PersistentVolumeClaim."""

    uid: str
    controller: str
    """The UID of the pod for which it was made; empty for a claim that no ephemeral volume made."""
    lost: bool
    terminating: bool
    volume: str
    """The name of its volume, if it has one."""
    bound: bool
    """Whether its binding is complete."""
    exclusive: bool
    """Whether one pod can use it at a time (ReadWriteOncePod)."""
    wanted: UnboundClaim
    """What it wants as long as it is not bound."""


class VolumeFacts(NamedTuple):
    """A PersistentVolume."""

    storage_class: str
    available: AvailableVolume
    is_free: bool
    """Whether every claim of its class can get it."""
    terminating: bool
    claim: ObjectReference | None
    zones: tuple[tuple[str, tuple[str, ...]], ...]
    handle: Handle | None
    migrated: bool
    """Whether a CSI driver serves its in-tree source on some nodes."""


def claim_facts(claim: PersistentVolumeClaim) -> ClaimFacts:
    """What is kept of the claim. Raises ValueError for an invalid quantity or selector."""
    meta, spec, annotations = claim.metadata, claim.spec, claim.metadata.annotations or {}
    requests = (spec.resources.requests if spec.resources is not None else None) or {}
    if spec.selector is not None:
        check_selector(spec.selector, "spec.selector")
    wanted = UnboundClaim(
        storage_class=claim_class(claim),
        size=parse(requests.get(STORAGE)),
        has_size=STORAGE in requests,
        access_modes=tuple(sorted(spec.access_modes or ())),
        volume_mode=spec.volume_mode or FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name or "",
        selector=spec.selector,
        selected_node=annotations.get(SELECTED_NODE, ""),
    )
    return ClaimFacts(
        uid=meta.uid,
        controller=next((each.uid for each in meta.owner_references or () if each.controller), ""),
        lost=claim.status.phase == "Lost",
        terminating=meta.deletion_timestamp is not None,
        volume=spec.volume_name,
        bound=bool(spec.volume_name) and BIND_COMPLETED in annotations,
        exclusive=READ_WRITE_ONCE_POD in (spec.access_modes or ()),
        wanted=wanted,
    )


def volume_facts(volume: PersistentVolume) -> VolumeFacts:
    """What is kept of the volume. Raises ValueError for an invalid quantity."""
    meta, spec = volume.metadata, volume.spec
    return VolumeFacts(
        storage_class=volume_class(volume),
        available=AvailableVolume(
            name=meta.name,
            size=_size(volume),
            access_modes=frozenset(spec.access_modes or ()),
            volume_mode=spec.volume_mode or FILESYSTEM,
            attributes_class=spec.volume_attributes_class_name or "",
            labels=meta.labels or {},
            affinity=spec.node_affinity.required if spec.node_affinity is not None else None,
        ),
        is_free=volume.status.phase == "Available" and spec.claim_ref is None,
        terminating=meta.deletion_timestamp is not None,
        claim=spec.claim_ref,
        zones=zones_of(meta.labels),
        handle=_handle(volume),
        migrated=bool(in_tree_names(spec)),
    )


def _handle(volume: PersistentVolume) -> Handle | None:
    csi = volume.spec.csi
    return (csi.driver, csi.volume_handle) if csi is not None and csi.driver and csi.volume_handle else None


def _size(volume: PersistentVolume) -> Quantity:
    return parse((volume.spec.capacity or {}).get(STORAGE))
