"""NodeVolumeLimits: how many volumes of a CSI driver a node can attach. `nodes.search.neighbours.attachments` counts
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Protocol

from api.core import Pod
from nodes.filters.filter import Filter

__all__ = ["DETACHED", "IN_TREE", "LIMITS", "MIGRATED", "NodeVolumeLimits", "in_tree_names"]

LIMITS: Final = "attach limits for a volume that several pods use"
DETACHED: Final = "volumes that must be detached first"
"""A member gets the slot of a pod that goes. For the scheduler the volume counts until its VolumeAttachment is gone,
and nobody reads those here. Where there is none, the scheduler offers the node."""
MIGRATED: Final = "in-tree volume"
"""A PersistentVolume with a source that a CSI driver serves now."""


class Sources(Protocol):
    """What a volume in a pod's spec and a PersistentVolume have in common: the in-tree plugins that have moved."""

    @property
    def gce_persistent_disk(self) -> object: ...
    @property
    def aws_elastic_block_store(self) -> object: ...
    @property
    def azure_disk(self) -> object: ...
    @property
    def cinder(self) -> object: ...
    @property
    def portworx_volume(self) -> object: ...


IN_TREE: Final[tuple[tuple[str, str, Callable[[Sources], object]], ...]] = (
    ("GCE persistent disk", "kubernetes.io/gce-pd", lambda volume: volume.gce_persistent_disk),
    ("AWS EBS volume", "kubernetes.io/aws-ebs", lambda volume: volume.aws_elastic_block_store),
    ("Azure disk", "kubernetes.io/azure-disk", lambda volume: volume.azure_disk),
    ("Cinder volume", "kubernetes.io/cinder", lambda volume: volume.cinder),
    ("Portworx volume", "kubernetes.io/portworx-volume", lambda volume: volume.portworx_volume),
)
"""Plugins that a CSI driver serves now: name, provisioner and source."""


def in_tree_names(volume: Sources) -> list[str]:
    """The names of the plugins in IN_TREE that the volume is of: one at most."""
    return [name for name, _, source in IN_TREE if source(volume) is not None]


class NodeVolumeLimits(Filter[Any]):
    """It needs nothing of a pod alone."""

    name: ClassVar[str] = "NodeVolumeLimits"
    local: ClassVar[frozenset[str]] = frozenset({DETACHED, LIMITS, MIGRATED, *(name for name, *_ in IN_TREE)})

    @staticmethod
    def reason(driver: str, *, limits: bool) -> str:
        """Why a node is refused that has no slot for the member's volumes, or that lacks the driver."""
        if limits:
            return "node(s) exceed max volume count"
        return f"{driver} CSI driver is not installed on the node"

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the kinds of volumes in the pod's spec that a CSI driver may serve."""
        return [name for volume in pod.spec.volumes or () for name in in_tree_names(volume)]
