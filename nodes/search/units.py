"""The units that may be evicted: the cluster's bound pods, in the order of their importance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from api.groups import goes_whole
from nodes.search.preemptor import DecisionError, priority_of_group
from nodes.state.snapshot import KEPT, STAYING, TERMINATING, Snapshot

__all__ = ["Units", "candidates", "is_needed", "started"]

Rows = NDArray[np.intp]
Int64s = NDArray[np.int64]

NEEDED_SECONDS: Final = 2**40
"""A pod that its gang needs counts as so much older than it is. No other pod is so old."""


WORD: Final = 62
"""Bits of a number that the order of the units sorts by."""


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
    first: Rows
    """[U + 1], where each unit's part of `pods` begins."""
    pods: Rows
    """Rows of the snapshot, by unit."""
    terms: Int64s
    """[K, U], what each unit adds to each optional term of the score."""

    def __len__(self) -> int:
        return len(self.priority)

    def members(self, unit: int) -> list[int]:
        """The unit's pods, as rows of the snapshot."""
        rows: list[int] = self.pods[self.first[unit] : self.first[unit + 1]].tolist()
        return rows

    def kind(self, unit: int) -> Literal["PodGroup", "Pod"]:
        """The kind of the object that names the unit."""
        return "PodGroup" if self.whole[unit] else "Pod"

    def name(self, snapshot: Snapshot, unit: int) -> tuple[str, str]:
        """(namespace, name)."""
        pod = int(self.pods[self.first[unit]])
        if self.whole[unit]:
            return snapshot.group_keys[int(snapshot.pod_group[pod])]
        return snapshot.pod_namespaces[pod], snapshot.pod_names[pod]

    def uid(self, snapshot: Snapshot, unit: int) -> str:
        """The metadata.uid of the unit's PodGroup or pod."""
        pod = int(self.pods[self.first[unit]])
        group = snapshot.groups[snapshot.pod_group[pod]] if self.whole[unit] else None
        return snapshot.pod_uids[pod] if group is None else group.metadata.uid


Priced = Callable[[Units, Rows], Int64s]
"""What these of the units add to each optional term of the score: [K, len(rows)]."""


def candidates(
    snapshot: Snapshot, below: int, on: NDArray[np.bool_], *, but: int, strict: bool, priced: Priced
) -> Units:
    """Units of a priority lower than `below` with a pod on a node in `on` [N].

    Pods of the group `but` (its row; -1 for none) are left out, and so are units with a mirror pod.

    If the PriorityClass of a group does not exist, `strict` raises DecisionError. Otherwise its pods are left out.
    """
    rows = np.flatnonzero(
        snapshot.pod_live
        & (snapshot.pod_node >= 0)
        & (snapshot.pod_flags & TERMINATING == 0)
        & ((snapshot.pod_group != but) | (but < 0))
    )
    groups = _Groups.of(snapshot, rows, strict=strict)
    group = snapshot.pod_group[rows].astype(np.intp)
    grouped = groups.exists[group]  # -1, no group, is the last entry: False
    whole = groups.whole[group]
    priority = np.where(grouped, groups.priority[group], snapshot.pod_priority[rows])
    eligible = (priority < below) & ~(grouped & ~groups.known[group])
    # Groups' rows come first, then pods' rows.
    key = np.where(whole, group, len(snapshot.groups) + rows)

    rows, key, priority, whole = rows[eligible], key[eligible], priority[eligible], whole[eligible]
    order = np.argsort(key, kind="stable")
    rows, key, priority, whole = rows[order], key[order], priority[order], whole[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    size = np.diff(first, append=len(key))
    if not len(first):
        nobody = np.zeros(0, np.int64)
        terms = np.zeros((len(snapshot.costs.terms), 0), np.int64)
        return Units(nobody, nobody, nobody, nobody.astype(np.bool_), np.zeros(1, np.intp), rows, terms)
    fixed = np.bitwise_or.reduceat(snapshot.pod_flags[rows], first) & (KEPT | STAYING) > 0
    here = np.logical_or.reduceat(on[snapshot.pod_node[rows]], first)
    needed = groups.needs[snapshot.pod_group[rows[first]]] & ~whole[first]
    unit = Units(
        priority=priority[first],
        start=np.minimum.reduceat(snapshot.pod_start[rows], first) - needed * NEEDED_SECONDS,
        size=size.astype(np.int64),
        whole=whole[first],
        first=np.append(first, len(rows)),
        pods=rows,
        terms=np.zeros((0, len(first)), np.int64),
    )
    chosen = np.flatnonzero(here & ~fixed)
    return _sorted(snapshot, unit, chosen, priced(unit, chosen))


@dataclass(frozen=True, slots=True)
class _Groups:
    """One entry for each row of the groups, and one more at -1 for pods without a group."""

    exists: NDArray[np.bool_]
    known: NDArray[np.bool_]
    """Whether the group's priority is known."""
    whole: NDArray[np.bool_]
    priority: Int64s
    """Of a group that goes whole, the lowest of its own and its pods'. See docs/decisions/0025."""
    needs: NDArray[np.bool_]
    """Whether it is a gang of which no more pods run than minCount. Those that Succeeded count as running."""

    @classmethod
    def of(cls, snapshot: Snapshot, rows: Rows, *, strict: bool) -> _Groups:
        size = len(snapshot.groups) + 1
        found = cls(
            exists=np.zeros(size, np.bool_),
            known=np.zeros(size, np.bool_),
            whole=np.zeros(size, np.bool_),
            priority=np.zeros(size, np.int64),
            needs=np.zeros(size, np.bool_),
        )
        for row, running in zip(*_counts(snapshot.pod_group[rows]), strict=True):
            group = snapshot.groups[row] if row >= 0 else None
            if group is None:
                continue
            found.exists[row] = True
            found.whole[row] = goes_whole(group)
            gang = group.spec.scheduling_policy.gang
            found.needs[row] = gang is not None and running + snapshot.group_succeeded[row] <= gang.min_count
            try:
                found.priority[row] = priority_of_group(snapshot, group)
            except DecisionError:
                if strict:
                    raise
            else:
                found.known[row] = True
        members = snapshot.pod_group[rows]
        together = found.whole[members]
        np.minimum.at(found.priority, members[together], snapshot.pod_priority[rows[together]])
        return found


def _counts(groups: NDArray[np.integer]) -> tuple[list[int], list[int]]:
    """The groups, and how many pods of each there are."""
    counts = np.bincount(groups + 1)
    rows = np.flatnonzero(counts)
    return (rows - 1).tolist(), counts[rows].tolist()


def _sorted(snapshot: Snapshot, unit: Units, chosen: Rows, terms: Int64s) -> Units:
    """The chosen units in order of importance. `terms`: of the chosen units."""
    keys = (-unit.priority[chosen], ~unit.whole[chosen], -unit.size[chosen], unit.start[chosen])
    order = _order([*keys, *-terms, _name_ranks(snapshot, unit, chosen)])
    chosen, terms = chosen[order], terms[:, order]
    size = unit.size[chosen]
    first = np.concatenate(([0], np.cumsum(size))).astype(np.intp)
    # Old position of each pod: where its unit began, plus the pod's position inside the unit.
    inside = np.arange(first[-1]) - np.repeat(first[:-1], size)
    pods = unit.pods[np.repeat(unit.first[chosen], size) + inside]
    return Units(unit.priority[chosen], unit.start[chosen], size, unit.whole[chosen], first, pods, terms)


def _order(keys: list[NDArray[Any]]) -> Rows:
    """The order by these keys, the first one before all others. Keys with a small range share a number.

    One sort of numbers takes a fraction of the time of a sort by six keys.
    """
    words = [np.zeros(len(keys[0]), np.int64)]
    used = 0
    for key in keys if len(keys[0]) else ():
        low = int(key.min())
        width = (int(key.max()) - low).bit_length()
        if used + width > WORD:
            words.append(np.zeros_like(words[0]))
            used = 0
        words[-1] = (words[-1] << width) + (key.astype(np.int64) - low)
        used += width
    return np.lexsort(words[::-1]) if len(words) > 1 else np.argsort(words[0])


def _name_ranks(snapshot: Snapshot, unit: Units, chosen: Rows) -> Rows:
    """Numbers that are in the order of the names, those of pods and those of groups apart."""
    pods, whole = unit.pods[unit.first[chosen]], unit.whole[chosen]
    ranks: Rows = snapshot.pod_name_rank[pods].astype(np.intp)
    groups = snapshot.pod_group[pods[whole]].tolist()
    place = {group: i for i, group in enumerate(sorted(groups, key=snapshot.group_keys.__getitem__))}
    ranks[whole] = [place[group] for group in groups]
    return ranks
