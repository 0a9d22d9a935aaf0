"""Whom kube-scheduler's rule evicts for a native gang, compared with a plain model of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any, Final, Literal

from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from api.core import Pod
from nodes.search.cluster import Cluster, lay_out
from nodes.search.decision import EFFORT, Limits, decide_for
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.steering.candidates import candidates
from nodes.search.steering.evictor import who_evicts
from nodes.search.steering.outcomes import outcomes
from nodes.search.steering.protected import protected
from nodes.search.steering.seen import as_seen
from nodes.search.steering.standing import Standing, TooMuchWork
from nodes.state.costs import CostRules
from nodes.state.snapshot import Snapshot
from tests.kit.examples import examples
from tests.kit.native_gangs import GANG_KEY, native_group, native_pod, started
from tests.kit.objects import budget, gang, node, pod, tables
from tests.twins.nodes.kube_reprieve import (
    Budget,
    Group,
    Running,
    Waiting,
    World,
    evicted,
    priority_of,
    units_of,
)

NODES: Final = ("n0", "n1")
RUNS: Final = 8
"""Runs of the model for each world: each breaks ties in another way."""


def world_of(dice: Random, *, ties: bool = True, strangers: bool = False) -> World:
    """A small and crowded cluster. `ties`: whether units may be equally important.

    `strangers`: some pods are of a group of ours, or may not be evicted.
    """
    one = dice.choice
    modes: tuple[Literal["all", "single"], ...] = ("all", "single")
    pods = [
        Running(
            name=f"p{index}",
            node=one(NODES),
            cpu=one([0, 1, 1, 2]),
            memory=one([0, 1, 1, 2]),
            priority=one([0, 1, 1, 5, 100] if one([True, False]) else [1]),
            start=one([1, 1, 2, None]) if ties else index + 1,
            app=one(["", "", "a", "b"]),
            group=one(["", "", "g", "h", "gone"] if not strangers else ["", "", "", "g", "h"]),
            port=one([0, 0, 0, 80]),
            terminating=dice.random() < 0.1,
            kept=strangers and dice.random() < 0.1,
            ours="x" if strangers and dice.random() < 0.1 else "",
        )
        for index in range(dice.randint(3, 12))
    ]
    members = [
        Waiting(f"m{index}", one(NODES), one([0, 1, 2, 3]), one([0, 1, 2]), one([0, 0, 80]))
        for index in range(dice.randint(1, 3))
    ]
    waiting = Waiting("w", one(NODES), 1, 0, one([0, 80]), one([99, 100]))
    return World(
        nodes=dict.fromkeys(NODES, one([(4, 4), (5, 3)])),
        pods=tuple(replace(each, group="") if each.ours else each for each in pods),
        groups=tuple(Group(name, one(modes), one([0, 1, 1, 5, 100])) for name in "gh"),
        budgets=tuple(
            Budget(f"b{index}", one(["", "a", "b"]), one([0, 1, 2]), one([(), ("p0", "p1")]))
            for index in range(one([0, 0, 1, 2]))
        ),
        members=tuple(members),
        nominated=(waiting,) if dice.random() < 0.3 else (),
    )


def worlds(**how: bool) -> st.SearchStrategy[World]:
    return st.integers(0, 2**32).map(lambda seed: world_of(Random(seed), **how))


def asking(cpu: int, memory: int, port: int) -> dict[str, Any]:
    requests = {"cpu": str(cpu), "memory": f"{memory}Gi"}
    ports = [{"containerPort": port, "hostPort": port}] if port else []
    return {"containers": [{"name": "c", "ports": ports, "resources": {"requests": requests}}]}


def running(each: Running) -> Pod:
    fields: dict[str, Any] = {
        "node": each.node,
        "labels": {"app": each.app} if each.app else None,
        "deleting": each.terminating,
        "mirror": each.kept,
        "started": None if each.start is None else started(each.start),
        **asking(each.cpu, each.memory, each.port),
    }
    if each.group:
        return native_pod(each.name, each.group, priority=each.priority, **fields)
    return pod(each.name, priority=each.priority, group=each.ours or None, **fields)


def snapshot_of(world: World) -> Snapshot:
    """The same world in the tables."""
    return tables(
        native_group(minimum=len(world.members)),
        *(native_group(each.name, mode=each.mode, priority=each.priority) for each in world.groups),
        gang("x", 1, "all", priority=5),
        *(node(name, cpu=str(cpu), memory=f"{memory}Gi") for name, (cpu, memory) in world.nodes.items()),
        *map(running, world.pods),
        *(native_pod(each.name, **asking(each.cpu, each.memory, each.port)) for each in world.members),
        *(
            pod(
                each.name,
                nominated=each.node,
                priority=each.priority,
                **asking(each.cpu, each.memory, each.port),
            )
            for each in world.nominated
        ),
        *(
            budget(
                each.name,
                selector={"matchLabels": {"app": each.app}} if each.app else {},
                allowed=each.allowed,
                disrupted=list(each.disrupted),
            )
            for each in world.budgets
        ),
        costs=CostRules(),
    ).snapshot()


def ours(world: World) -> list[frozenset[str]] | None:
    """The names of those who are evicted, by outcome; None if a member does not fit. Raises TooMuchWork."""
    snapshot = snapshot_of(world)
    preemptor = group_preemptor(snapshot, *GANG_KEY)
    seen = as_seen(snapshot, preemptor.unbound, preemptor.priority)
    found = candidates(seen, preemptor.priority)
    pods = {name: row for row, name in enumerate(seen.pod_names)}
    placed = [(pods[each.name], seen.node_names.index(each.node)) for each in world.members]
    standing = Standing(Cluster(seen, preemptor, lay_out(seen, preemptor)), found, placed)
    if not standing.feasible:
        return None
    return [
        frozenset(seen.pod_names[pod] for unit in lost for pod in found.members(unit))
        for lost in outcomes(standing, found, protected(seen, found))
    ]


def alike(world: World, names: Collection[str]) -> Counter[tuple[object, ...]]:
    """Equal for sets of pods that differ only in pods that look alike."""
    return Counter(
        (each.node, each.cpu, each.memory, each.priority, each.start, each.app, each.group, each.port)
        for each in world.pods
        if each.name in names
    )


@settings(max_examples=examples(400), deadline=None)
@given(worlds(ties=False), st.randoms(use_true_random=False))
def test_the_rule_evicts_whom_the_model_evicts(world: World, dice: Random) -> None:
    """Without ties there is one outcome, unless pods have several budgets."""
    try:
        found = ours(world)
    except TooMuchWork:
        reject()
    for _ in range(3):
        expected = evicted(world, dice)
        assert found == (None if expected is None else [expected])


@settings(max_examples=examples(400), deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_whatever_decides_between_equals_is_one_of_the_outcomes(world: World, dice: Random) -> None:
    try:
        found = ours(world)
    except TooMuchWork:
        reject()
    runs = [evicted(world, dice) for _ in range(RUNS)]
    if found is None:
        assert runs == [None] * RUNS
        return
    possible = [alike(world, each) for each in found]
    assert all(each is not None and alike(world, each) in possible for each in runs)


@settings(max_examples=examples(300), deadline=None)
@given(worlds(), st.integers(0, 2**32))
def test_every_outcome_is_reached_by_some_run(world: World, seed: int) -> None:
    try:
        found = ours(world)
    except TooMuchWork:
        reject()
    dice = Random(seed)
    runs = [evicted(world, dice) for _ in range(200)]
    for each in found or ():
        assert any(run is not None and alike(world, run) == alike(world, each) for run in runs), sorted(each)


@settings(max_examples=examples(400), deadline=None)
@given(worlds(strangers=True), st.sampled_from([0, EFFORT]), st.randoms(use_true_random=False))
def test_a_steered_plan_evicts_nobody_that_it_should_not(world: World, effort: int, dice: Random) -> None:
    """Whatever the model does: no pod of a group of ours, no kept pod, and nothing that costs more than the plan."""
    snapshot = snapshot_of(world)
    preemptor = group_preemptor(snapshot, *GANG_KEY)
    spec = decide_for(snapshot, preemptor, limits=Limits(effort=effort))
    assume(spec.outcome in ("Fits", "Preempts"))
    verdict = who_evicts(snapshot, snapshot, preemptor, spec)
    assume(verdict.by == "Scheduler")
    nodes = {each.pod: each.node for each in spec.placements}
    fixed = replace(world, members=tuple(replace(each, node=nodes[each.name]) for each in world.members))
    named = frozenset(each.name for victim in verdict.spec.victims for each in victim.pods)
    before = frozenset(each.name for victim in spec.victims for each in victim.pods)
    assert cost(world, named) <= cost(world, before)
    for _ in range(RUNS):
        gone = evicted(fixed, dice)
        assert gone is not None
        live = {each for each in world.pods if each.name in gone and not each.terminating}
        assert not any(each.kept or each.ours for each in live)
        assert cost(world, {each.name for each in live}) <= cost(world, before)


def cost(world: World, names: Collection[str]) -> tuple[int, ...]:
    """What it costs to evict these pods, by all that comes before their start."""
    units = [unit for unit in units_of(world) if any(each.name in names for each in unit)]
    live = [tuple(each for each in unit if not each.terminating) for unit in units]
    priorities = [worth(world, unit) for unit in live]
    return (
        bool(live),
        sum(max(0, drawn(world, each, names) - each.allowed) for each in world.budgets),
        max(priorities, default=0),
        sum(priority + 2**31 for priority in priorities),
        len(live),
        sum(map(len, live)),
    )


def worth(world: World, unit: tuple[Running, ...]) -> int:
    """A group goes at the lowest of its own priority and those of its pods."""
    own = priority_of(world, unit)
    whole = any(each.name == unit[0].group and each.mode == "all" for each in world.groups)
    return min([own, *(each.priority for each in unit)]) if whole else own


def drawn(world: World, budget: Budget, names: Collection[str]) -> int:
    """How many of these pods count against the budget: an empty selector selects all."""
    selected = (each for each in world.pods if each.name in names and budget.app in ("", each.app))
    return sum(each.name not in budget.disrupted for each in selected)
