"""VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone: not modelled. The filter names the volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from api.core import Pod, Volume
from nodes.filters.filter import Filter

__all__ = ["Volumes"]

SOURCES: Final[tuple[tuple[str, Callable[[Volume], object]], ...]] = (
    ("persistent volume claim", lambda volume: volume.persistent_volume_claim),
    ("ephemeral volume", lambda volume: volume.ephemeral),
    ("CSI volume", lambda volume: volume.csi),
    ("GCE persistent disk", lambda volume: volume.gce_persistent_disk),
    ("AWS EBS volume", lambda volume: volume.aws_elastic_block_store),
    ("Azure disk", lambda volume: volume.azure_disk),
    ("Cinder volume", lambda volume: volume.cinder),
    ("iSCSI volume", lambda volume: volume.iscsi),
    ("RBD volume", lambda volume: volume.rbd),
    ("Portworx volume", lambda volume: volume.portworx_volume),
    ("vSphere volume", lambda volume: volume.vsphere_volume),
)
"""The volume sources that at least one of the four filters checks."""


class Volumes(Filter[Any]):
    """The four filters in one class, because each of them checks several sources."""

    name: ClassVar[str] = "VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone"
    local: ClassVar[frozenset[str]] = frozenset(
        name for name, _ in SOURCES if name not in ("persistent volume claim", "ephemeral volume")
    )
    """A claim may be used elsewhere, and a storage pool may have room for one claim in many nodes."""

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the kinds of volumes in the pod's spec."""
        volumes = pod.spec.volumes or ()
        return [name for volume in volumes for name, source in SOURCES if source(volume) is not None]
