"""The list of victims in a plan, and how many disruption budgets they violate."""

from __future__ import annotations

from collections import Counter

from api import plans
from nodes.search.problem import Built
from nodes.state.snapshot import Snapshot

__all__ = ["victims_of", "violations_of"]


def victims_of(snapshot: Snapshot, built: Built, victims: list[int]) -> list[plans.Victim]:
    """The victims in the given order, each with all its pods. `victims` are units of `built`."""
    drawn = _drawn(built, victims)
    return [_victim(snapshot, built, unit, _violates(built, drawn, unit)) for unit in victims]


def violations_of(built: Built, victims: list[int]) -> int:
    """How many more pods go than the budgets allow, summed over all budgets."""
    allowed = built.problem.allowed
    return sum(max(0, pods - int(allowed[budget])) for budget, pods in _drawn(built, victims).items())


def _victim(snapshot: Snapshot, built: Built, unit: int, violates: bool) -> plans.Victim:
    units = built.units

    def order(pod: int) -> tuple[int, str]:
        """The pod that makes the unit's priority as low as it is goes last: until then the unit keeps it."""
        return -int(snapshot.pod_priority[pod]), snapshot.pod_names[pod]

    namespace, name = units.name(snapshot, unit)
    return plans.Victim(
        kind=units.kind(unit),
        namespace=namespace,
        name=name,
        uid=units.uid(snapshot, unit),
        priority=int(units.priority[unit]),
        violates_pod_disruption_budget=violates,
        pods=[
            plans.VictimPod(
                namespace=snapshot.pod_namespaces[pod],
                name=snapshot.pod_names[pod],
                uid=snapshot.pod_uids[pod],
                node=snapshot.node_names[int(snapshot.pod_node[pod])],
            )
            for pod in sorted(units.members(unit), key=order)
        ],
    )


def _drawn(built: Built, victims: list[int]) -> Counter[int]:
    """How many evicted pods count against each budget."""
    drawn: Counter[int] = Counter()
    for unit in victims:
        drawn.update(_draws(built, unit))
    return drawn


def _draws(built: Built, unit: int) -> dict[int, int]:
    problem = built.problem
    part = slice(int(problem.unit_budgets[unit]), int(problem.unit_budgets[unit + 1]))
    return dict(zip(problem.budget[part].tolist(), problem.budget_pods[part].tolist(), strict=True))


def _violates(built: Built, drawn: Counter[int], unit: int) -> bool:
    """Whether there would be fewer violations without this unit."""
    allowed = built.problem.allowed
    return any(
        pods > 0 and drawn[budget] > int(allowed[budget]) for budget, pods in _draws(built, unit).items()
    )
