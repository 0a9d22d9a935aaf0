"""Whole plans, judged by the scheduler's filters: victims gone, then the members placed one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from api.plans import PreemptionPlanSpec
from hack.fidelity.ours import tables_of
from hack.fidelity.probe import Answer
from hack.fidelity.volumes import crowd
from hack.fidelity.world import Step, World
from hack.fidelity.worlds import GROUP, random_world
from nodes.filters.node_volume_limits import DETACHED
from nodes.search.decision import decide_group

__all__ = ["Plans", "Wrong", "judge_decided", "judge_plans", "rank"]

Json = dict[str, Any]


SAID_BY_THE_PROBE: Final = frozenset({DETACHED})
"""What a plan may name and is judged all the same: here is nothing that has to be detached."""


@dataclass(frozen=True)
class Wrong:
    """A member that its planned node does not take."""

    seed: int
    family: str
    pod: str
    node: str
    plugin: str


@dataclass
class Plans:
    """The results of the decisions."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """By outcome; `named` are plans that name what is not modelled."""
    named: Counter[str] = field(default_factory=Counter)
    """What they name."""
    members: int = 0
    """Members that were placed on their planned nodes."""
    wrong: list[Wrong] = field(default_factory=list)


def judge_plans(
    seeds: Sequence[int],
    ask: Callable[[Sequence[Json]], list[Answer]],
    plans: Plans,
    family: str | None = None,
) -> None:
    """Plan for the gang of each world, and ask the scheduler about each member in turn."""
    worlds = []
    for seed in seeds:
        world = random_world(Random(seed), family)  # noqa: S311 - no secret
        rank(seed, world)
        worlds.append((seed, world, decide_group(tables_of(world).snapshot(), "default", GROUP)))
    judge_decided(worlds, ask, plans)


def judge_decided(
    worlds: Sequence[tuple[int, World, PreemptionPlanSpec]],
    ask: Callable[[Sequence[Json]], list[Answer]],
    plans: Plans,
) -> None:
    """Ask the scheduler about each member of these plans in turn. The first of each triple is a seed."""
    placing: list[tuple[int, World]] = []
    for seed, world, spec in worlds:
        names = set(spec.not_modelled) - SAID_BY_THE_PROBE
        if names:
            plans.outcomes["named"] += 1
            plans.named.update(names)
            continue
        plans.outcomes[spec.outcome] += 1
        if spec.placements:
            placing.append((seed, replace(world, steps=_steps(seed, spec))))
    for (seed, world), answer in zip(placing, ask([world.case for _, world in placing]), strict=True):
        asked = [step for step in world.steps if step.member]
        plans.members += len(asked)
        for step, refused in zip(asked, answer, strict=True):
            if step.node in refused:
                wrong = Wrong(seed, world.family, step.member, step.node, refused[step.node].plugin)
                plans.wrong.append(wrong)


def rank(seed: int, world: World) -> None:
    """Most pods may be evicted for the gang. In every second world nodes are so full that some have to be."""
    if seed % 2:
        crowd(world)
    for pod in world.pods:
        pod["spec"]["priority"] = 900 if seed % 3 == 0 and pod["metadata"]["name"] in ("p0", "p1") else 0


def _steps(seed: int, spec: PreemptionPlanSpec) -> list[Step]:
    """The victims go; then the members are placed wave after wave, those of a wave in any order."""
    dice = Random(seed)  # noqa: S311 - no secret
    going = [pod.name for victim in spec.victims for pod in victim.pods]
    order = sorted(spec.placements, key=lambda each: (each.wave or 0, dice.random()))
    return [Step(going), *(Step([], each.pod, each.node) for each in order)]
