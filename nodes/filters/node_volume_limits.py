"""NodeVolumeLimits: how many volumes of a CSI driver a node can attach. `nodes.search.volume_claims` counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from api.core import Pod, Volume
from nodes.filters.filter import Filter

__all__ = ["LACKING", "LIMITS", "MIGRATED", "NodeVolumeLimits"]

LIMITS: Final = "attach limits of a CSI driver"
LACKING: Final = "CSI driver that a node lacks"
"""Its CSIDriver says `preventPodSchedulingIfMissing`."""
MIGRATED: Final = "in-tree volume"
"""A PersistentVolume with a source that a CSI driver serves now."""

SOURCES: Final[tuple[tuple[str, Callable[[Volume], object]], ...]] = (
    ("GCE persistent disk", lambda volume: volume.gce_persistent_disk),
    ("AWS EBS volume", lambda volume: volume.aws_elastic_block_store),
    ("Azure disk", lambda volume: volume.azure_disk),
    ("Cinder volume", lambda volume: volume.cinder),
    ("Portworx volume", lambda volume: volume.portworx_volume),
)
"""Volumes in a pod's spec that count against the limit of the CSI driver that serves them."""


class NodeVolumeLimits(Filter[Any]):
    """It needs nothing of a pod alone."""

    name: ClassVar[str] = "NodeVolumeLimits"
    local: ClassVar[frozenset[str]] = frozenset({LACKING, LIMITS, MIGRATED, *(name for name, _ in SOURCES)})

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the kinds of volumes in the pod's spec that a CSI driver may serve."""
        volumes = pod.spec.volumes or ()
        return [name for volume in volumes for name, source in SOURCES if source(volume) is not None]
