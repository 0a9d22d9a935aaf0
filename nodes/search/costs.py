"""The optional terms of the score: what each unit and each domain adds to them. They decide between plans that cost the
same by everything before them.

- DisruptionCost: what users say it costs to evict a unit (`api.disruption`), summed over the victims.
- Cascade: the number of victims that do not fit anywhere else without further evictions (`nodes.search.cascade`).
- Fragmentation: the number of nodes of a domain that would no longer be whole. A domain is whole if nothing runs on its
  nodes but pods of DaemonSets, static pods, and pods that terminate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.disruption import ScoreTerm, disruption_cost
from api.plan_results import TermValue
from nodes.search.units import Units
from nodes.state.columns.flags import DAEMON, KEPT, UNSAID, is_leaving
from nodes.state.snapshot import Snapshot

__all__ = ["TERM_WORDS", "Stuck", "domain_terms", "stated_terms", "unit_terms"]

Int64s = NDArray[np.int64]
Rows = NDArray[np.intp]
Stuck = Callable[[Units, Rows], Int64s]

TERM_WORDS: Final[dict[ScoreTerm, str]] = {
    "DisruptionCost": "disruption cost",
    "Cascade": "victims that fit nowhere else",
    "Fragmentation": "nodes of a whole domain",
}


def unit_terms(snapshot: Snapshot, units: Units, chosen: Rows, stuck: Stuck | None) -> Int64s:
    """[K, len(chosen)], what each of the chosen units adds to each configured term if it is evicted.

    `stuck`: for the term Cascade, which of the chosen units are 1, and which are 0.
    """
    found = np.zeros((len(snapshot.costs.terms), len(chosen)), np.int64)
    for row, term in enumerate(snapshot.costs.terms):
        if term == "DisruptionCost":
            if (costs := _disruption_costs(snapshot, units)) is not None:
                found[row] = costs[chosen]
        elif term == "Cascade" and stuck is not None:
            found[row] = stuck(units, chosen)
    return found


def domain_terms(snapshot: Snapshot, first: Sequence[int], nodes: Rows) -> Int64s:
    """[K, D], what each domain adds to each configured term. The nodes of domain d are nodes[first[d]:first[d + 1]]."""
    found = np.zeros((len(snapshot.costs.terms), len(first) - 1), np.int64)
    for row, term in enumerate(snapshot.costs.terms):
        if term == "Fragmentation":
            found[row] = _whole_nodes(snapshot, first, nodes)
    return found


def _whole_nodes(snapshot: Snapshot, first: Sequence[int], nodes: Rows) -> Int64s:
    """[D], the number of nodes of each domain that is whole, and 0 for every other domain."""
    counts = snapshot.pod_live & (snapshot.pod_node >= 0) & (snapshot.pod_flags & (DAEMON | KEPT) == 0)
    taken = np.zeros(len(snapshot.node_names), np.bool_)
    taken[snapshot.pod_node[counts & ~is_leaving(snapshot.pod_flags)]] = True
    taken[list(snapshot.promised.values())] = True
    sizes: Int64s = np.diff(np.asarray(first, np.int64)).astype(np.int64)
    domain = np.repeat(np.arange(len(sizes)), sizes)
    others = np.bincount(domain, weights=taken[nodes], minlength=len(sizes))
    whole: Int64s = np.where(others > 0, 0, sizes)
    return whole


def stated_terms(snapshot: Snapshot, values: Iterable[int]) -> list[TermValue]:
    """The configured terms with these values, as plans state them."""
    return [TermValue(term, value) for term, value in zip(snapshot.costs.terms, values, strict=True)]


def _disruption_costs(snapshot: Snapshot, units: Units) -> Int64s | None:
    """[U]; None if nobody says anything.

    A group that goes whole costs what it says itself, or else what its pods say together. A pod costs what it says
    itself, or else what its group says. Nobody costs more than the configuration lets count.
    """
    pods, first = units.pods, units.first[:-1]
    of_groups = _costs_of_groups(snapshot)
    if not len(units) or ((snapshot.pod_cost == UNSAID).all() and (of_groups == UNSAID).all()):
        return None
    own = snapshot.pod_cost[pods].astype(np.int64)
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
        annotations = group.metadata.annotations if group is not None else None
        if annotations and (cost := disruption_cost(annotations)) is not None:
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
