"""What every plan in a domain costs at least. The bound counts no violations."""

from __future__ import annotations

from tests.twins.nodes.domain import Domain
from tests.twins.nodes.packing import INFEASIBLE, Packer
from tests.twins.nodes.problem import Problem

__all__ = ["Bound", "bound"]

WEIGHT = 2**31

Bound = tuple[int, int, int]
"""The status of the packing, the lowest cut-off for which it is not INFEASIBLE, and the least sum of priorities."""


def bound(domain: Domain, packer: Packer, problem: Problem, index: int) -> Bound:
    """For a domain in which the preemptor does not fit with nobody gone."""
    domain.enter(index)
    least = sum(problem.unit_priority[unit] + WEIGHT for unit in domain.units[-_fewest(domain, problem) :])
    status, cutoff = INFEASIBLE, 0
    for cutoff in sorted({problem.unit_priority[unit] for unit in domain.units}):
        for unit in domain.units:
            if problem.unit_priority[unit] == cutoff:
                domain.take(unit)
        status = packer.pack()
        if status != INFEASIBLE:
            break
    domain.leave()
    return status, cutoff, least


def _fewest(domain: Domain, problem: Problem) -> int:
    """The least number of victims: what is missing of a resource, by the unit that holds most of it."""
    nodes, fewest = range(domain.first, domain.end), 1
    for r in range(len(problem.requests[0])):
        wanted = sum(
            count * request[r] for count, request in zip(problem.counts, problem.requests, strict=True)
        )
        missing = wanted - sum(max(0, domain.room[node][r]) for node in nodes)
        largest = max((_held(problem, unit, nodes, r) for unit in domain.units), default=0)
        if missing > 0 and largest > 0:
            fewest = max(fewest, -(-missing // largest))
    return fewest


def _held(problem: Problem, unit: int, nodes: range, r: int) -> int:
    """What the unit holds of the resource on the domain's nodes."""
    pieces = range(problem.unit_pieces[unit], problem.unit_pieces[unit + 1])
    return sum(problem.piece_room[piece][r] for piece in pieces if problem.piece_node[piece] in nodes)
