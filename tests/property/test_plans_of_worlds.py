"""Plans with every filter in play: the random clusters of `make fidelity`, so full that pods are evicted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict
from random import Random
from typing import Any, Final

import msgspec
import numpy as np
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from api.core import Pod
from api.plans import PreemptionPlanSpec
from hack.fidelity.ours import tables_of
from hack.fidelity.volumes import crowd
from hack.fidelity.world import World
from hack.fidelity.worlds import GROUP, random_world
from native.nodes._victims import search
from nodes.answers.asking import decide_pod
from nodes.search.cluster import Cluster, lay_out
from nodes.search.decision import decide_group
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.problem import build
from nodes.search.room import Room
from nodes.state.snapshot import Snapshot
from tests.kit.examples import examples
from tests.kit.problems import plain_of
from tests.twins.nodes import victims as twin

NAMESPACE: Final = "default"
TRIES: Final = 40
"""Clusters that are tried until the plan of one evicts."""
FAMILIES: Final = ("all", "host ports", "anti-affinity", "affinity", "spread", "volumes")


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A cluster whose pods may be evicted for the gang, two of them aside at times."""
    dice = Random(draw(st.integers(0, 2**32)))
    world = random_world(dice, draw(st.sampled_from(FAMILIES)))
    if draw(st.booleans()):
        crowd(world)
    safe = draw(st.sampled_from(((), ("p0", "p1"))))
    for pod in world.pods:
        pod["spec"]["priority"] = 900 if pod["metadata"]["name"] in safe else 0
    return world


def decided(world: World) -> tuple[Snapshot, PreemptionPlanSpec]:
    snapshot = tables_of(world).snapshot()
    return snapshot, decide_group(snapshot, NAMESPACE, GROUP)


@st.composite
def evicting(draw: st.DrawFn) -> World:
    """A full cluster whose plan evicts, and names nothing."""
    first, family = draw(st.integers(0, 2**32)), draw(st.sampled_from(FAMILIES))
    for seed in range(first, first + TRIES):
        world = random_world(Random(seed), family)
        crowd(world)
        _, plan = decided(world)
        if plan.outcome == "Preempts" and not plan.not_modelled:
            return world
    reject()


def takes(snapshot: Snapshot, gone: Collection[int], placed: Mapping[int, int]) -> bool:
    """Whether every filter takes every member on its planned node with these pods gone, in the order of the plan."""
    preemptor = group_preemptor(snapshot, NAMESPACE, GROUP)
    cluster = Cluster(snapshot, preemptor, lay_out(snapshot, preemptor))
    room = Room(cluster, gone)
    for pod, node in placed.items():
        if not room.fits(pod, np.array([node]))[0]:
            return False
        room.place(pod, node)
    return True


def rows_of(snapshot: Snapshot, plan: PreemptionPlanSpec) -> tuple[list[int], dict[int, int]]:
    """The victims, and the node of each required member."""
    gone = [snapshot.pod_rows[pod.uid] for victim in plan.victims for pod in victim.pods]
    required = (each for each in plan.placements if not each.beyond_min_count)
    names = snapshot.pod_names, snapshot.node_names
    return gone, {names[0].index(each.pod): names[1].index(each.node) for each in required}


@settings(max_examples=examples(500), deadline=None)
@given(worlds(), st.sampled_from((0, 500, 3000)))
def test_native_and_twin_agree(world: World, effort: int) -> None:
    snapshot = tables_of(world).snapshot()
    preemptor = group_preemptor(snapshot, NAMESPACE, GROUP)
    problem = build(Cluster(snapshot, preemptor, lay_out(snapshot, preemptor)), strict=True).problem
    assert asdict(search(problem, 1000, effort)) == asdict(twin.search(plain_of(problem), 1000, effort))


@settings(max_examples=examples(200), deadline=None)
@given(evicting())
def test_no_victim_could_go_back_where_it_ran(world: World) -> None:
    snapshot, plan = decided(world)
    gone, placed = rows_of(snapshot, plan)
    assert takes(snapshot, gone, placed)
    for back in gone:
        assert not takes(snapshot, [pod for pod in gone if pod != back], placed), snapshot.pod_names[back]


@settings(max_examples=examples(300), deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_objects_changes_nothing(world: World, random: Any) -> None:
    other = deepcopy(world)
    for objects in (other.nodes, other.pods, other.members, *other.objects.values()):
        random.shuffle(objects)
    assert decided(other)[1] == decided(world)[1]


@settings(max_examples=examples(200), deadline=None)
@given(evicting())
def test_victims_never_preempt_the_preemptor_back(world: World) -> None:
    """They wait with a higher priority than the members' own, and a lower one than the group's."""
    _, plan = decided(world)
    victims = {pod.name for victim in plan.victims for pod in victim.pods}
    after = bound(world, {each.pod: each.node for each in plan.placements}, victims)
    members = {member["metadata"]["name"] for member in world.members}
    for victim in sorted(victims):
        namespace = next(p["metadata"]["namespace"] for p in world.pods if p["metadata"]["name"] == victim)
        again = decide_pod(after, namespace, victim)
        assert members.isdisjoint(pod.name for each in again.victims for pod in each.pods)


def bound(world: World, placed: Mapping[str, str], waiting: Collection[str]) -> Snapshot:
    """The cluster after the plan: the members are bound, and the victims were created again."""
    tables = tables_of(world)
    for pod in _after(world, placed, waiting):
        tables.upsert_pod(msgspec.convert(pod, Pod))
    return tables.snapshot()


def _after(world: World, placed: Mapping[str, str], waiting: Collection[str]) -> Iterator[dict[str, Any]]:
    for pod in deepcopy([*world.pods, *world.members]):
        name, spec = pod["metadata"]["name"], pod["spec"]
        if name in waiting:
            pod["metadata"]["uid"] += "-again"
            del spec["nodeName"]
            spec["priority"] = 50
            yield pod
        elif name in placed:
            spec["nodeName"], spec["priority"] = placed[name], 0
            yield pod
