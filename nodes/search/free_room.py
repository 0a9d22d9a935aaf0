"""Plans that need no victims: enough members run already, or one member is enough."""

from __future__ import annotations

import numpy as np

from api import plan_results, plans
from api.words import counted
from nodes.search.cluster import Cluster
from nodes.search.costs import domain_terms, stated_terms
from nodes.search.plan_parts import in_waves, placements, spec_for
from nodes.search.preemptors.preemptor import Preemptor
from nodes.search.reasons import unavailable
from nodes.search.room import Room
from nodes.search.spreading.cells import Cells, looks_afar
from nodes.search.spreading.waves import waves
from nodes.search.unmodelled import not_modelled

__all__ = ["bound_already", "fill", "without_victims"]


def without_victims(cluster: Cluster) -> plans.PreemptionPlanSpec:
    """A plan that places members into free room, in the cheapest domain that has room for one member."""
    preemptor, layout = cluster.preemptor, cluster.layout
    room, terms = Room(cluster), _terms(cluster)
    for domain in sorted(range(len(terms)), key=terms.__getitem__):
        value, placed = layout.values[domain], fill(cluster, domain, room)
        if placed:
            spec = spec_for(
                preemptor, "Fits", bound_already(preemptor) if preemptor.bound else "a member fits"
            )
            spec.domain = plans.Domain(layout.topology_key, value)
            spec.placements = placements(cluster.snapshot, placed, beyond_min_count=True)
            if looks_afar(cluster):
                cells = Cells(cluster)
                spec.placements = in_waves(spec.placements, waves(cells, cells.counts(), placed))
            spec.domains = [
                plan_results.DomainResult(value, "Fits", spec.reason, _nobody(cluster, terms[domain]))
            ]
            spec.not_modelled = not_modelled(cluster, [pod for pod, _ in placed], [], dict(placed))
            return spec
    if preemptor.bound:
        return spec_for(preemptor, "Fits", bound_already(preemptor))
    why = unavailable(layout.nodes, room, preemptor.unbound[0])
    spec = spec_for(preemptor, "Unschedulable", f"no member fits: {why}")
    spec.not_modelled = not_modelled(cluster, list(preemptor.later), [])
    return spec


def bound_already(preemptor: Preemptor) -> str:
    """How many members run, and how many must."""
    wanted = f"{preemptor.minimum} needed" if preemptor.policy == "gang" else "1 needed"
    return f"bound already: {counted(len(preemptor.bound), 'member')}, {wanted}"


def fill(cluster: Cluster, domain: int, room: Room) -> list[tuple[int, int]]:
    """Place the later members, each on the first node that fits. Changes `room`. Returns pairs of (pod, node)."""
    nodes = cluster.layout.of(domain)
    placed = []
    for pod in cluster.preemptor.later:
        fits = room.fits(pod, nodes)
        if fits.any():
            node = int(nodes[int(np.argmax(fits))])
            room.place(pod, node)
            placed.append((pod, node))
    return placed


def _nobody(cluster: Cluster, terms: list[int]) -> plan_results.Score:
    """The score of a domain without victims. `terms`: the values of its optional terms."""
    return plan_results.Score(0, None, 0, 0, 0, None, stated_terms(cluster.snapshot, terms))


def _terms(cluster: Cluster) -> list[list[int]]:
    """For each domain the optional terms of its score, with nobody evicted."""
    terms: list[list[int]] = domain_terms(
        cluster.snapshot, cluster.layout.first, cluster.layout.nodes
    ).T.tolist()
    return terms
