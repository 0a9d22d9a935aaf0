"""What the volume filters need of a pod: its claims, resolved to the volumes and classes behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec

from api.core import NodeSelector, Pod
from api.meta import LabelSelector
from api.quantity import Quantity
from api.storage import TopologySelectorTerm

__all__ = [
    "AvailableVolume",
    "ClaimReference",
    "ClassStorage",
    "PodVolumes",
    "UnboundClaim",
    "claims_of",
]


class ClaimReference(NamedTuple):
    """How a pod refers to a PersistentVolumeClaim."""

    namespace: str
    name: str
    owner: str = ""
    """For an ephemeral volume: the UID of the pod, which must own the claim."""

    @property
    def is_ephemeral(self) -> bool:
        """Whether the claim is made for the pod alone."""
        return bool(self.owner)


class AvailableVolume(NamedTuple):
    """A PersistentVolume that a claim could get."""

    name: str
    size: Quantity
    access_modes: frozenset[str]
    volume_mode: str
    attributes_class: str
    labels: dict[str, str]
    affinity: NodeSelector | None


class UnboundClaim(NamedTuple):
    """A claim without a volume whose StorageClass waits for the first consumer. Equal claims are interchangeable."""

    storage_class: str
    size: Quantity
    has_size: bool
    """Whether the claim says how much it needs; otherwise `size` is 0."""
    access_modes: tuple[str, ...]
    volume_mode: str
    attributes_class: str
    selector: LabelSelector | None
    """A valid one."""
    selected_node: str = ""
    """Where a volume is being provisioned already."""
    volume: AvailableVolume | None = None
    """The volume whose claimRef names this claim. The claim gets no other one."""


@dataclass(frozen=True)
class ClassStorage:
    """What a StorageClass has for claims that wait for their first consumer. A newer state has a higher version."""

    version: int
    volumes: tuple[AvailableVolume, ...] = ()
    """The smallest first, then by name."""
    provisions: bool = False
    """Whether it has a provisioner."""
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
    capacities: tuple[tuple[LabelSelector, int], ...] | None = None
    """Where the provisioner has room: nodes, and the bytes of the largest volume there; None if it does not say."""

    def near(self, labels: Mapping[str, str]) -> Iterator[AvailableVolume]:
        """Volumes in their order: at least those that a node with these labels can use.

        A cluster may have a volume for each node. Nobody looks at all of them for each node.
        """
        places, anywhere = self._index
        rows = {row for key in places for row in places[key].get(labels.get(key, ""), ())}
        return (self.volumes[row] for row in sorted(rows.union(anywhere)))

    @cached_property
    def _index(self) -> tuple[dict[str, dict[str, list[int]]], list[int]]:
        """Places of volumes by a label and its value that they ask for; and of those that ask for no such value."""
        places: dict[str, dict[str, list[int]]] = {}
        anywhere = []
        for row, volume in enumerate(self.volumes):
            asked = _asked_values(volume.affinity)
            if asked is None:
                anywhere.append(row)
            for key, value in asked or ():
                places.setdefault(key, {}).setdefault(value, []).append(row)
        return places, anywhere


def _asked_values(affinity: NodeSelector | None) -> list[tuple[str, str]] | None:
    """Labels with values. A node must have at least one of them. None: a node need not have any."""
    found: list[tuple[str, str]] = []
    for term in (affinity.node_selector_terms if affinity is not None else None) or ():
        listed = [each for each in term.match_expressions or () if each.operator == "In"]
        if not listed:
            return None
        found += [(listed[0].key, value) for value in listed[0].values or ()]
    return found or None


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What the four volume filters need of the claims of one pod."""

    refusal: str = ""
    """Why no node takes the pod, in the scheduler's words; empty if some may."""
    affinity: tuple[NodeSelector, ...] = ()
    """The required node affinity of the bound volumes."""
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Labels of the bound volumes that name zones and regions, with the values that a node may have."""
    exclusive: tuple[str, ...] = ()
    """The claims with ReadWriteOncePod, as namespace/name, sorted."""
    unbound: tuple[UnboundClaim, ...] = ()
    """The smallest first."""
    storage: tuple[ClassStorage, ...] = ()
    """For each unbound claim, what its StorageClass has."""
    unmodelled: tuple[str, ...] = ()
    """Names of what nobody models of the claims, sorted."""

    @property
    def key(self) -> bytes:
        """Equal for claims that no filter tells apart."""
        versions = [each.version for each in self.storage]
        bound = self.refusal, self.affinity, self.zones, self.exclusive
        parts = (*bound, self.unbound, versions, self.unmodelled)
        return msgspec.json.encode(parts, order="deterministic")


def claims_of(pod: Pod) -> tuple[ClaimReference, ...]:
    """The claims that the pod uses, in the order of its volumes."""
    if not pod.spec.volumes:
        return ()
    found = []
    meta = pod.metadata
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(ClaimReference(meta.namespace, volume.persistent_volume_claim.claim_name))
        elif volume.ephemeral is not None:
            found.append(ClaimReference(meta.namespace, f"{meta.name}-{volume.name}", meta.uid or "?"))
    return tuple(found)
