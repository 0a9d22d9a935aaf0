"""kube-scheduler's preemption for a gang, by the text of its rule: slow, and on objects that only tests have.

What upstream leaves open is drawn from `dice`: the order of equally important units, and of budgets.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final, Literal

__all__ = ["Budget", "Group", "Running", "Waiting", "World", "evicted", "priority_of", "units_of"]

NOW: Final = 10**9
"""The start of what has not started."""


@dataclass(frozen=True)
class Running:
    """A pod on a node. `group`: the name of its native group, or empty."""

    name: str
    node: str
    cpu: int
    memory: int
    priority: int
    start: int | None
    app: str
    group: str = ""
    port: int = 0
    terminating: bool = False
    kept: bool = False
    ours: str = ""
    """The name of its PodGroup of ours, which the scheduler does not know."""


@dataclass(frozen=True)
class Waiting:
    """A member of the gang and its node, or a pod that is nominated to a node. The gang's priority is 100."""

    name: str
    node: str
    cpu: int
    memory: int
    port: int = 0
    priority: int = 100


@dataclass(frozen=True)
class Group:
    name: str
    mode: Literal["all", "single"]
    priority: int


@dataclass(frozen=True)
class Budget:
    """It selects the pods of one app; of every app if that is empty."""

    name: str
    app: str
    allowed: int
    disrupted: tuple[str, ...] = ()


@dataclass(frozen=True)
class World:
    nodes: dict[str, tuple[int, int]]
    """CPU and memory."""
    pods: tuple[Running, ...]
    groups: tuple[Group, ...]
    budgets: tuple[Budget, ...]
    members: tuple[Waiting, ...]
    nominated: tuple[Waiting, ...]


Unit = tuple[Running, ...]


def evicted(world: World, dice: Random) -> frozenset[str] | None:
    """The names of those who are evicted in one run; None if the members do not fit with all candidates gone."""
    units = [unit for unit in units_of(world) if priority_of(world, unit) < 100]
    standing = [pod for pod in world.pods if not any(pod in unit for unit in units)]
    if not fits(world, standing):
        return None
    dice.shuffle(units)
    units.sort(key=lambda unit: importance(world, unit))
    breaking = breaking_a_budget(world, units, dice)
    gone = []
    for unit in [unit for unit in units if unit in breaking] + [
        unit for unit in units if unit not in breaking
    ]:
        if fits(world, [*standing, *unit]):
            standing += unit
        else:
            gone.append(unit)
    return frozenset(pod.name for unit in gone for pod in unit)


def units_of(world: World) -> list[Unit]:
    """Native groups in `all` mode are units. All other pods are units of their own."""
    whole = {group.name for group in world.groups if group.mode == "all"}
    units = [(pod,) for pod in world.pods if pod.group not in whole]
    groups = [tuple(pod for pod in world.pods if pod.group == name) for name in sorted(whole)]
    return [*units, *(pods for pods in groups if pods)]


def priority_of(world: World, unit: Unit) -> int:
    """The priority of a native group that exists replaces that of its pods."""
    for group in world.groups:
        if group.name == unit[0].group:
            return group.priority
    return unit[0].priority


def importance(world: World, unit: Unit) -> tuple[int, int, int, int]:
    """Higher priority; pods of native groups before other pods; more pods; earlier start."""
    starts = [NOW if pod.start is None else pod.start for pod in unit]
    return (-priority_of(world, unit), 0 if unit[0].group else 1, -len(unit), min(starts))


def breaking_a_budget(world: World, units: list[Unit], dice: Random) -> set[Unit]:
    """The units with a pod that no budget has a disruption left for, when budgets are drawn on in this order."""
    budgets = list(world.budgets)
    dice.shuffle(budgets)
    left = {budget.name: budget.allowed for budget in budgets}
    breaking = set()
    for unit in units:
        for pod in unit:
            for budget in budgets:
                if budget.app != pod.app or not pod.app or pod.name in budget.disrupted:
                    continue
                left[budget.name] -= 1
                if left[budget.name] < 0:
                    breaking.add(unit)
                    break
    return breaking


def fits(world: World, standing: list[Running]) -> bool:
    """Whether each member in turn passes beside these pods, nominated pods and the members before it."""
    there: list[Running | Waiting] = [*standing, *(pod for pod in world.nominated if pod.priority >= 100)]
    for member in world.members:
        here = [pod for pod in there if pod.node == member.node]
        cpu, memory = world.nodes[member.node]
        if member.cpu and sum(pod.cpu for pod in here) + member.cpu > cpu:
            return False
        if member.memory and sum(pod.memory for pod in here) + member.memory > memory:
            return False
        if member.port and any(pod.port == member.port for pod in here):
            return False
        there.append(member)
    return True
