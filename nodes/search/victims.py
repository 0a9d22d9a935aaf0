"""The list of victims in a plan, and how many disruption budgets they violate."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from api import plans
from nodes.search.problem import Built
from nodes.state.snapshot import Snapshot

__all__ = ["victims_of", "violations_of"]


def victims_of(snapshot: Snapshot, built: Built, victims: list[int]) -> list[plans.Victim]:
    """The victims in the given order, each with all its pods. `victims` are units of `built`."""
    violating = _violating(built, victims)
    units = built.units
    rows = [_ordered(snapshot, units.members(unit)) for unit in victims]
    pods = iter(_pods(snapshot, [row for members in rows for row in members]))
    found = []
    for unit, members in zip(victims, rows, strict=True):
        namespace, name = units.name(snapshot, unit)
        found.append(
            plans.Victim(
                kind=units.kind(unit),
                namespace=namespace,
                name=name,
                uid=units.uid(snapshot, unit),
                priority=int(units.priority[unit]),
                violates_pod_disruption_budget=unit in violating,
                pods=[*islice(pods, len(members))],
            )
        )
    return found


def _ordered(snapshot: Snapshot, members: list[int]) -> list[int]:
    """The pods of a unit. One that makes its priority as low as it is goes last: until then the unit keeps it."""
    if len(members) == 1:
        return members
    names = snapshot.pod_names.at(members)
    own = [-priority for priority in snapshot.pod_priority[members].tolist()]
    return [row for *_, row in sorted(zip(own, names, members, strict=True))]


def _pods(snapshot: Snapshot, rows: list[int]) -> list[plans.VictimPod]:
    nodes = [snapshot.node_names[node] for node in snapshot.pod_node[rows].tolist()]
    columns = (
        snapshot.pod_namespaces.at(rows),
        snapshot.pod_names.at(rows),
        snapshot.pod_uids.at(rows),
        nodes,
    )
    return [plans.VictimPod(*each) for each in zip(*columns, strict=True)]


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
