"""Whose priority counts while gangs live: members that differ from their group, and groups as victims."""

from __future__ import annotations

from typing import Any

import pytest

from api.foreign_groups import NativePodGroup
from kube.errors import ApiError
from nodes.state.potential import potential
from tests.kit.native_gangs import native_group, native_pod
from tests.kit.objects import BIG, gang, make, member, node, pod
from tests.kit.stage import staged


def victim(number: int = 0, **fields: Any) -> Any:
    return pod(f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, **fields})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"priority": 0}, "PriorityMismatch"),
        ({"preemptionPolicy": "Never"}, "PriorityMismatch"),
        ({"schedulerName": "other"}, "SchedulerMismatch"),
    ],
)
async def test_a_gang_whose_members_differ_evicts_nobody_and_says_why(
    fields: dict[str, Any], reason: str
) -> None:
    full = [each for n in range(2) for each in (node(f"n{n}"), victim(n))]
    async with staged(*full, gang(), member(0), member(1, **fields)) as stage:
        await stage.settle()
        assert stage.api.deleted == []
        assert stage.phases() == ["Unschedulable"]
        assert stage.api.reasons == {"gang": reason, "m0": "Unschedulable", "m1": "Unschedulable"}
        assert "nothing may be evicted for it" in stage.api.group_said["gang"]
        (plan,) = stage.api.plans.values()
        assert plan["spec"]["mismatch"] == reason


async def test_it_says_both_numbers() -> None:
    async with staged(node("n0"), victim(), gang(minimum=1), member(priority=0)) as stage:
        await stage.settle()
        assert "pod m0 has priority 0, and its PodGroup has 100" in stage.api.group_said["gang"]


async def test_a_gang_whose_members_differ_takes_free_room() -> None:
    async with staged(node("n0"), gang(minimum=1), member(priority=0)) as stage:
        await stage.settle()
        assert stage.phases() == ["Ready"]


async def test_once_no_member_differs_the_gang_evicts() -> None:
    async with staged(node("n0"), victim(), gang(minimum=1), member(priority=0)) as stage:
        await stage.settle()
        stage.delete(member())
        stage.add(member(1))
        stage.clock += 2
        await stage.settle()
        assert stage.api.deleted == ["v0"]


async def test_a_member_that_differs_and_comes_before_the_first_eviction_prevents_it() -> None:
    async with staged(node("n0"), victim(), gang(minimum=1), member(0)) as stage:

        def meanwhile(method: str, path: str) -> ApiError | None:
            if method == "PATCH" and "preemptionplans" in path:
                stage.api.refuse = lambda _method, _path: None
                stage.add(member(1, priority=0))
            return None

        stage.api.refuse = meanwhile
        await stage.settle()
        assert stage.api.deleted == []


# ---- as a victim


def whole(priority: int, *own: int) -> list[Any]:
    """A group in `all` mode with a pod of each priority, on nodes of their own."""
    pods = [victim(n, group="whole", priority=each) for n, each in enumerate(own)]
    return [gang("whole", mode="all", priority=priority), *pods, *(node(f"n{n}") for n in range(len(own)))]


def uid(number: int) -> str:
    return f"uid-default-v{number}"


async def test_a_group_that_goes_whole_is_worth_its_cheapest_running_pod() -> None:
    async with staged(*whole(900, 7, 500)) as stage:
        roster = stage.controller.known.mirror.roster
        assert [roster.unit_priority(uid(n)) for n in (0, 1)] == [7, 7]
        stage.add(victim(0, group="whole", priority=7, deleting=True))
        assert roster.unit_priority(uid(1)) == 500
        stage.add(pod("v2", group="whole", requests=BIG, priority=3))
        assert roster.unit_priority(uid(1)) == 500
        stage.add(victim(2, group="whole", priority=3))
        assert roster.unit_priority(uid(1)) == 3
        stage.add(gang("whole", mode="all", priority=2))
        assert roster.unit_priority(uid(1)) == 2
        stage.add(gang("whole", mode="single", priority=900))
        assert roster.unit_priority(uid(1)) == 900
        stage.delete(gang("whole"))
        assert roster.unit_priority(uid(1)) == 500


async def test_a_group_whose_class_is_gone_is_nobodys_victim() -> None:
    lost = gang("whole", mode="all", priority=None, priorityClassName="gone")
    async with staged(*whole(900, 7), lost) as stage:
        assert stage.controller.known.mirror.roster.unit_priority(uid(0)) is None


async def test_a_group_goes_whole_although_its_cheapest_pod_goes_too() -> None:
    """Each pod is gone before the next one is asked about."""
    world = whole(900, 7, 500, 500)
    async with staged(*world, gang(minimum=1), member()) as stage:
        pods = {each.metadata.name: each for each in world if each.metadata.name.startswith("v")}

        def goes(method: str, path: str) -> ApiError | None:
            if method == "DELETE" and "/pods/" in path:
                asked.append(path.rpartition("/")[2])
                stage.delete(pods[asked[-1]])
            return None

        asked: list[str] = []
        stage.api.refuse = goes
        await stage.settle()
        assert asked == ["v1", "v2", "v0"]
        assert stage.phases() == ["Ready"]


# ---- members beyond minCount, which are treated as other pods once the gang runs


RUNNING = pod("m9", group="gang", node="n9", requests={"cpu": "1"}, priority=0)
"""A member that is bound may differ."""


@pytest.mark.parametrize(
    ("spec", "fields", "may"),
    [
        ({}, {}, True),
        ({}, {"priority": 0}, False),
        ({}, {"priority": 500}, False),
        ({"preemptionPolicy": "Never"}, {}, False),
    ],
)
async def test_the_scheduler_evicts_for_none_that_differs_either(
    spec: dict[str, Any], fields: dict[str, Any], may: bool
) -> None:
    late = member(0, **fields)
    world = [node("n0"), node("n9"), victim(priority=-1), gang(minimum=1, **spec), RUNNING, late]
    async with staged(*world) as stage:
        await stage.settle()
        assert stage.preempt(late, n0=[uid(0)]) == (["n0"] if may else [])


@pytest.mark.parametrize(("own", "passes"), [(100, True), (0, False)])
async def test_a_member_that_differs_takes_no_reserved_room_by_its_groups_priority(
    own: int, passes: bool
) -> None:
    lower = [gang("lower", minimum=1, priority=50), pod("l0", group="lower", requests=BIG, priority=50)]
    late = member(0, priority=own)
    async with staged(node("n0"), node("n9"), gang(minimum=1), RUNNING) as stage:
        await stage.settle()
        stage.add(*lower)
        await stage.settle()
        assert stage.reserved == 1
        stage.add(late)
        assert stage.filter(late, "n0") == (["n0"] if passes else [])


@pytest.mark.parametrize(("own", "gets"), [(100, "gang"), (50, "lower"), (0, "lower")])
@pytest.mark.parametrize("promise", ["plan", "nomination"])
async def test_a_gang_that_differs_plans_with_promised_room_by_its_lowest_priority(
    promise: str, own: int, gets: str
) -> None:
    """As filter lets its members in."""
    lower = [gang("lower", minimum=1, priority=50), pod("l0", group="lower", requests=BIG, priority=50)]
    nominated = [pod("l0", nominated="n0", requests=BIG, priority=50)]
    async with staged(node("n0")) as stage:
        stage.add(*(lower if promise == "plan" else nominated))
        await stage.settle()
        stage.add(gang(minimum=1), member(0, priority=own))
        await stage.settle()
        assert ("m0" in stage.api.nominated) == (gets == "gang")
        assert ("Aborted" in stage.phases()) == (promise == "plan" and gets == "gang")


async def test_a_plan_of_a_gang_that_differs_ends_if_its_room_is_promised_to_a_pod_above_its_members() -> (
    None
):
    """The scheduler counts that pod's nomination, so the member would never get its room."""
    async with staged(node("n0"), gang(minimum=1), member(0, priority=0)) as stage:
        await stage.settle()
        assert stage.phases() == ["Ready"]
        stage.add(pod("above", nominated="n0", requests=BIG, priority=50))
        await stage.settle(steps=2)
        (plan,) = [each for each in stage.api.plans.values() if each["status"]["phase"] == "Aborted"]
        assert plan["status"]["conditions"][-1]["reason"] == "RoomTaken"


def native(**spec: Any) -> NativePodGroup:
    """The scheduler's own PodGroup of two pods, which may be evicted one by one."""
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"single": {}}}
    return make(NativePodGroup, {"metadata": {"name": "its", "namespace": "default"}, "spec": policy | spec})


async def test_the_pods_of_a_native_group_without_a_priority_are_worth_their_own() -> None:
    in_it = {"schedulingGroup": {"podGroupName": "its"}}
    pods = [victim(n, priority=priority, **in_it) for n, priority in enumerate((7, 200))]
    full = [each for n in range(2) for each in (node(f"n{n}"), pods[n])]
    async with staged(*full, native(), gang(priority=50), member(0, priority=50)) as stage:
        roster, tables = stage.controller.known.mirror.roster, stage.controller.known.mirror.tables
        assert [roster.unit_priority(uid(n)) for n in (0, 1)] == [7, 200]
        rows = [row for n in (0, 1) if (row := tables.nodes.find(f"n{n}")) is not None]
        assert [potential(tables, row).levels.tolist() for row in rows] == [[7], [200]]
        stage.add(native(priority=3))
        assert [roster.unit_priority(uid(n)) for n in (0, 1)] == [3, 3]


async def test_no_pod_of_a_native_group_is_evicted_for_one_of_lower_priority() -> None:
    its = victim(0, priority=10, schedulingGroup={"podGroupName": "its"})
    async with staged(node("n0"), its, native(), gang(minimum=1, priority=5), member(0, priority=5)) as stage:
        await stage.settle()
        assert stage.phases() == ["Unschedulable"]
        assert stage.api.deleted == []


async def test_the_priority_of_a_native_group_replaces_that_of_its_pods() -> None:
    things = [native_pod("v0", "whole", priority=7, node="n0"), native_pod("v1", "whole", node="n0")]
    group = native_group("whole", mode="all", priority=100)
    async with staged(group, node("n0"), *things) as stage:
        roster = stage.controller.known.mirror.roster
        assert [roster.unit_priority(uid(n)) for n in (0, 1)] == [100, 100]
        stage.add(native_group("whole", mode="all", priority=None))
        assert [roster.unit_priority(uid(n)) for n in (0, 1)] == [7, 7], "its pods say it"
