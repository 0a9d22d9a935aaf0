"""The units that kube-scheduler may evict for a gang, in its order of importance.

Units are pods, and native PodGroups in `all` mode. No other group is a unit: not ours, and none of other programs.
Upstream: `getCrossNodesVictims` and `NewPodVictim` (types.go), `GetPodPriority` and `MoreImportantVictim` (util.go) in
pkg/scheduler/framework/preemption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.groups import PodGroup
from native.nodes._units import list_units, rearranged, sorted_by
from nodes.groups.forms import HIGHEST, is_native
from nodes.groups.keys import is_native_name
from nodes.state.columns.flags import UNSTARTED
from nodes.state.snapshot import Snapshot

__all__ = ["Candidates", "Importance", "candidates", "is_native", "ties"]

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOT_STARTED: Final = 2**40
"""The start of a pod without status.startTime: later than any other. Upstream it is the moment of the attempt."""
NO_FLAGS: Final = (0, 0, 0, HIGHEST)

Importance = tuple[int, int, int, int]
"""Less is more important: minus the priority, 0 for pods of native groups and 1 for other pods, minus the number of
pods, and the earliest start. Upstream does not say which of two units with the same importance comes first."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """U units of lower priority than the gang, on live nodes, most important first."""

    importance: Int64s
    """[U, 4], see `Importance`."""
    whole: Bools
    """[U], whether the unit is a native group."""
    first: Int64s
    """[U + 1], where each unit's part of `pods` begins."""
    pods: Int64s
    """Rows of the snapshot, by unit."""

    def __len__(self) -> int:
        return len(self.whole)

    def members(self, unit: int) -> list[int]:
        """The unit's pods, as rows of the snapshot."""
        rows: list[int] = self.pods[self.first[unit] : self.first[unit + 1]].tolist()
        return rows

    def units_of_pods(self) -> Int64s:
        """For each of `pods` its unit."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.first))

    def tie(self, unit: int) -> Importance:
        """What orders the unit among the others. Units with equal ties come in any order."""
        priority, rank, size, start = self.importance[unit].tolist()
        return priority, rank, size, start


def candidates(seen: Snapshot, below: int) -> Candidates:
    """The units of a priority lower than `below`. `seen`: see `nodes.search.steering.seen`.

    A native group's priority replaces that of its pods. A pod of a native group in `single` mode is a unit of its own,
    but it counts as important as a group of one. Of all other pods their own priority counts.
    """
    native = np.array([is_native(group) for group in seen.groups], np.uint8)
    whole = native & seen.group_columns.whole
    priority = np.array([_priority(group) for group in seen.groups], np.int64)
    group = _native_rows(seen.pod_group, native)
    of_group = np.append(priority, 0)[group]
    start = np.where(seen.pod_flags & UNSTARTED, NOT_STARTED, seen.pod_start)
    pods = (
        seen.pod_node, np.zeros_like(seen.pod_flags), group,
        np.where(group >= 0, of_group, seen.pod_priority), start, seen.pod_live.view(np.uint8),
    )  # fmt: skip
    groups = (native, native, whole, priority, np.full(len(native), -1, np.int64))
    found = list_units(pods, groups, seen.node_live.view(np.uint8), below, -1, NO_FLAGS)
    its_priority, its_start, size, is_whole, first, rows = found
    rank = 1 - _in_native_group(seen)[rows[first[:-1]]].astype(np.int64)
    keys = [-its_priority, rank, -size, its_start]
    order = sorted_by(keys)
    first, rows = rearranged(first, rows, order)
    importance = np.stack(keys, axis=1)[order]
    return Candidates(importance, is_whole.view(np.bool_)[order], first, rows[: first[-1]])


def _native_rows(group: NDArray[np.int32], native: NDArray[np.uint8]) -> NDArray[np.int32]:
    """[P], the row of the pod's group if it is native; -1 otherwise."""
    return np.where(np.append(native, 0)[group] > 0, group, -1).astype(np.int32)


def _in_native_group(seen: Snapshot) -> Bools:
    """[P], pods that name a native group, whether it exists or not. Upstream the field of the pod decides."""
    named = [is_native_name(name) for _, name in seen.group_keys]
    found: Bools = np.array([*named, False], np.bool_)[seen.pod_group]
    return found


def _priority(group: PodGroup | None) -> int:
    """`PodGroupPriority` (pkg/scheduler/util/utils.go): 0 for a group that says none."""
    priority = group.spec.priority if group is not None else None
    return 0 if priority is None or priority == HIGHEST else priority


def ties(found: Candidates, units: Sequence[int]) -> list[list[int]]:
    """The units, which are in order, by their ties."""
    classes: list[list[int]] = []
    last: Importance | None = None
    for unit in units:
        key = found.tie(unit)
        if key == last:
            classes[-1].append(unit)
        else:
            classes.append([unit])
        last = key
    return classes
