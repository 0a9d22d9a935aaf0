"""The list of victims in a plan, and how many disruption budgets they violate."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from api import plans
from native.nodes._units import rearranged, sorted_by
from nodes.search.problem import Built
from nodes.state.snapshot import Snapshot

__all__ = ["victims_of", "violations_of"]

Int64s = NDArray[np.int64]


def victims_of(snapshot: Snapshot, built: Built, victims: list[int]) -> list[plans.Victim]:
    """The victims in the given order, each with all its pods. `victims` are units of `built`."""
    violating = _violating(built, victims)
    units, chosen = built.units, np.array(victims, np.int64)
    first, rows = rearranged(units.first, units.pods, chosen)
    rows = _ordered(snapshot, first, rows[: first[-1]])
    pods = _pods(snapshot, rows)
    groups = np.where(units.whole[chosen], snapshot.pod_group[rows[first[:-1]]], -1).tolist()
    found = []
    begin = 0
    for unit, end, group, priority in zip(
        victims, first[1:].tolist(), groups, units.priority[chosen].tolist(), strict=True
    ):
        mine, begin = pods[begin:end], end
        whole = snapshot.groups[group] if group >= 0 else None
        found.append(
            plans.Victim(
                kind="Pod" if whole is None else "PodGroup",
                namespace=mine[0].namespace,
                name=mine[0].name if whole is None else snapshot.group_keys[group][1],
                uid=mine[0].uid if whole is None else whole.metadata.uid,
                priority=priority,
                violates_pod_disruption_budget=unit in violating,
                pods=mine,
            )
        )
    return found


def _ordered(snapshot: Snapshot, first: Int64s, rows: Int64s) -> Int64s:
    """The pods of each unit in order. One that makes its priority low goes last: until then the unit keeps it.

    `first` [U + 1]: where each unit's part of the rows begins.
    """
    if len(rows) == len(first) - 1:
        return rows
    unit = np.repeat(np.arange(len(first) - 1), np.diff(first))
    rank = snapshot.pod_name_rank[rows].astype(np.int64)
    return rows[sorted_by([unit, -snapshot.pod_priority[rows], rank])]


def _pods(snapshot: Snapshot, rows: Int64s) -> list[plans.VictimPod]:
    pods = rows.tolist()
    nodes = [snapshot.node_names[node] for node in snapshot.pod_node[rows].tolist()]
    names = (column.at(pods) for column in (snapshot.pod_namespaces, snapshot.pod_names, snapshot.pod_uids))
    return [*map(plans.VictimPod, *names, nodes)]


def violations_of(built: Built, victims: list[int]) -> int:
    """How many more pods go than the budgets allow, summed over all budgets."""
    allowed = built.problem.allowed.tolist()
    return sum(max(0, pods - allowed[budget]) for budget, pods in _drawn(built, victims).items())


def _violating(built: Built, victims: list[int]) -> set[int]:
    """The victims without which there would be fewer violations."""
    over = {
        budget for budget, pods in _drawn(built, victims).items() if pods > int(built.problem.allowed[budget])
    }
    return {unit for unit in victims if over.intersection(_draws(built, unit))} if over else set()


def _drawn(built: Built, victims: list[int]) -> Counter[int]:
    """How many evicted pods count against each budget."""
    drawn: Counter[int] = Counter()
    for unit in victims if len(built.problem.budget) else ():
        drawn.update(_draws(built, unit))
    return drawn


def _draws(built: Built, unit: int) -> dict[int, int]:
    problem = built.problem
    part = slice(int(problem.unit_budgets[unit]), int(problem.unit_budgets[unit + 1]))
    return dict(zip(problem.budget[part].tolist(), problem.budget_pods[part].tolist(), strict=True))
