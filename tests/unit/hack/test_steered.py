"""The pure parts of `hack.fidelity.steered`: random worlds, the plans for them, and what is found wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.fidelity.steered.__main__ import shrink
from hack.fidelity.steered.judging import Result, Tally, broken, relation
from hack.fidelity.steered.planned import Planned, plan_for
from hack.fidelity.steered.stage import answer
from hack.fidelity.steered.world import (
    GANG,
    PRIORITY,
    VALUES,
    Budget,
    Group,
    Member,
    Place,
    Running,
    World,
    class_of,
    smaller,
)
from hack.fidelity.steered.worlds import NODES, random_world

PLACE: Final = Place("slot", "w1-")
WORLDS: Final = 24


def running(name: str, node: int = 0, **fields: Any) -> Running:
    return Running(name=name, node=node, cpu=1, memory=0, priority=1, start=1, **fields)


def world(*pods: Running, groups: Sequence[Group] = (), members: int = 1, **fields: Any) -> World:
    """On nodes of one CPU. Each member requests one."""
    made = World(
        seed=1,
        nodes=((1, 4), (1, 4)),
        pods=pods,
        groups=tuple(groups),
        budgets=(),
        members=tuple(Member(f"m{number}", 1, 0) for number in range(members)),
        minimum=members,
    )
    return replace(made, **fields)


def stored(world: World) -> list[Json]:
    """What an API server would have: with UIDs, priorities and statuses."""
    nodes = [
        {**objects.node(PLACE.node(number)), **PLACE.capacity(world, number)}
        for number in range(len(world.nodes))
    ]
    pods = [PLACE.running(world, pod) for pod in world.pods] + [(body, None) for body in PLACE.waiting(world)]
    budgets = [PLACE.budget(each, "2026-01-01T00:00:00Z") for each in world.budgets]
    for node in nodes:
        node["metadata"]["labels"]["example.com/slot"] = PLACE.namespace
    classes = [objects.priority_class(class_of(value), value) for value in VALUES]
    every = [
        *classes,
        *nodes,
        *PLACE.groups(world),
        *({**body, **(more or {})} for body, more in [*pods, *budgets]),
    ]
    return [_with_uid(body) for body in every]


def _with_uid(body: Json) -> Json:
    meta = {**body["metadata"], "uid": f"{body['kind']}-{body['metadata']['name']}", "generation": 1}
    meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
    spec = dict(body.get("spec", {}))
    if body["kind"] == "PodGroup":
        spec["priority"] = int(spec["priorityClassName"].rpartition("-")[2])
    return {**body, "metadata": meta, **({"spec": spec} if "spec" in body else {})}


def plan(world: World) -> Planned:
    return plan_for(stored(world), PLACE.namespace, PLACE.full(GANG))


def test_worlds_have_all_that_can_matter() -> None:
    worlds = [random_world(seed) for seed in range(WORLDS)]
    assert worlds == [random_world(seed) for seed in range(WORLDS)]
    assert {len(each.nodes) for each in worlds} == {NODES}
    kinds = {group.kind for each in worlds for group in each.groups}
    assert kinds == {"all", "single", "basic", "ours"}
    for wanted in ("budgets", "nominated", "groups"):
        assert {bool(getattr(each, wanted)) for each in worlds} == {True, False}
    pods = [pod for each in worlds for pod in each.pods]
    assert any(pod.terminating for pod in pods)
    assert any(pod.daemon for pod in pods)
    assert any(pod.start is None for pod in pods)
    assert any(pod.port for pod in pods)
    for each in worlds:
        used = [sum(pod.cpu for pod in each.pods if pod.node == node) for node in range(NODES)]
        assert all(cpus <= each.nodes[node][0] for node, cpus in enumerate(used))


def test_random_worlds_are_planned_for_and_steered_or_driven() -> None:
    plans = [plan(random_world(seed)) for seed in range(3, 8)]
    assert {each.spec.outcome for each in plans} >= {"Preempts", "Unschedulable"}
    assert {each.steered for each in plans if each.places} == {True, False}


def test_a_plan_has_the_names_of_the_api_server() -> None:
    made = plan(world(running("p0"), running("p1", 1, app="a"), budgets=(Budget("b", "a", 0),)))
    assert made.steered
    assert (made.offers, made.victims) == ({"w1-m0": "slot-n0"}, frozenset({"w1-p0"}))
    assert (made.no_dearer({"w1-p0"}), made.no_dearer({"w1-p1"})) == (True, False)


def test_a_group_of_ours_is_driven_and_a_native_one_is_steered() -> None:
    pods = running("p0", group="g"), running("p1", 1, group="g")
    assert plan(world(*pods, groups=[Group("g", "all", 1)])).steered
    assert plan(world(*pods, groups=[Group("g", "ours", 1)])).spec.evictor_reason == "UnknownUnit"


def test_a_unit_is_broken_if_only_a_part_of_it_is_evicted() -> None:
    pods = running("p0", group="g"), running("p1", 1, group="g"), running("p2", group="h")
    made = world(*pods, running("p3", group="h"), groups=[Group("g", "all", 1), Group("h", "single", 1)])
    assert broken(made, {"p0", "p2"}) == ["g"]
    assert broken(made, {"p0", "p1", "p2"}) == []
    leaving = replace(made, pods=(replace(pods[0], terminating=True), *made.pods[1:]))
    assert broken(leaving, {"p1"}) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({}, "tie"),
        ({"start": 2}, "other"),
        ({"node": 1}, "other"),
        ({"app": "a"}, "other"),
        ({"group": "g"}, "other"),
        ({"priority": 0}, "other"),
    ],
)
def test_a_tie_is_between_pods_that_are_as_important_and_look_alike(
    other: dict[str, Any], expected: str
) -> None:
    made = world(running("p0"), replace(running("p1"), **other), groups=[Group("g", "single", 1)])
    assert relation(made, {"p0"}, {"p0"}, no_dearer=False) == "same"
    assert relation(made, {"p0"}, {"p1"}, no_dearer=False) == expected
    assert relation(made, {"p0"}, {"p0", "p1"}, no_dearer=False) == "other"


def test_victims_that_cost_no_more_are_no_fault_and_a_part_of_a_unit_is_no_tie() -> None:
    made = world(running("p0"), replace(running("p1"), start=2))
    assert relation(made, {"p0"}, {"p1"}, no_dearer=True) == "no dearer"
    pods = running("p0", group="g"), running("p1", group="g")
    assert (
        relation(world(*pods, groups=[Group("g", "all", 1)]), {"p0", "p1"}, {"p0"}, no_dearer=False)
        == "other"
    )


def test_the_extender_offers_planned_nodes_and_holds_all_other_members() -> None:
    offers = {"one": {"m0": "n1"}, "two": None}

    def passing(namespace: str, pod: str) -> object:
        sent = {"Pod": {"metadata": {"namespace": namespace, "name": pod}}, "NodeNames": ["n0", "n1"]}
        return answer(offers, sent)["NodeNames"]

    assert passing("one", "m0") == ["n1"]
    assert passing("one", "m1") == passing("unknown", "m0") == []
    assert passing("two", "m0") == ["n0", "n1"]


def test_results_are_counted() -> None:
    tally = Tally()
    made = world(running("p0"))
    for result in (Result(made, "steered", evicted=1), Result(made, "steered", ("wrong",), 2)):
        tally.add(result)
    assert (tally.kinds, tally.evicted, len(tally.wrong)) == ({"steered": 2}, 3, 1)


def test_a_world_is_shrunk_to_what_makes_it_wrong() -> None:
    def run(worlds: Sequence[World]) -> list[Result]:
        """A world is wrong while it has the pod of the name p7."""
        wrong = [any(pod.name == "p7" for pod in each.pods) for each in worlds]
        return [
            Result(each, "steered", ("it has it",) * is_wrong)
            for each, is_wrong in zip(worlds, wrong, strict=True)
        ]

    pods = [running(f"p{number}", group="g") for number in range(12)]
    made = world(*pods, groups=[Group("g", "all", 1)], members=3, budgets=(Budget("b", "", 0),))
    found = shrink(Result(made, "steered", ("it has it",)), run).world
    assert [pod.name for pod in found.pods] == ["p7"]
    assert (found.groups, found.budgets, len(found.members), found.minimum) == ((), (), 1, 1)
    assert found.pods[0].group == ""
    assert shrink(Result(made, "steered", ("it has it",)), run, tries=0).world == made


def test_a_smaller_world_has_no_pod_of_a_group_that_is_gone() -> None:
    made = world(running("p0", group="g"), groups=[Group("g", "all", PRIORITY)])
    for each in smaller(made):
        names = {group.name for group in each.groups}
        assert all(pod.group in {"", *names} for pod in each.pods)
