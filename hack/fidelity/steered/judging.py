"""What is wrong with whom kube-scheduler has evicted in a world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from typing import Final, Literal

from hack.fidelity.steered.world import Running, World

__all__ = ["Relation", "Result", "Tally", "broken", "relation"]

Relation = Literal["same", "tie", "no dearer", "other"]
"""Of the scheduler's victims to the plan's: the same pods; pods that are as important and look alike; pods that cost no
more by our score; or others."""
NOT_STARTED: Final = 60


@dataclass(frozen=True)
class Result:
    """The result of a world."""

    world: World
    kind: str
    """`steered`, `driven` or `infeasible`, and what else is counted."""
    faults: tuple[str, ...] = ()
    evicted: int = 0
    """Pods."""


@dataclass
class Tally:
    """The results of all worlds."""

    kinds: Counter[str] = field(default_factory=Counter)
    evicted: int = 0
    wrong: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Count a result."""
        self.kinds[result.kind] += 1
        self.evicted += result.evicted
        if result.faults:
            self.wrong.append(result)


def broken(world: World, evicted: Collection[str]) -> list[str]:
    """The groups that are evicted in part, although they are evicted as one. Pods that terminated before count as
    evicted."""
    return [
        unit[0].group
        for unit in world.units()
        if any(pod.name in evicted for pod in unit)
        and not all(pod.name in evicted or pod.terminating for pod in unit)
    ]


def relation(
    world: World, planned: Collection[str], evicted: Collection[str], *, no_dearer: bool
) -> Relation:
    """How the pods that were evicted relate to those of the plan. Pods that terminated before are in neither set."""
    if set(planned) == set(evicted):
        return "same"
    if not broken(world, evicted) and _alike(world, planned) == _alike(world, evicted):
        return "tie"
    return "no dearer" if no_dearer else "other"


def _alike(world: World, pods: Collection[str]) -> Counter[Hashable]:
    """Equal for sets of units that differ only in units that are equally important and look alike."""
    return Counter(_looks(world, unit) for unit in world.units() if any(pod.name in pods for pod in unit))


def _looks(world: World, unit: tuple[Running, ...]) -> Hashable:
    """A group is like no other one."""
    priorities = {each.name: each.priority for each in world.groups if each.kind != "ours"}
    priority = priorities.get(unit[0].group, unit[0].priority)
    disrupted = {name for each in world.budgets for name in each.disrupted}
    name = unit[0].group if len(unit) > 1 else ""
    start = min(NOT_STARTED if pod.start is None else pod.start for pod in unit)
    pods = ((pod.node, pod.cpu, pod.memory, pod.app, pod.port, pod.name in disrupted) for pod in unit)
    return priority, unit[0].group in priorities, name, start, tuple(sorted(pods))
