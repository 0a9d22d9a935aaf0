"""What a gang needs at least, as numbers that are compared with slots before any search. See `nodes.state.slots`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodes.search.preemptors.gangs import main_domain, minimum_of, topology_key_of
from nodes.state.columns.classes import PodClass
from nodes.state.domains import Domain
from nodes.state.groups.groups import GroupKey
from nodes.state.slots import Kind, Slots
from nodes.state.tables import Tables

__all__ = ["Count", "Demand", "count_members", "demand_of"]


class Count(NamedTuple):
    """The members of a group, in numbers. Those that have ended, terminate or are gated do not count."""

    members: int
    bound: int
    succeeded: int
    """See `SucceededMembers.count`."""
    minimum: int | None
    """How many must run: see `minimum_of`. None if there is no such group, or it is no gang."""
    gated: int
    """Pods that are no members, because they have a scheduling gate that is not ours."""

    @property
    def runs(self) -> bool:
        """Whether it is a gang with as many bound members as must run."""
        return self.minimum is not None and self.bound >= self.minimum


def count_members(tables: Tables, key: GroupKey) -> Count:
    """The group's members as they are now. Nothing is walked over."""
    counts, succeeded, group = (
        tables.member_counts(key),
        tables.count_succeeded(key),
        tables.groups.asking(key),
    )
    members = counts.waiting + counts.bound
    minimum = minimum_of(group, members, succeeded) if group is not None else None
    return Count(members, counts.bound, succeeded, minimum, counts.gated)


@dataclass(frozen=True)
class Demand:
    """Members that wait, and how many of them have to find room in one domain."""

    waiting: frozenset[tuple[PodClass, int]]
    """The classes of the members that wait, with their numbers."""
    needed: int
    """How many of them the gang needs to run."""
    topology_key: str | None
    domain: Domain = None
    """Where the members that are bound are; None if none is bound, or without a topology key."""

    def kinds(self, below: int) -> list[Kind]:
        """What has to be counted to know whether it can be met once everybody below this priority is gone."""
        return [Kind(pod_class, below) for pod_class, _ in self.waiting]

    def may_be_met(self, slots: Slots, below: int) -> bool:
        """Whether there could be room for enough members in one domain. If not, no search finds a plan.

        If it could be met, a search may still find none: members of two classes may want the same room, and host
        ports, anti-affinity and promised room are not counted.
        """
        fitting = self._fitting(slots, below)
        return bool((fitting >= self.needed).any())

    def _fitting(self, slots: Slots, below: int) -> NDArray[np.int64]:
        """[D], how many members could find room in each domain in which they may be."""
        counts = [
            np.minimum(slots.in_domains(Kind(each, below), self.topology_key), members)
            for each, members in self.waiting
        ]
        fitting: NDArray[np.int64] = np.sum(counts, axis=0)
        if self.domain is None:
            return fitting
        place = slots.place(self.topology_key, self.domain)
        return fitting[[] if place is None else [place]]


def demand_of(tables: Tables, key: GroupKey) -> Demand | None:
    """What the gang needs now; None if there is no such gang, or it needs no member that waits."""
    row, group = tables.groups.keys.get(key), tables.groups.asking(key)
    count = count_members(tables, key)
    if row is None or group is None or count.minimum is None:
        return None
    waiting = {
        tables.classes.classes.keys[each]: members for each, members in tables.groups.waiting[row].items()
    }
    needed = count.minimum - count.bound
    if needed <= 0 or not waiting:
        return None
    topology_key = topology_key_of(group)
    classes = frozenset((each, members) for each, members in waiting.items() if each is not None)
    return Demand(classes, needed, topology_key, _domain(tables, topology_key, tables.groups.nodes[row]))


def _domain(tables: Tables, topology_key: str | None, nodes: Mapping[int, int]) -> Domain:
    """The domain with the most bound members, or None. `nodes`: how many are bound, by the row of their node."""
    if topology_key is None:
        return None
    bound: dict[str, int] = {}
    for node, members in nodes.items():
        shape = tables.nodes.shapes[node]
        value = shape.labels.get(topology_key) if shape is not None else None
        if value is not None:
            bound[value] = bound.get(value, 0) + members
    return main_domain(bound)
