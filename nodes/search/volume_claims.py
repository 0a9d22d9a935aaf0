"""What the claims of members mean for one another, and for the limits of their nodes: what a plan has to name.

The search looks at each member's claims alone. Here the members of a plan are looked at together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Set
from typing import Final

import numpy as np

from nodes.filters.node_volume_limits import LACKING, LIMITS, NodeVolumeLimits
from nodes.filters.pod_volumes import PodVolumes
from nodes.filters.registry import place_of
from nodes.filters.volume_binding import VolumeBinding, could_get, fitting_volumes
from nodes.state.classes import PodClass
from nodes.state.snapshot import Snapshot
from nodes.state.volume_facts import Handle

__all__ = ["unmodelled_claims"]

ANYWHERE: Final = -1
"""In place of the row of a node."""
CONTENDED: Final = "volumes that several claims want"
SHARED: Final = "unbound claim of several members"
BINDING: Final = place_of(VolumeBinding)
NODE_LIMITS: Final = place_of(NodeVolumeLimits)


def unmodelled_claims(
    snapshot: Snapshot, members: Collection[int], gone: Collection[int], placed: Mapping[int, int] | None
) -> Iterator[str]:
    """Names of what could go wrong with the claims of these members. `placed`: node by member; None: anywhere."""
    mine = [pod for pod in members if pod in snapshot.pod_claims]
    if not mine:
        return
    unbound = {pod: needs for pod in mine if (needs := _needs(snapshot, pod)) is not None and needs.unbound}
    if _is_shared(snapshot, unbound):
        yield SHARED
    if _is_contended(snapshot, unbound, placed):
        yield CONTENDED
    asking = [pod for pod in mine if (each := _class(snapshot, pod)) is None or NODE_LIMITS not in each.off]
    if snapshot.needed_drivers and _may_lack(snapshot, asking, placed):
        yield LACKING
    if snapshot.csi_drivers and _may_exceed(snapshot, asking, set(gone), placed):
        yield LIMITS


def _class(snapshot: Snapshot, pod: int) -> PodClass | None:
    return snapshot.classes[int(snapshot.pod_class[pod])]


def _needs(snapshot: Snapshot, pod: int) -> PodVolumes | None:
    its_class = _class(snapshot, pod)
    return None if its_class is None or BINDING in its_class.off else its_class.needs[BINDING]


def _is_shared(snapshot: Snapshot, unbound: Collection[int]) -> bool:
    """Whether two members use a claim that has no volume yet: the volume of the first one may be out of reach."""
    uses = Counter(use.claim for pod in unbound for use in set(snapshot.pod_claims[pod]))
    return max(uses.values(), default=0) > 1


def _is_contended(
    snapshot: Snapshot, unbound: Mapping[int, PodVolumes], placed: Mapping[int, int] | None
) -> bool:
    """Whether a claim could find its volumes taken by other claims, in some order in which they come.

    A claim that has more volumes than there are others who could take one of them finds one in every order.
    """
    known: dict[tuple[int, int], list[Set[str]]] = {}
    wants: list[Set[str]] = []
    for pod, needs in unbound.items():
        node = placed.get(pod, ANYWHERE) if placed is not None else ANYWHERE
        # Members of one class have the same needs.
        if (id(needs), node) not in known:
            known[id(needs), node] = _wanted(snapshot, needs, node)
        wants += known[id(needs), node]
    groups = {id(names): names for names in wants}
    sizes = Counter(map(id, wants))
    for names in groups.values():
        rivals = sum(sizes[each] for each, other in groups.items() if not names.isdisjoint(other)) - 1
        if rivals > 0 and (placed is None or len(names) <= rivals):
            return True
    return False


def _wanted(snapshot: Snapshot, needs: PodVolumes, node: int) -> list[Set[str]]:
    """For each unbound claim the names of the volumes that it could get on the node, or on some node."""
    shape = snapshot.node_shapes[node] if node != ANYWHERE else None
    found: list[Set[str]] = []
    for claim, storage in zip(needs.unbound, needs.storage, strict=True):
        if claim.selected_node:
            continue
        if shape is not None:
            volumes = fitting_volumes(claim, storage, shape.labels)
        elif claim.volume is not None:
            volumes = iter([claim.volume])
        else:
            volumes = (each for each in storage.volumes if could_get(claim, each))
        found.append({each.name for each in volumes})
    return found


def _may_lack(snapshot: Snapshot, members: Collection[int], placed: Mapping[int, int] | None) -> bool:
    """Whether a member could come to a node without a driver that it needs."""
    everywhere = np.flatnonzero(snapshot.node_live).tolist()
    for pod in members:
        needed = snapshot.needed_drivers.intersection(driver for driver, _ in _handles(snapshot, [pod]))
        if not needed:
            continue
        nodes = [placed[pod]] if placed is not None and pod in placed else everywhere
        names = (snapshot.node_names[node] for node in nodes)
        if any(not needed.issubset(snapshot.csi_drivers.get(name, ())) for name in names):
            return True
    return False


def _may_exceed(
    snapshot: Snapshot, asking: Collection[int], gone: Set[int], placed: Mapping[int, int] | None
) -> bool:
    """Whether a node could have more volumes than it can attach once the members are there."""
    drivers = {handle[0] for handle in _handles(snapshot, asking)}
    limited = {name for counts in snapshot.csi_drivers.values() for name in counts}
    if drivers.isdisjoint(limited):
        return False
    running: dict[int, list[int]] = {}
    for pod in snapshot.pod_claims:
        node = int(snapshot.pod_node[pod])
        if node >= 0 and pod not in gone:
            running.setdefault(node, []).append(pod)
    coming: dict[int, list[int]] = {}
    for pod in asking:
        coming.setdefault(placed.get(pod, ANYWHERE) if placed is not None else ANYWHERE, []).append(pod)
    for node, name in enumerate(snapshot.node_names):
        limits, new = snapshot.csi_drivers.get(name), coming.get(node, coming.get(ANYWHERE))
        if limits and new and _exceeds(snapshot, limits, running.get(node, []), new):
            return True
    return False


def _exceeds(
    snapshot: Snapshot, limits: Mapping[str, int | None], there: list[int], coming: list[int]
) -> bool:
    new = _handles(snapshot, coming)
    counts = Counter(driver for driver, _ in _handles(snapshot, there) | new)
    most = {driver: limit for driver, limit in limits.items() if limit is not None}
    return any(counts[driver] > most[driver] for driver, _ in new if driver in most)


def _handles(snapshot: Snapshot, pods: Collection[int]) -> Set[Handle]:
    uses = (use for pod in pods for use in snapshot.pod_claims[pod])
    return {use.handle for use in uses if use.handle is not None}
