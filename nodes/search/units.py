"""The units that may be evicted: the cluster's bound pods, in the order of their importance."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from native.nodes._units import list_units, rearranged, sorted_by
from nodes.groups.forms import HIGHEST
from nodes.search.preemptors.preemptor import priority_of_group
from nodes.state.columns.flags import KEPT, STAYING, TERMINATING
from nodes.state.groups.group_columns import GroupColumns
from nodes.state.snapshot import Snapshot

__all__ = ["Units", "candidates", "in_order", "is_needed", "started"]

Rows = NDArray[np.intp]
Int64s = NDArray[np.int64]

NEEDED_SECONDS: Final = 2**40
"""Added to the age of a pod that its gang needs, so that it counts as older than every other pod."""


def is_needed(start: int) -> bool:
    """Whether a unit with this start (`Units.start`) is a pod that its gang needs."""
    return start < -NEEDED_SECONDS // 2


def started(start: int) -> int:
    """When a unit with this start (`Units.start`) started, in seconds since the epoch."""
    return start + NEEDED_SECONDS if is_needed(start) else start


@dataclass(frozen=True, slots=True)
class Units:
    """The candidates, most important first.

    The order is: higher priority, `all` groups before pods, larger, needed by its gang, longer running, dearer by the
    optional terms of the score, name. A group in `all` mode is one unit with all its pods on all nodes. Any other pod
    is a unit of its own.
    """

    priority: Int64s
    start: Int64s
    """Seconds since the epoch, of the unit's oldest pod. Less NEEDED_SECONDS for a pod of a gang in `single` mode that
    would run with fewer than minCount pods without it."""
    size: Int64s
    """The number of the unit's pods, on all nodes."""
    whole: NDArray[np.bool_]
    """True for a group in `all` mode, False for a single pod."""
    first: Int64s
    """[U + 1], where each unit's part of `pods` begins."""
    pods: Int64s
    """Rows of the snapshot, by unit."""
    terms: Int64s
    """[K, U], what each unit adds to each optional term of the score."""

    def none(self, terms: int) -> Units:
        """None of the units, and `terms` terms."""
        nobody = self.priority[:0]
        return Units(
            nobody, nobody, nobody, self.whole[:0], self.first[:1], nobody, np.zeros((terms, 0), np.int64)
        )

    def some(self, kept: NDArray[np.bool_]) -> Units:
        """Those of the units, in the same order."""
        order = np.flatnonzero(kept)
        first, pods = rearranged(self.first, self.pods, order)  # what is left of `pods` is not set
        columns = (self.priority[order], self.start[order], self.size[order], self.whole[order])
        return Units(*columns, first, pods[: first[-1]], self.terms[:, order])

    def __len__(self) -> int:
        return len(self.priority)

    def of_pods(self, pods: Collection[int]) -> Rows:
        """The units that have one of these pods, sorted."""
        if not pods:
            return np.zeros(0, np.intp)
        found = np.flatnonzero(np.isin(self.pods, list(pods)))
        return np.unique(np.searchsorted(self.first, found, side="right") - 1)

    def members(self, unit: int) -> list[int]:
        """The unit's pods, as rows of the snapshot."""
        rows: list[int] = self.pods[self.first[unit] : self.first[unit + 1]].tolist()
        return rows


Priced = Callable[[Units, Rows], Int64s]
"""What these of the units add to each optional term of the score: [K, len(rows)]."""


def candidates(snapshot: Snapshot, below: int, on: NDArray[np.bool_], *, but: int, strict: bool) -> Units:
    """Units of a priority lower than `below` with a pod on a node in `on` [N].

    Pods of the group `but` (its row; -1 for none) are left out, and so are units with a mirror pod.

    If the PriorityClass of a group does not exist, `strict` raises DecisionError. Otherwise its pods are left out.

    They are in no order, and have no terms yet: see `in_order`.
    """
    groups = snapshot.group_columns
    if strict:
        _demand_classes(snapshot, groups, but)
    pods = (
        snapshot.pod_node, snapshot.pod_flags, snapshot.pod_group,
        _own_priorities(snapshot), snapshot.pod_start, snapshot.pod_live.view(np.uint8),
    )  # fmt: skip
    priority, start, size, whole, first, rows = list_units(
        pods,
        (groups.exists, groups.known, groups.whole, groups.priority, groups.minimum),
        on.view(np.uint8),
        below,
        but,
        (TERMINATING, KEPT | STAYING, NEEDED_SECONDS, HIGHEST),
    )
    nothing = np.zeros((0, len(priority)), np.int64)
    return Units(priority, start, size, whole.view(np.bool_), first, rows, nothing)


def _own_priorities(snapshot: Snapshot) -> Int64s:
    """[P], the priorities of pods as far as they count for their unit. HIGHEST: its group's replaces it."""
    replaces = snapshot.group_columns.replaces
    if not replaces.any():
        return snapshot.pod_priority
    return np.where(np.append(replaces, 0)[snapshot.pod_group] > 0, HIGHEST, snapshot.pod_priority)


def _demand_classes(snapshot: Snapshot, groups: GroupColumns, but: int) -> None:
    """Raise DecisionError if a pod runs in a group whose PriorityClass does not exist."""
    unknown = (groups.exists > groups.known) & (np.arange(len(groups.exists)) != but)
    if not unknown.any():
        return
    bound = snapshot.pod_live & (snapshot.pod_node >= 0) & (snapshot.pod_flags & TERMINATING == 0)
    running = np.unique(snapshot.pod_group[bound])
    for row in running[running >= 0].tolist():
        group = snapshot.groups[row]
        if unknown[row] and group is not None:
            priority_of_group(snapshot, group)


def in_order(snapshot: Snapshot, units: Units, priced: Priced) -> Units:
    """The units in order of importance, with their terms."""
    terms = priced(units, np.arange(len(units)))
    groups, dearer = bool(units.whole.any()), [-row for row in terms if row.any()]
    larger = [(~units.whole).astype(np.int64), -units.size] if groups else []
    order = sorted_by([-units.priority, *larger, units.start, *dearer, _name_ranks(snapshot, units)])
    if not groups:  # what is the same for all pods, and for all that cost nothing, is in order already
        return replace(
            units,
            priority=units.priority[order],
            start=units.start[order],
            pods=units.pods[order],
            terms=terms[:, order] if dearer else terms,
        )
    first, pods = rearranged(units.first, units.pods, order)
    return Units(
        units.priority[order],
        units.start[order],
        units.size[order],
        units.whole[order],
        first,
        pods,
        terms[:, order],
    )


def _name_ranks(snapshot: Snapshot, units: Units) -> Int64s:
    """Numbers that are in the order of the names, those of pods and those of groups apart."""
    pods = units.pods[units.first[:-1]]
    ranks: Int64s = snapshot.pod_name_rank[pods].astype(np.int64)
    if units.whole.any():
        ranks[units.whole] = snapshot.group_columns.name_rank[snapshot.pod_group[pods[units.whole]]]
    return ranks
