"""The optional terms of the score: what each unit and each domain adds to them. They decide between plans that cost the
same by everything before them.

- DisruptionCost: what users say it costs to evict a unit (`api.disruption`), summed over the victims.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.disruption import ScoreTerm, disruption_cost
from api.plans import TermValue
from nodes.search.units import Units
from nodes.state.snapshot import UNSAID, Snapshot

__all__ = ["TERM_WORDS", "domain_terms", "stated_terms", "unit_terms"]

Int64s = NDArray[np.int64]
Rows = NDArray[np.intp]

TERM_WORDS: Final[dict[ScoreTerm, str]] = {
    "DisruptionCost": "disruption cost",
    "Cascade": "victims that fit nowhere else",
    "Fragmentation": "nodes of a whole domain",
}


def unit_terms(snapshot: Snapshot, units: Units, chosen: Rows) -> Int64s:
    """[K, len(chosen)], what each of the chosen units adds to each configured term if it is evicted."""
    found = np.zeros((len(snapshot.costs.terms), len(chosen)), np.int64)
    for row, term in enumerate(snapshot.costs.terms):
        if term == "DisruptionCost":
            found[row] = _disruption_costs(snapshot, units)[chosen]
    return found


def domain_terms(snapshot: Snapshot, domains: int) -> Int64s:
    """[K, D], what each domain adds to each configured term."""
    return np.zeros((len(snapshot.costs.terms), domains), np.int64)


def stated_terms(snapshot: Snapshot, values: Iterable[int]) -> list[TermValue]:
    """The configured terms with these values, as plans state them."""
    return [TermValue(term, value) for term, value in zip(snapshot.costs.terms, values, strict=True)]


def _disruption_costs(snapshot: Snapshot, units: Units) -> Int64s:
    """[U]. A group that goes whole costs what it says itself, or else what its pods say together. A pod costs what it
    says itself, or else what its group says. Nobody costs more than the configuration lets count.
    """
    pods, first = units.pods, units.first[:-1]
    own = snapshot.pod_cost[pods].astype(np.int64)
    of_groups = _costs_of_groups(snapshot)
    if not len(units) or ((own == UNSAID).all() and (of_groups == UNSAID).all()):
        return np.zeros(len(units), np.int64)
    most = _most(snapshot, pods)
    own = np.minimum(own, most)
    of_group = np.minimum(of_groups[snapshot.pod_group[pods[first]]], most[first])
    together = np.add.reduceat(np.maximum(own, 0), first)
    alone = np.where(own[first] == UNSAID, of_group, own[first])
    whole = np.where(of_group == UNSAID, np.minimum(together, most[first]), of_group)
    costs: Int64s = np.maximum(np.where(units.whole, whole, alone), 0)
    return costs


def _costs_of_groups(snapshot: Snapshot) -> Int64s:
    """[G + 1], what each PodGroup says. The last one stands for pods without a group."""
    costs = np.full(len(snapshot.groups) + 1, UNSAID, np.int64)
    for row, group in enumerate(snapshot.groups):
        if group is not None and (cost := disruption_cost(group.metadata.annotations)) is not None:
            costs[row] = cost
    return costs


def _most(snapshot: Snapshot, pods: Rows) -> Int64s:
    """[len(pods)], the highest cost that counts of each pod."""
    rules = snapshot.costs
    if not rules.most_in:
        return np.full(len(pods), rules.most, np.int64)
    by_labels = np.array([rules.most_of(held[0] if held else "") for held in snapshot.label_sets], np.int64)
    most: Int64s = by_labels[snapshot.pod_labels[pods]]
    return most
