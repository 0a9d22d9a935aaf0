"""Gangs whose members come in waves, while the cluster changes between two waves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client import REGISTRY

from api.core import Pod
from api.plans import PreemptionPlan
from tests.kit.objects import BIG, gang, make, member, node, pod
from tests.kit.stage import Stage, staged

LABELS = {"app": "hero"}
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "rack",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": LABELS},
        }
    ]
}
NODES = {"a0": "a", "a1": "a", "b0": "b", "b1": "b"}
SPARE = ("a2", "b2")


def rack_node(name: str, **fields: Any) -> Any:
    return node(name, labels={"rack": name[0]}, **fields)


def hero(which: int, **fields: Any) -> Pod:
    return member(which, labels=LABELS, **SPREAD, **fields)


def world() -> list[Any]:
    """A gang of four that is spread over two racks, and a victim on each of the four nodes."""
    victims = [pod(f"v-{name}", node=name, requests=BIG, priority=1) for name in NODES]
    return [*(rack_node(name) for name in NODES), *victims, gang(minimum=4), *map(hero, range(4))]


@asynccontextmanager
async def with_room() -> AsyncIterator[Stage]:
    """The victims have left. The members of the first wave are nominated."""
    async with staged(*world()) as stage:
        await stage.settle()
        stage.delete(*(pod(name) for name in stage.api.deleted))
        await stage.settle()
        assert stage.phases() == ["Ready"]
        assert len(stage.api.deleted) == 4
        yield stage


def places(stage: Stage, phase: str) -> dict[int, dict[str, str]]:
    """Where the newest plan in the phase places whom, by wave."""
    plans = [make(PreemptionPlan, each) for each in stage.api.plans.values()]
    plan = [each for each in plans if each.status is not None and each.status.phase == phase][-1]
    found: dict[int, dict[str, str]] = {}
    for each in plan.spec.placements:
        found.setdefault(each.wave or 0, {})[each.pod] = each.node
    return found


def bind(stage: Stage, members: dict[str, str]) -> None:
    stage.add(*(hero(int(name[1:]), node=where) for name, where in members.items()))


def offered(stage: Stage) -> dict[str, list[str]]:
    """What filter leaves to each member that is not bound."""
    pods = [make(Pod, body) for body in stage.api.of("/api/v1/pods").values()]
    waiting = [each for each in pods if each.metadata.name.startswith("m") and not each.spec.node_name]
    return {each.metadata.name: stage.filter(each, *NODES, *SPARE) for each in waiting}


async def rest_comes(stage: Stage) -> None:
    """Whoever is let onto a node is bound there, until all run."""
    for _ in range(8):
        await stage.settle()
        for victim in stage.api.deleted:
            stage.delete(pod(victim))
        bind(stage, {name: nodes[0] for name, nodes in offered(stage).items() if len(nodes) == 1})
        stage.clock += 2.0


async def test_the_second_wave_is_held_until_the_first_one_is_bound() -> None:
    async with with_room() as stage:
        first, second = places(stage, "Ready").values()
        assert offered(stage) == {
            **{name: [where] for name, where in first.items()},
            **{name: [] for name in second},
        }
        bind(stage, dict(list(first.items())[:1]))
        await stage.settle()
        assert [offered(stage)[name] for name in second] == [[], []]
        bind(stage, first)
        await stage.settle()
        assert offered(stage) == {name: [where] for name, where in second.items()}
        assert second.items() <= stage.api.nominated.items()


@pytest.mark.parametrize("before", [True, False], ids=["before the second wave", "amid the second wave"])
async def test_another_process_goes_on_with_the_wave_whose_turn_it_is(before: bool) -> None:
    async with with_room() as stage:
        first, second = places(stage, "Ready").values()
        bind(stage, first)
        if not before:
            await stage.settle()
        again = following(stage)
        again.clock += 200.0
        await again.settle()
        assert again.phases() == ["Ready"]
        assert offered(again) == {name: [where] for name, where in second.items()}
        assert second.items() <= again.api.nominated.items()
        again.clock += 200.0
        await again.settle()
        assert again.phases() == ["Ready"], "the second wave has time of its own"
        bind(again, second)
        await again.settle()
        assert again.phases() == ["Bound"]
        await again.close()


async def test_a_plan_in_waves_is_overdue_when_the_time_of_all_waves_has_passed() -> None:
    async with with_room() as stage:
        await stage.close()
        stage.clock += 300.0 + 299.0
        assert overdue() == 0
        stage.clock += 50.0
        assert 40.0 < overdue() <= 50.0


def overdue() -> float:
    value = REGISTRY.get_sample_value("reprieve_oldest_plan_overdue_seconds", {"plane": "nodes"})
    assert value is not None
    return value


async def test_another_process_ends_a_plan_whose_first_wave_never_came() -> None:
    async with with_room() as stage:
        stage.clock += 400.0
        again = following(stage)
        await again.settle(steps=1)
        assert again.phases() == ["Expired"]
        await again.close()


def following(stage: Stage) -> Stage:
    again = stage.restart()
    again.add(*(rack_node(name) for name in NODES), gang(minimum=4))
    again.add(*(make(Pod, body) for body in list(stage.api.of("/api/v1/pods").values())))
    return again


async def test_a_member_that_somebody_binds_elsewhere_ends_the_plan_while_a_wave_is_to_come() -> None:
    """The later waves were proven with this member on its node. No node is left out because of it."""
    async with with_room() as stage:
        first, _ = places(stage, "Ready").values()
        stage.add(rack_node("a2"), rack_node("b2"))
        strays = {name: f"{where[0]}2" for name, where in first.items()}
        bind(stage, strays)
        await stage.settle()
        assert "Aborted" in stage.phases()
        await rest_comes(stage)
        assert stage.phases()[-1] == "Bound"
        assert len(stage.api.deleted) == 4
        assert all(not plan["spec"].get("excluded") for plan in stage.api.plans.values())


async def test_a_member_that_somebody_binds_elsewhere_in_the_last_wave_does_not_matter() -> None:
    async with with_room() as stage:
        first, second = places(stage, "Ready").values()
        bind(stage, first)
        await stage.settle()
        one, *others = second
        stage.add(rack_node("a2"))
        bind(stage, {one: "a2"})
        await stage.settle()
        assert stage.phases() == ["Ready"]
        bind(stage, {name: second[name] for name in others})
        await stage.settle()
        assert stage.phases() == ["Bound"]


async def test_a_node_of_a_later_wave_that_is_cordoned_ends_the_plan() -> None:
    async with with_room() as stage:
        first, second = places(stage, "Ready").values()
        bind(stage, first)
        lost = next(iter(second.values()))
        stage.add(rack_node(lost, unschedulable=True), rack_node(f"{lost[0]}2"))
        await rest_comes(stage)
        assert sorted(stage.phases()) == ["Aborted", "Bound"]
        assert len(stage.api.deleted) == 4


async def test_a_node_of_a_later_wave_that_goes_ends_the_plan() -> None:
    async with with_room() as stage:
        first, second = places(stage, "Ready").values()
        bind(stage, first)
        lost = next(iter(second.values()))
        stage.delete(rack_node(lost))
        stage.add(rack_node(f"{lost[0]}2"))
        await rest_comes(stage)
        assert sorted(stage.phases()) == ["Aborted", "Bound"]
        assert len(stage.api.deleted) == 4


@pytest.mark.parametrize("end", ["deleted", "failed"])
async def test_a_member_that_is_lost_between_waves_is_replaced(end: str) -> None:
    async with with_room() as stage:
        first, _ = places(stage, "Ready").values()
        bind(stage, first)
        await stage.settle()
        name, where = next(iter(first.items()))
        if end == "deleted":
            stage.delete(hero(int(name[1:])))
        else:
            stage.add(hero(int(name[1:]), node=where, phase="Failed"))
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        stage.add(hero(9))
        await rest_comes(stage)
        assert stage.phases()[-1] == "Bound"
        assert len(stage.api.deleted) == 4


async def test_of_a_gang_that_is_deleted_between_waves_nothing_is_left() -> None:
    async with with_room() as stage:
        first, _ = places(stage, "Ready").values()
        bind(stage, first)
        await stage.settle()
        stage.delete(gang(minimum=4))
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        assert stage.reserved == 0


async def test_a_pod_that_comes_between_waves_and_goes_again_costs_the_gang_no_ten_minutes() -> None:
    """Nobody plans for it. The scheduler refuses a member because of it, and that says nothing about the node."""
    async with with_room() as stage:
        first, second = places(stage, "Ready").values()
        bind(stage, first)
        await stage.settle()
        name = next(name for name, where in second.items() if where[0] == "a")
        foreign = [pod(f"x{number}", labels=LABELS, node="a2") for number in range(2)]
        stage.add(rack_node("a2"), *foreign)
        for _ in range(3):
            stage.filter(hero(int(name[1:])), "b0")
            stage.clock += 1.5
        await stage.settle()
        assert "Aborted" in stage.phases()
        stage.delete(*foreign, rack_node("a2"))
        stage.clock += 60.0
        await rest_comes(stage)
        assert stage.phases()[-1] == "Bound"
        assert name in running(stage)


def running(stage: Stage) -> set[str]:
    """Who is bound."""
    pods = [make(Pod, body) for body in stage.api.of("/api/v1/pods").values()]
    return {each.metadata.name for each in pods if each.spec.node_name}
