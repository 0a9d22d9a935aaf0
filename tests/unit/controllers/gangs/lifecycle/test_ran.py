"""A gang that has run: its members end, are replaced, and stay in its domain."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from controllers.gangs.lifecycle.effects import SayAstray, Wake
from controllers.gangs.lifecycle.gathering import members_seen
from controllers.gangs.lifecycle.life import Life
from controllers.gangs.lifecycle.observations import MembersSeen
from controllers.gangs.lifecycle.settings import REGATHER_SECONDS
from tests.kit.objects import gang, node, pod
from tests.kit.stage import Stage, staged

RACK = {"topology": [{"key": "rack"}]}
ONE = {"cpu": "1"}


def member(name: str, **fields: Any) -> Pod:
    return pod(name, group="gang", **{"requests": ONE, **fields})


def ran(minimum: int, **spec: Any) -> Any:
    return gang(minimum=minimum, has_run=True, **spec)


def racks(count: int = 2) -> list[Any]:
    return [node(f"n{number}", labels={"rack": f"r{number}"}) for number in range(count)]


def offered(stage: Stage, asked: Pod, *nodes: str) -> list[str]:
    return stage.filter(asked, *(nodes or ("n0", "n1")))


async def noted(stage: Stage, reason: str) -> list[str]:
    """The notes of events with this reason."""
    await stage.leading.writer.close()
    events = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return [each["note"] for each in events if each["reason"] == reason]


# ---- how many must run


async def test_a_replacement_is_planned_alone_beside_members_that_succeeded() -> None:
    """minCount 3: one member Succeeded, one runs, one was created again. The new one evicts, and waits for nobody."""
    members = [member("done", phase="Succeeded"), member("runs", node="n0"), member("again")]
    low = pod("low", node="n0", requests={"cpu": "3"}, priority=1)
    async with staged(node("n0"), ran(3), *members, low) as stage:
        await stage.settle()
        assert stage.api.deleted == ["low"]
        stage.delete(low)
        await stage.settle()
        assert offered(stage, member("again"), "n0") == ["n0"]
        stage.add(member("again", node="n0"))
        await stage.settle()
        assert stage.phases() == ["Bound"]
        assert stage.reserved == 0


async def test_the_last_members_of_a_job_are_ordinary_pods() -> None:
    members = [member("a", phase="Succeeded"), member("b", phase="Succeeded"), member("last")]
    async with staged(node("n0"), ran(2), *members) as stage:
        await stage.settle()
        assert offered(stage, member("last"), "n0") == ["n0"]
        assert stage.phases() == []


async def test_a_member_that_succeeds_before_the_others_are_bound_counts_as_bound() -> None:
    async with staged(node("n0"), gang(minimum=2), member("m0"), member("m1")) as stage:
        await stage.settle()
        assert stage.phases() == ["Ready"]
        stage.add(member("m0", node="n0", phase="Running"))
        stage.add(member("m0", node="n0", phase="Succeeded"))
        await stage.settle()
        assert stage.phases() == ["Ready"], "the plan goes on"
        assert offered(stage, member("m1"), "n0") == ["n0"]
        stage.add(member("m1", node="n0"))
        await stage.settle()
        assert stage.phases() == ["Bound"]


async def test_a_plan_for_a_replacement_is_carried_through_when_a_sibling_comes() -> None:
    low = pod("low", node="n0", requests={"cpu": "3"}, priority=1)
    members = [member("a", node="n0"), member("b", phase="Failed"), member("again")]
    async with staged(node("n0"), ran(3), *members, low) as stage:
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        stage.add(member("sibling"))
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        stage.delete(low)
        await stage.settle()
        stage.add(member("again", node="n0"))
        await stage.settle()
        assert sorted(stage.phases()) == ["Bound", "Ready"], "the sibling has a plan of its own"


async def test_members_of_a_resumed_job_wait_a_moment_for_one_another() -> None:
    async with staged(node("n0"), ran(2), member("m0")) as stage:
        await stage.settle()
        assert stage.phases() == []
        stage.add(member("m1"))
        await stage.settle()
        assert [plan["spec"]["placements"] for plan in stage.api.plans.values()] != []
        assert {each["pod"] for each in next(iter(stage.api.plans.values()))["spec"]["placements"]} == {
            "m0",
            "m1",
        }


async def test_a_member_of_a_gang_that_has_run_waits_for_nobody_for_ever() -> None:
    async with staged(node("n0"), ran(2), member("m0")) as stage:
        await stage.settle()
        assert offered(stage, member("m0"), "n0") == []
        stage.clock += REGATHER_SECONDS
        await stage.settle()
        assert stage.phases() == ["Ready"]
        assert offered(stage, member("m0"), "n0") == ["n0"]


async def test_a_gang_that_never_ran_waits_for_its_members() -> None:
    async with staged(node("n0"), gang(minimum=2), member("m0")) as stage:
        await stage.settle()
        stage.clock += 10 * REGATHER_SECONDS
        await stage.settle()
        assert offered(stage, member("m0"), "n0") == []
        assert stage.phases() == []


# ---- the domain


async def test_later_members_and_replacements_stay_in_the_domain() -> None:
    bound = [member("a", node="n1"), member("b", node="n1")]
    async with staged(*racks(), ran(2, schedulingConstraints=RACK), *bound, member("late")) as stage:
        await stage.settle()
        assert offered(stage, member("late")) == ["n1"]
        assert offered(stage, member("late"), "n0") == []
        stage.add(node("n2", labels={"rack": "r1"}))
        assert offered(stage, member("late"), "n0", "n2") == ["n2"], "a node of the domain has come"
        stage.add(node("n1", labels={"rack": "r2"}))
        assert offered(stage, member("late"), "n0", "n1", "n2") == ["n1"], "the domain has another name"


async def test_later_members_without_a_topology_key_may_be_anywhere() -> None:
    async with staged(*racks(), ran(1), member("a", node="n1"), member("late")) as stage:
        await stage.settle()
        assert offered(stage, member("late")) == ["n0", "n1"]


async def test_a_member_kept_in_the_domain_is_woken_when_that_is_another_one() -> None:
    group = ran(1, schedulingConstraints=RACK)
    async with staged(*racks(), group, member("a", node="n1"), member("late")) as stage:
        await stage.settle()
        assert offered(stage, member("late"), "n0") == []
        for _ in range(3):
            stage.clock += 1.5
            await stage.settle()
        assert stage.api.woken == [], "it would be turned down again"
        stage.add(member("b", node="n0"))
        stage.delete(member("a"))
        await stage.settle()
        assert "late" in stage.api.woken
        assert offered(stage, member("late"), "n0") == ["n0"]


async def test_a_gang_in_two_domains_says_so_once_and_goes_on_in_the_larger_part() -> None:
    bound = [member("a", node="n0"), member("b", node="n1"), member("c", node="n1")]
    group = ran(3, schedulingConstraints=RACK)
    async with staged(*racks(), group, *bound, member("late")) as stage:
        await stage.settle()
        assert offered(stage, member("late")) == ["n1"]
        stage.add(member("later"))
        await stage.settle()
        assert await noted(stage, "GangInSeveralDomains") == [
            "members are bound in 2 domains of rack (a in r0, b in r1): r1 counts"
        ]


# ---- the rules


def seen(minimum: int, members: int, bound: int, **fields: Any) -> MembersSeen:
    return MembersSeen(minimum, members, bound, **fields)


def test_what_is_said_of_domains_is_said_once() -> None:
    life, effects = members_seen(Life(phase="Bound"), seen(1, 2, 2, domain="r0", astray="a in r1"), 0.0)
    assert effects == (SayAstray("a in r1"),)
    life, effects = members_seen(life, seen(1, 2, 2, domain="r0", astray="a in r1"), 1.0)
    assert effects == ()
    life, effects = members_seen(life, seen(1, 1, 1, domain="r1"), 2.0)
    assert [type(each) for each in effects] == [Wake]
    life, effects = members_seen(life, seen(1, 2, 2, domain="r1", astray="b in r0"), 3.0)
    assert effects == (SayAstray("b in r0"),)


@pytest.mark.parametrize(
    ("members", "bound", "waits"), [(1, 0, True), (2, 0, True), (3, 0, False), (2, 1, False), (4, 0, False)]
)
def test_only_a_gang_of_which_nobody_runs_waits_for_more_members(
    members: int, bound: int, waits: bool
) -> None:
    life, _ = members_seen(Life(), seen(min(3, members), members, bound, left=3), 10.0)
    assert life.gathering_until == (10.0 + REGATHER_SECONDS if waits else 0.0)


def test_a_gang_that_does_without_members_keeps_its_bar() -> None:
    """Its replacement is gone again: that says nothing good of the evictions that were in vain."""
    life, _ = members_seen(Life(vain=1, barred=50.0), seen(1, 1, 1, left=2), 10.0)
    assert (life.phase, life.vain) == ("Bound", 1)
    life, _ = members_seen(life, seen(2, 2, 2, left=2), 10.0)
    assert life.vain == 0
