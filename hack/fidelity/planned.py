"""Whole plans, judged by the scheduler's filters: victims gone, then the members placed one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

import numpy as np

from api.plans import PreemptionPlanSpec
from hack.fidelity.ours import tables_of
from hack.fidelity.probe import Answer
from hack.fidelity.volumes import crowd
from hack.fidelity.world import Step, World
from hack.fidelity.worlds import GROUP, random_world
from nodes.filters.node_volume_limits import DETACHED
from nodes.search.cluster import Cluster, lay_out
from nodes.search.decision import decide_group
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.room import Room
from nodes.state.snapshot import Snapshot

__all__ = ["Plans", "Wrong", "judge_plans"]

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
    worlds: list[tuple[int, World]] = []
    for seed in seeds:
        world = random_world(Random(seed), family)  # noqa: S311 - no secret
        _rank(seed, world)
        snapshot = tables_of(world).snapshot()
        spec = decide_group(snapshot, "default", GROUP)
        if not SAID_BY_THE_PROBE.issuperset(spec.not_modelled):
            plans.outcomes["named"] += 1
            continue
        plans.outcomes[spec.outcome] += 1
        if spec.placements:
            worlds.append((seed, replace(world, steps=_steps(snapshot, spec))))
    for (seed, world), answer in zip(worlds, ask([world.case for _, world in worlds]), strict=True):
        asked = [step for step in world.steps if step.member]
        plans.members += len(asked)
        for step, refused in zip(asked, answer, strict=True):
            if step.node in refused:
                wrong = Wrong(seed, world.family, step.member, step.node, refused[step.node].plugin)
                plans.wrong.append(wrong)


def _rank(seed: int, world: World) -> None:
    """Most pods may be evicted for the gang. In every second world nodes are so full that some have to be."""
    if seed % 2:
        crowd(world)
    for pod in world.pods:
        pod["spec"]["priority"] = 900 if seed % 3 == 0 and pod["metadata"]["name"] in ("p0", "p1") else 0


def _steps(snapshot: Snapshot, spec: PreemptionPlanSpec) -> list[Step]:
    """The victims go; then the members are placed, each one as soon as our filters take it."""
    going = [pod for victim in spec.victims for pod in victim.pods]
    preemptor = group_preemptor(snapshot, "default", GROUP)
    room = Room(
        Cluster(snapshot, preemptor, lay_out(snapshot, preemptor)),
        [snapshot.pod_rows[pod.uid] for pod in going],
    )
    steps = [Step([pod.name for pod in going])]
    left = [(each.pod, each.node) for each in spec.placements]
    while left:
        takes = [_takes(snapshot, room, *pair) for pair in left]
        first = takes.index(True) if True in takes else 0
        name, node = left.pop(first)
        room.place(snapshot.pod_names.index(name), snapshot.node_names.index(node))
        steps.append(Step([], name, node))
    return steps


def _takes(snapshot: Snapshot, room: Room, name: str, node: str) -> bool:
    where = np.array([snapshot.node_names.index(node)])
    return bool(room.fits(snapshot.pod_names.index(name), where)[0])
