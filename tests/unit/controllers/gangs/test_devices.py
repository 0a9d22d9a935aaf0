"""Gangs whose pods use devices (DRA): the scheduler chooses their nodes, and nothing is evicted for them."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from controllers.gangs.answering import Answering, AnyOf, Hold, Offer
from tests.kit.objects import BIG, GANG, gang, member, node, pod
from tests.kit.stage import Stage, staged

CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
NODES = [node("n0"), node("n1"), node("n2")]


def claiming(which: int | str = 0, **fields: Any) -> Pod:
    return member(which, resourceClaims=CLAIMS, **fields)


def verdict(stage: Stage, asked: Pod) -> Any:
    return Answering(stage.controller, lambda: True).verdict(asked)


async def said(stage: Stage) -> tuple[str, str]:
    """Reason and message of the condition of the PodGroup."""
    stage.clock += 1.0
    await stage.settle()
    return stage.api.waits[GANG][-1]


async def test_members_with_claims_are_offered_every_node_and_no_room_is_promised() -> None:
    pods = [claiming(number) for number in range(2)]
    async with staged(*NODES, gang(minimum=2), *pods) as stage:
        await stage.settle()
        assert stage.phases() == ["Ready"]
        assert [stage.filter(each, "n0", "n1", "n2") for each in pods] == [["n0", "n1", "n2"]] * 2
        assert stage.api.nominated == {}
        assert stage.filter(pod("other"), "n0", "n1", "n2") == ["n0", "n1", "n2"]
        assert await said(stage) == (
            "Ready",
            "the room is free; 0 of 2 planned members are bound; devices are not modelled, so the scheduler chooses "
            f"the nodes of 2 members, and nothing is evicted for them (plan {next(iter(stage.api.plans))})",
        )


async def test_members_are_brought_back_without_a_nomination() -> None:
    async with staged(*NODES, gang(minimum=1)) as stage:
        await stage.settle()
        stage.add(claiming())
        assert isinstance(verdict(stage, claiming()), Hold)
        stage.filter(claiming(), "n0")
        await stage.settle()
        assert stage.api.woken == ["m0"]
        assert stage.api.nominated == {}


async def test_a_member_that_is_bound_elsewhere_ends_no_plan() -> None:
    pods = [claiming(number) for number in range(2)]
    async with staged(*NODES, gang(minimum=2), *pods) as stage:
        await stage.settle()
        (plan,) = stage.api.plans.values()
        planned = {each["pod"]: each["node"] for each in plan["spec"]["placements"]}
        stage.add(claiming(0, node=planned["m1"], requests=BIG))
        await stage.settle()
        assert stage.phases() == ["Ready"]
        stage.add(claiming(1, node="n2"))
        await stage.settle()
        assert stage.phases() == ["Bound"]


async def test_a_scheduler_that_finds_no_devices_ends_no_plan() -> None:
    """It tries the pod again when devices come, and not because of us."""
    async with staged(*NODES, gang(minimum=1), claiming(), pod("low", node="n0", priority=-1)) as stage:
        await stage.settle()
        for _ in range(3):
            assert stage.filter(claiming(), "n2") == ["n2"]
            assert stage.preempt(claiming(), n0=["uid-default-low"]) == []
            stage.clock += 2.5
            await stage.settle()
        assert stage.phases() == ["Ready"]
        assert stage.api.deleted == []


async def test_a_node_that_is_gone_does_not_matter() -> None:
    async with staged(*NODES, gang(minimum=1), claiming()) as stage:
        await stage.settle()
        stage.delete(*NODES[:2])
        await stage.settle()
        assert stage.phases() == ["Ready"]
        assert stage.filter(claiming(), "n2") == ["n2"]


async def test_members_without_claims_keep_their_planned_nodes() -> None:
    leader, worker = member("leader", requests=BIG), claiming("worker", requests=BIG)
    async with staged(*NODES[:2], gang(minimum=2), leader, worker) as stage:
        await stage.settle()
        offer = verdict(stage, leader)
        assert isinstance(offer, Offer)
        assert verdict(stage, worker) == AnyOf(None)
        other = ({"n0", "n1"} - {offer.node}).pop()
        assert stage.filter(worker, "n0", "n1") == [other], "the room of its sibling is promised"
        assert stage.api.nominated == {"leader": offer.node}


async def test_nobody_is_evicted_for_members_with_claims() -> None:
    low = pod("low", node="n0", requests=BIG, priority=-1)
    asks = claiming(requests=BIG)
    async with staged(node("n0"), gang(minimum=1), asks, low) as stage:
        await stage.settle()
        assert isinstance(verdict(stage, asks), Hold)
        assert stage.preempt(asks, n0=["uid-default-low"]) == []
        await stage.settle()
        assert stage.phases() == ["Blocked"]
        assert await said(stage) == ("Blocked", "not modelled: resource claims (DRA)")
        stage.delete(low)
        await stage.settle()
        assert stage.filter(asks, "n0") == ["n0"], "there is free room now"
        assert stage.api.deleted == []


async def test_the_next_process_knows_who_is_placed_by_the_scheduler() -> None:
    async with staged(*NODES, gang(minimum=1), claiming()) as stage:
        await stage.settle()
        await stage.close()
        other = stage.restart()
        other.add(*NODES, gang(minimum=1), claiming())
        await other.settle()
        assert other.phases() == ["Ready"]
        assert other.filter(claiming(), "n0", "n1") == ["n0", "n1"]
        assert other.reserved == 1
        await other.close()


# ---- in a domain


RACKS = [node(f"{rack}{number}", labels={"rack": rack}) for rack in "ab" for number in range(2)]
NAMES = ["a0", "a1", "b0", "b1", "lost"]


def in_racks(minimum: int = 2) -> Any:
    return gang(minimum=minimum, schedulingConstraints={"topology": [{"key": "rack"}]})


async def test_the_first_member_finds_the_domain_and_the_others_follow() -> None:
    pods = [claiming(number) for number in range(2)]
    async with staged(*RACKS, node("lost"), in_racks(), *pods) as stage:
        await stage.settle()
        assert stage.filter(pods[0], *NAMES) == NAMES[:4]
        assert stage.filter(pods[1], *NAMES) == []
        stage.add(claiming(0, node="b1"))
        await stage.settle()
        assert stage.filter(pods[1], *NAMES) == ["b0", "b1"]


async def test_a_domain_in_which_the_gang_does_not_fit_is_left_out() -> None:
    taken = [pod(f"x{number}", node=f"a{number}", requests=BIG, priority=1000) for number in range(2)]
    pods = [claiming(number, requests=BIG) for number in range(2)]
    async with staged(*RACKS, in_racks(), *pods, *taken) as stage:
        await stage.settle()
        assert stage.filter(pods[0], *NAMES[:4]) == ["b0", "b1"]


async def test_members_without_claims_follow_those_that_find_devices() -> None:
    """The plan does not know in which domain devices are, so it cannot choose the domain for the others either."""
    leader, worker = member("leader"), claiming("worker")
    async with staged(*RACKS, in_racks(), leader, worker) as stage:
        await stage.settle()
        assert stage.filter(leader, *NAMES) == []
        assert stage.filter(worker, *NAMES) == NAMES[:4]
        stage.add(claiming("worker", node="b1"))
        await stage.settle()
        assert stage.filter(leader, *NAMES) == ["b0", "b1"]
        assert stage.api.nominated == {}


async def test_they_keep_their_nodes_where_members_are_bound() -> None:
    small = {"cpu": "1"}
    leader, worker = member("leader", requests=BIG), claiming("worker", requests=small)
    bound = member("bound", node="b1", requests=small)
    async with staged(*RACKS, in_racks(3), leader, worker, bound) as stage:
        await stage.settle()
        assert verdict(stage, leader) == Offer("b0")
        assert stage.filter(worker, *NAMES) == ["b1"], "the room of its sibling is promised"


@pytest.mark.parametrize("which", [0, 1])
async def test_each_member_may_be_the_one_that_is_bound_already(which: int) -> None:
    pods = [claiming(number) for number in range(2)]
    async with staged(*RACKS, in_racks(), pods[1 - which], claiming(which, node="b0")) as stage:
        await stage.settle()
        assert stage.filter(pods[1 - which], *NAMES) == ["b0", "b1"]


# ---- members that never get their devices


async def until(stage: Stage, asked: Pod, *nodes: str) -> list[str]:
    """The nodes that the pod is offered, at last. Nobody else gets any further."""
    for _ in range(100):
        if offered := stage.filter(asked, *nodes):
            return offered
        stage.clock += 5.0
        await stage.settle()
    raise AssertionError(f"{asked.metadata.name} is held for ever")


async def test_members_beyond_min_count_may_have_devices_where_others_have_none() -> None:
    """The claim of m0 does not exist. Two of three members suffice."""
    pods = [claiming(number) for number in range(3)]
    async with staged(*NODES, gang(minimum=2), *pods) as stage:
        await stage.settle()
        for number in (1, 2):
            assert await until(stage, pods[number], "n0", "n1", "n2") == ["n0", "n1", "n2"]
            stage.add(claiming(number, node=f"n{number}"))
            await stage.settle()
        assert stage.filter(pods[0], "n0", "n1", "n2") == ["n0", "n1", "n2"], "the gang runs"
        assert stage.api.deleted == []


async def test_each_member_that_uses_devices_may_find_the_domain() -> None:
    """The claim of m0 does not exist. Two of three members suffice."""
    pods = [claiming(number) for number in range(3)]
    async with staged(*RACKS, in_racks(2), *pods) as stage:
        await stage.settle()
        assert await until(stage, pods[1], *NAMES[:4]) == NAMES[:4]
        assert stage.filter(pods[0], *NAMES) == []
        assert stage.filter(pods[2], *NAMES) == [], "no two of them choose a domain"
        stage.add(claiming(1, node="b1"))
        await stage.settle()
        assert await until(stage, pods[2], *NAMES) == ["b0", "b1"]
        stage.add(claiming(2, node="b0"))
        await stage.settle()
        assert stage.filter(pods[0], *NAMES) == ["b0", "b1"], "the gang runs"


async def test_members_without_claims_never_find_the_domain() -> None:
    leader, worker = member("leader"), claiming("worker")
    async with staged(*RACKS, in_racks(), leader, worker) as stage:
        for _ in range(20):
            stage.clock += 5.0
            await stage.settle()
            assert stage.filter(leader, *NAMES) == []
        assert await until(stage, worker, *NAMES) == NAMES[:4]


async def test_members_beyond_min_count_that_use_no_devices_wait_until_the_gang_runs() -> None:
    pods = [claiming(0), claiming(1), member(2)]
    async with staged(*NODES, gang(minimum=2), *pods) as stage:
        await stage.settle()
        (plan,) = stage.api.plans.values()
        needed = {each["pod"] for each in plan["spec"]["placements"] if not each["beyondMinCount"]}
        assert needed == {"m0", "m1"}
        assert [bool(stage.filter(each, "n0", "n1")) for each in pods] == [True, True, False]
