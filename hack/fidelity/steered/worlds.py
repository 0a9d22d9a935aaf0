"""Random clusters of 20 nodes, mostly full, and a gang that preempts there."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from hack.fidelity.steered.world import PRIORITY, Budget, Group, Kind, Member, Nominated, Running, World

__all__ = ["NODES", "random_world"]

NODES: Final = 20
KINDS: Final[tuple[Kind, ...]] = ("all", "all", "all", "single", "single", "basic")
APPS: Final = ("", "", "a", "b", "c")
LARGEST: Final = 9
"""More CPUs than any node has."""


def random_world(seed: int) -> World:
    """The world of a seed. In one of three there are groups of ours, and pods that stay."""
    dice = Random(seed)  # noqa: S311 - no secret
    strangers = dice.random() < 0.33
    nodes = tuple((dice.choice([3, 4, 4, 6]), dice.choice([4, 6, 8])) for _ in range(NODES))
    groups = _groups(dice, strangers=strangers)
    pods = _pods(dice, nodes, groups, strangers=strangers)
    members = _members(dice)
    names = [each.name for each in pods]
    return World(
        seed=seed,
        nodes=nodes,
        pods=tuple(pods),
        groups=tuple(each for each in groups if any(pod.group == each.name for pod in pods)),
        budgets=tuple(
            Budget(
                f"b{number}", dice.choice(APPS[1:]), dice.randint(0, 4),
                tuple(dice.sample(names, dice.choice([0, 0, 2]))),
            )
            for number in range(dice.choice([0, 1, 1, 2]))
        ),
        members=members,
        minimum=len(members) if dice.random() < 0.75 else dice.randint(1, len(members)),
        nominated=tuple(
            Nominated(f"w{number}", dice.randrange(NODES), 1, dice.choice([0, 1]), dice.choice([5, PRIORITY, 200]))
            for number in range(dice.choice([0, 0, 0, 2]))
        ),
    )  # fmt: skip


def _groups(dice: Random, *, strangers: bool) -> list[Group]:
    found = [
        Group(f"g{number}", dice.choice(KINDS), dice.choice([0, 1, 1, 5, PRIORITY]))
        for number in range(dice.randint(0, 8))
    ]
    if strangers:
        found += [Group(f"o{number}", "ours", dice.choice([0, 1, 5])) for number in range(dice.randint(1, 3))]
    return found


def _pods(
    dice: Random, nodes: tuple[tuple[int, int], ...], groups: list[Group], *, strangers: bool
) -> list[Running]:
    """Pods that fill the nodes. In every second world many are equally important, and most of these look alike."""
    ties = dice.random() < 0.5
    plain = ties and dice.random() < 0.7
    mixed = dice.random() < 0.2
    priorities = dice.choice([(1,), (0, 1), (0, 1, 1, 5), (0, 1, 5, 5, PRIORITY, 200)])
    grouped, portly, leaving = (
        dice.choice([0.0, 0.3, 0.6]),
        dice.choice([0.0, 0.1]),
        dice.choice([0.0, 0.0, 0.05]),
    )
    found: list[Running] = []
    for node, (cpus, memory) in enumerate(nodes):
        ports = set[int]()
        while cpus > 0 and dice.random() < 0.99:
            cpu = 1 if plain else min(cpus, dice.choice([1, 1, 1, 2, 3]))
            held = 0 if plain else min(memory, dice.choice([0, 0, 1, 2]))
            cpus, memory = cpus - cpu, memory - held
            port = 80 if dice.random() < portly and not ports else 0
            ports |= {port} - {0}
            group = dice.choice(groups) if groups and dice.random() < grouped else None
            pod = Running(
                name=f"p{len(found)}",
                node=node,
                cpu=cpu,
                memory=held,
                priority=dice.choice(priorities),
                start=_start(dice, len(found), ties=ties),
                app=dice.choice(APPS[:3] if plain else APPS),
                port=port,
                terminating=dice.random() < leaving,
                daemon=strangers and dice.random() < 0.05,
            )
            found.append(pod if group is None else _in_group(dice, pod, group, mixed=mixed))
    return found


def _start(dice: Random, number: int, *, ties: bool) -> int | None:
    """Minutes. With more than 60 pods some are equal even without `ties`."""
    if ties:
        return dice.choice([1, 1, 1, 2, None])
    return (number * 37) % 59


def _in_group(dice: Random, pod: Running, group: Group, *, mixed: bool) -> Running:
    """The pod as a part of the group. If `mixed`, some have another priority than the group."""
    priority = pod.priority if mixed and dice.random() < 0.3 else group.priority
    return replace(pod, group=group.name, priority=priority, daemon=False)


def _members(dice: Random) -> tuple[Member, ...]:
    """Of ten gangs, one has a member that fits nowhere, and one is so large that it may fit only in a part."""
    alike, apart = dice.random() < 0.5, dice.choice(["", "", "", "a"])
    port = dice.choice([0, 0, 0, 80])
    count = dice.randint(1, 8)
    shapes = [(dice.randint(1, 3), dice.choice([0, 1, 2, 3])) for _ in range(1 if alike else count)]
    size = dice.random()
    if size < 0.1:
        shapes[0] = (LARGEST, 0)
    elif size < 0.2:
        count, shapes = dice.randint(4, 8), [(dice.choice([5, 6]), 0)]
    return tuple(
        Member(f"m{number}", *shapes[number % len(shapes)], port=port, apart=apart) for number in range(count)
    )
