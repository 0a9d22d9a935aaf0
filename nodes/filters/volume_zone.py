"""VolumeZone: the node must be in a zone and region that the labels of each bound volume name."""

from __future__ import annotations

from typing import ClassVar, Final

from nodes.filters.filter import NodeShape, StaticFilter
from nodes.filters.pod_volumes import PodVolumes

__all__ = ["VolumeZone", "zones_of"]

REASON: Final = "node(s) had no available volume zone"
TOPOLOGY_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Labels of volumes, with the label that a node may have in place of it."""

Zones = tuple[tuple[str, tuple[str, ...]], ...]


class VolumeZone(StaticFilter[Zones]):
    """Needs: the labels of the bound volumes of claims that are not ephemeral, with the values that they allow."""

    name: ClassVar[str] = "VolumeZone"

    def needs_with_claims(self, needs: Zones | None, volumes: PodVolumes) -> Zones | None:
        """The labels that name zones and regions."""
        return volumes.zones or None

    def refusal(self, needs: Zones, node: NodeShape, node_name: str) -> str | None:
        """Refuse a node in another zone. A node without any such label is in every zone."""
        if not any(label in node.labels for label in TOPOLOGY_LABELS):
            return None
        for label, allowed in needs:
            value = node.labels.get(label, node.labels.get(TOPOLOGY_LABELS[label]))
            if value not in allowed:
                return REASON
        return None


def zones_of(labels: dict[str, str] | None) -> Zones:
    """What the labels of a volume allow (LabelZonesToSet). A label with an empty part does not count."""
    found = []
    for label in TOPOLOGY_LABELS:
        parts = sorted({part.strip() for part in (labels or {}).get(label, "").split("__")})
        if all(parts):
            found.append((label, tuple(parts)))
    return tuple(found)
