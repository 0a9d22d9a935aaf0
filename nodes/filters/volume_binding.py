"""VolumeBinding: bound volumes must be usable from the node, and unbound claims must find volumes for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

from api.core import Pod
from api.selectors import node_selector_matches, selects
from api.storage import TopologySelectorTerm
from nodes.filters.filter import NodeShape, StaticFilter
from nodes.filters.pod_volumes import AvailableVolume, ClassStorage, PodVolumes, UnboundClaim

__all__ = ["CLAIM", "EPHEMERAL", "VolumeBinding", "could_get", "fitting_volumes", "is_alike"]

CLAIM: Final = "persistent volume claim"
EPHEMERAL: Final = "ephemeral volume"
AFFINITY: Final = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME: Final = "node(s) didn't find available persistent volumes to bind"
NO_SPACE: Final = "node(s) did not have enough free storage"


class VolumeBinding(StaticFilter[PodVolumes]):
    """Needs: the pod's claims with what is behind them. `nodes.state.volumes.volumes` finds that; the pod alone says
    only that it has claims, which is named until somebody has found it."""

    name: ClassVar[str] = "VolumeBinding"

    def needs_with_claims(self, needs: PodVolumes | None, volumes: PodVolumes) -> PodVolumes | None:
        """What decides on which nodes the claims can be used."""
        return volumes if volumes.refusal or volumes.affinity or volumes.unbound else None

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the claims: nothing is known of them yet."""
        for volume in pod.spec.volumes or ():
            if volume.persistent_volume_claim is not None:
                yield CLAIM
            elif volume.ephemeral is not None:
                yield EPHEMERAL

    def refusal(self, needs: PodVolumes, node: NodeShape, node_name: str) -> str | None:
        """Refuse a node that a bound volume cannot be used from, or for which a claim finds no volume."""
        if needs.refusal:
            return needs.refusal
        if any(not node_selector_matches(each, node.labels, "") for each in needs.affinity):
            return AFFINITY
        return _unbound_refusal(needs, node.labels, node_name) if needs.unbound else None


def fitting_volumes(
    claim: UnboundClaim, storage: ClassStorage, labels: Mapping[str, str]
) -> Iterator[AvailableVolume]:
    """The volumes that the claim could get on a node with these labels, the first choice first (FindMatchingVolume).

    A claim for which a volume is reserved gets no other one.
    """
    if claim.volume is not None:
        if _is_reachable(claim.volume, labels):
            yield claim.volume
        return
    for volume in storage.near(labels):
        if could_get(claim, volume) and _is_reachable(volume, labels):
            yield volume


def is_alike(claim: UnboundClaim, volume: AvailableVolume) -> bool:
    """Whether the volume has the size, mode and attributes that the claim wants."""
    return (
        not claim.size.exceeds(volume.size)
        and claim.volume_mode == volume.volume_mode
        and claim.attributes_class == volume.attributes_class
    )


def could_get(claim: UnboundClaim, volume: AvailableVolume) -> bool:
    """Whether the claim could get the volume, which is reserved for nobody, on some node."""
    if not is_alike(claim, volume):
        return False
    selected = claim.selector is None or selects(claim.selector, volume.labels)
    return selected and volume.access_modes.issuperset(claim.access_modes)


def _is_reachable(volume: AvailableVolume, labels: Mapping[str, str]) -> bool:
    return volume.affinity is None or node_selector_matches(volume.affinity, labels, "")


def _unbound_refusal(needs: PodVolumes, labels: Mapping[str, str], node_name: str) -> str | None:
    if any(claim.selected_node not in ("", node_name) for claim in needs.unbound):
        return NO_VOLUME
    taken: set[str] = set()
    left = []
    for claim, storage in zip(needs.unbound, needs.storage, strict=True):
        found = None if claim.selected_node else _first_free(claim, storage, labels, taken)
        if found is None:
            left.append((claim, storage))
        else:
            taken.add(found)
    for claim, storage in left:
        if not storage.provisions or not _is_allowed(storage.allowed_topologies, labels):
            return NO_VOLUME
        if not _has_space(claim, storage, labels):
            return NO_SPACE
    return None


def _first_free(
    claim: UnboundClaim, storage: ClassStorage, labels: Mapping[str, str], taken: set[str]
) -> str | None:
    names = (volume.name for volume in fitting_volumes(claim, storage, labels))
    return next((name for name in names if name not in taken), None)


def _is_allowed(terms: tuple[TopologySelectorTerm, ...], labels: Mapping[str, str]) -> bool:
    """Whether a term allows the node (MatchTopologySelectorTerms). No terms: every node. An empty term: none."""
    return not terms or any(
        term.match_label_expressions
        and all(labels.get(each.key) in (each.values or ()) for each in term.match_label_expressions)
        for term in terms
    )


def _has_space(claim: UnboundClaim, storage: ClassStorage, labels: Mapping[str, str]) -> bool:
    if storage.capacities is None or not claim.has_size:
        return True
    size = claim.size.scaled(0)
    return any(limit >= size and selects(where, labels) for where, limit in storage.capacities)
