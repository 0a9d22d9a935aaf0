"""Nominations of members whose gang has no plan: they end, and their end is not taken for a scheduler's sign."""

from __future__ import annotations

import pytest

from controllers.gangs.timekeeping import TICK_SECONDS
from kube.errors import ApiError
from tests.kit.objects import BIG, gang, member, node, pod
from tests.kit.stage import Stage, staged

KEY = ("default", "gang")


async def is_ready(stage: Stage) -> None:
    """The gang's plan has come to Ready."""
    await stage.settle()
    assert stage.phases() == ["Ready"]
    assert stage.api.nominated == {"m0": "n0"}


async def a_second(stage: Stage) -> None:
    stage.clock += 1.5
    await stage.settle()


async def test_when_a_gang_can_no_longer_be_placed_its_nominations_end() -> None:
    """Otherwise the scheduler keeps the room from others as long as the members wait."""
    async with staged(node("n0"), gang(minimum=1), member(0)) as stage:
        await is_ready(stage)
        stage.add(node("n0", unschedulable=True))
        await a_second(stage)
        assert stage.api.nominated == {}


async def test_when_a_member_has_gone_the_nominations_of_the_others_end() -> None:
    async with staged(node("n0", cpu="8"), gang(minimum=2), member(0), member(1)) as stage:
        await stage.settle()
        assert stage.api.nominated == {"m0": "n0", "m1": "n0"}
        stage.delete(member(1))
        await a_second(stage)
        assert stage.api.nominated == {}


async def test_when_the_group_has_gone_the_nominations_of_its_pods_end() -> None:
    async with staged(node("n0"), gang(minimum=1), member(0)) as stage:
        await is_ready(stage)
        stage.delete(gang(minimum=1))
        await a_second(stage)
        assert stage.api.nominated == {}


async def test_a_nomination_that_a_former_process_left_ends() -> None:
    async with staged(node("n0", unschedulable=True), gang(minimum=1), member(0, nominated="n0")) as stage:
        await a_second(stage)
        assert stage.leading.planner._patience() == TICK_SECONDS, "though nothing else happens"
        await a_second(stage)
        assert stage.api.nominated == {}


async def test_a_refused_withdrawal_is_tried_again() -> None:
    async with staged(node("n0", unschedulable=True), gang(minimum=1), member(0, nominated="n0")) as stage:
        stage.api.refuse = lambda method, path: (
            ApiError(403, "Forbidden", "not now") if method == "PATCH" and "/pods/m0/" in path else None
        )
        await a_second(stage)
        assert stage.api.nominated == {"m0": "n0"}
        stage.api.refuse = lambda _method, _path: None
        await a_second(stage)
        assert stage.api.nominated == {}


@pytest.mark.parametrize("labelled", [True, False], ids=["a later member", "a pod without a gang"])
async def test_nominations_of_those_whom_the_scheduler_preempts_for_stay(labelled: bool) -> None:
    """A gang that runs has no plan either: its later members are treated like any other pod."""
    running = [member(0, node="n0")]
    later = member(1, nominated="n1") if labelled else pod("alone", requests=BIG, nominated="n1")
    async with staged(node("n0"), node("n1"), gang(minimum=1), *running, later) as stage:
        await a_second(stage)
        assert stage.api.nominated == {later.metadata.name: "n1"}


async def test_a_nomination_that_we_withdraw_is_no_sign_of_a_scheduler() -> None:
    """A plan withdraws that of a member that it does not place. Nothing is evicted because of it."""
    victim = pod("v0", node="n0", requests=BIG, priority=1)
    async with staged(node("n0"), victim, gang(minimum=1), member(0), member(1, nominated="n0")) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.api.nominated == {}
        assert not stage.leading.evidence.is_presented(KEY)
        stage.api.nominate("m1", "n0")
        stage.api.echo("m1")
        stage.api.nominate("m1", "")
        stage.api.echo("m1")
        assert stage.leading.evidence.is_presented(KEY), "the next time it is the scheduler"
