"""What the claims of members mean for one another, and for the limits of their nodes: what a plan has to name.

The search looks at each member's claims alone. Here the members of a plan are looked at together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Set
from functools import cached_property
from typing import Final

from nodes.filters.node_volume_limits import DETACHED, LIMITS
from nodes.filters.pod_volumes import PodVolumes
from nodes.filters.registry import place_of
from nodes.filters.volume_binding import VolumeBinding, could_get, fitting_volumes
from nodes.search.neighbours.attachments import asks_for_limits, handles_of
from nodes.search.neighbours.kinds import on_nodes
from nodes.state.columns.classes import PodClass
from nodes.state.columns.flags import is_leaving
from nodes.state.snapshot import Snapshot
from nodes.state.volumes.volume_facts import Handle

__all__ = ["unmodelled_claims"]

ANYWHERE: Final = -1
"""In place of the row of a node."""
CONTENDED: Final = "volumes that several claims want"
SHARED: Final = "unbound claim of several members"
BINDING: Final = place_of(VolumeBinding)


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
    asking = [pod for pod in mine if asks_for_limits(snapshot, pod)]
    if snapshot.csi_drivers:
        yield from _Limits(snapshot, asking, set(gone)).named(placed)


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


class _Limits:
    """The limits of nodes, once members are there. Members may share volumes, with one another and with other pods."""

    def __init__(self, snapshot: Snapshot, asking: Collection[int], gone: Set[int]) -> None:
        self._snapshot, self._asking = snapshot, asking
        self._there, self._staying = dict[int, list[int]](), dict[int, list[int]]()
        limited = {name for counts in snapshot.csi_drivers.values() for name in counts}
        self._matter = not limited.isdisjoint(driver for driver, _ in handles_of(snapshot, asking))
        if not self._matter:
            return
        leave = is_leaving(snapshot.pod_flags)
        pods, nodes = on_nodes(snapshot)
        for pod, node in zip(pods.tolist(), nodes.tolist(), strict=True):
            if pod in snapshot.pod_claims:
                self._there.setdefault(node, []).append(pod)
                if pod not in gone and not leave[pod]:
                    self._staying.setdefault(node, []).append(pod)

    def named(self, placed: Mapping[int, int] | None) -> Iterator[str]:
        """What to name. `placed`: node by member. None: anywhere, where only what is shared is not known already."""
        if not self._matter:
            return
        coming: dict[int, list[int]] = {}
        for pod in self._asking:
            coming.setdefault(placed.get(pod, ANYWHERE) if placed is not None else ANYWHERE, []).append(pod)
        for node, name in enumerate(self._snapshot.node_names):
            limits, new = self._snapshot.csi_drivers.get(name), coming.get(node, coming.get(ANYWHERE))
            if not limits or not new:
                continue
            there, staying = self._there.get(node, []), self._staying.get(node, [])
            if placed is None:
                shares = self._shares([*there, *new])
                yield from [LIMITS] if shares and self._exceeds(limits, [], [*there, *new]) else []
            elif self._exceeds(limits, staying, new):
                yield LIMITS
            elif self._exceeds(limits, there, new):
                yield DETACHED

    def _exceeds(self, limits: Mapping[str, int | None], there: list[int], coming: list[int]) -> bool:
        attached = handles_of(self._snapshot, there)
        new = handles_of(self._snapshot, coming) - attached
        counts = Counter(driver for driver, _ in attached | new)
        most = {driver: limit for driver, limit in limits.items() if limit is not None}
        return any(counts[driver] > most[driver] for driver, _ in new if driver in most)

    def _shares(self, pods: list[int]) -> bool:
        """Whether one of these pods shares a volume with another pod, wherever that is."""
        return not self._shared.isdisjoint(handles_of(self._snapshot, pods))

    @cached_property
    def _shared(self) -> Set[Handle]:
        users: Counter[Handle] = Counter()
        for pod in self._snapshot.pod_claims:
            users.update(handles_of(self._snapshot, [pod]))
        return {handle for handle, count in users.items() if count > 1}
