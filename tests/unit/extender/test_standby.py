"""What a process answers that does not lead, what it remembers of that, and what a new term hears of."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from controllers.gangs.answering import Answering, Hold, Offer
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.scheduler.rejections import RESERVED
from controllers.gangs.waking.parked import TurnedDown, Why
from extender.verbs import Verbs
from runtime.terms.term import Term
from tests.kit.objects import gang, node, pod
from tests.kit.stage import Stage, staged

BIG = {"cpu": "4"}
GANG = ("default", "gang")


def member(name: str = "m0", **fields: Any) -> Pod:
    return pod(name, group=fields.pop("group", "gang"), requests=BIG, **fields)


def turned_down(reason: str) -> list[dict[str, str]]:
    """As the scheduler says it."""
    return [{"type": "PodScheduled", "status": "False", "message": f"0/1 nodes are available: 1 {reason}."}]


async def followed(stage: Stage) -> Stage:
    """The process has led, and does so no longer."""
    await stage.settle()
    await stage.close()
    return stage


def promise(stage: Stage, priority: int = 50) -> None:
    """A plan claims 1 CPU of n0, and a victim on n1 is to leave for it."""
    reservations = stage.controller.known.promises.reservations
    reservations.open(GANG, priority, frozenset({"uid-default-leaves"}))
    reservations.put_claim(GANG, "uid-default-single", Claim("n0", {"cpu": 1000, "pods": 1}))


def parked(stage: Stage) -> TurnedDown:
    """Whom the process would tell the leader of."""
    return stage.controller.known.waiters.parked.hand_over(Why.NOT_READY)


# ---- filter


async def test_pods_of_gangs_are_held_and_others_are_not() -> None:
    async with staged(node("n0"), gang(minimum=2), gang("basic", minimum=0), member()) as stage:
        await followed(stage)
        assert stage.filter(member(), "n0") == []
        assert stage.filter(member("m1", group="unknown"), "n0") == []
        assert stage.filter(member("b", group="basic"), "n0") == ["n0"]
        assert stage.filter(pod("p"), "n0") == ["n0"]


async def test_pods_of_basic_groups_are_held_too_while_the_mirror_cannot_be_trusted() -> None:
    async with staged(node("n0"), gang("basic", minimum=0)) as stage:
        await followed(stage)
        stage.silence(1000)
        assert stage.filter(member("b", group="basic"), "n0") == []


async def test_a_single_pod_with_a_stored_plan_is_held() -> None:
    async with staged(node("n0"), node("n1")) as stage:
        await followed(stage)
        promise(stage)
        assert stage.filter(pod("single", priority=50), "n0", "n1") == []


async def test_ordinary_pods_are_kept_out_of_every_node_with_promised_room_and_promised_nothing() -> None:
    """There is room for two pods beside the claim. But others may have let pods onto the node."""
    async with staged(node("n0"), node("n1")) as stage:
        await followed(stage)
        promise(stage)
        stage.add(pod("late", priority=50))
        assert stage.filter(pod("late", priority=50), "n0", "n1") == ["n1"]
        assert stage.filter(pod("urgent", priority=51), "n0", "n1") == ["n0", "n1"]
        assert list(stage.controller.known.promises.reservations.grants.values()) == []
        assert parked(stage).crowds == {"default-scheduler": 50}


# ---- preempt


async def test_preemptors_get_back_what_touches_no_group_and_no_promised_room() -> None:
    bound = {
        "free": pod("free", node="n2", priority=1),
        "leaves": pod("leaves", node="n1", priority=1),
        "whole": pod("whole", group="whole", node="n3", priority=1),
        "part": pod("part", group="gang", node="n4", priority=1),
        "equal": pod("equal", node="n5", priority=100),
        "reserved": pod("reserved", node="n0", priority=1),
        "going": pod("going", node="n6", priority=100, deleting=True),
        "static": pod("static", node="n8", priority=1, mirror=True),
        "job": pod("job", node="n9", priority=1, owner=("kubeflow.org/v1", "TFJob", "train")),
    }
    nodes = [node(f"n{number}") for number in range(10)]
    async with staged(*nodes, gang(), gang("whole", mode="all", priority=1), *bound.values()) as stage:
        await followed(stage)
        promise(stage)
        offered = {each.spec.node_name: [each.metadata.uid] for each in bound.values()}
        assert stage.preempt(pod("p", priority=100), **offered, n7=["unknown"]) == ["n2", "n6"]
        assert stage.preempt(member(), **offered) == []
        assert stage.preempt(pod("single", priority=100), **offered) == []


async def test_nobody_preempts_while_the_mirror_cannot_be_trusted() -> None:
    async with staged(node("n0"), pod("v", node="n0", priority=1)) as stage:
        await followed(stage)
        assert stage.preempt(pod("p", priority=100), n0=["uid-default-v"]) == ["n0"]
        stage.silence(1000)
        assert stage.preempt(pod("p", priority=100), n0=["uid-default-v"]) == []


async def test_who_does_not_know_what_others_did_evicts_nobody_and_holds_pods_of_groups() -> None:
    """Its mirror looks new, but a leader may have made plans that it does not show."""
    async with staged(node("n0"), gang("basic", minimum=0), pod("v", node="n0", priority=1)) as stage:
        await followed(stage)
        stage.verbs = Verbs(Answering(stage.controller, lambda: False))
        assert stage.preempt(pod("p", priority=100), n0=["uid-default-v"]) == []
        assert stage.filter(member("b", group="basic"), "n0") == []
        assert stage.filter(pod("p"), "n0") == ["n0"]


async def test_a_process_that_stood_still_gives_away_nothing_when_it_goes_on() -> None:
    """Its term is over, and nothing in it has noticed yet."""
    async with staged(node("n0"), gang(minimum=1), member()) as stage:
        await stage.settle()
        face = Answering(stage.controller, lambda: True)
        assert face.verdict(member()) == Offer("n0")
        stage.leading._term.end()
        assert isinstance(face.verdict(member()), Hold)
        assert not face.leads
        assert stage.filter(pod("late"), "n0") == []


# ---- terms


async def test_a_new_term_hears_of_pods_that_were_turned_down_before_it() -> None:
    held = turned_down("reprieve: wait")
    kept_out = turned_down(RESERVED)
    async with staged(node("n0"), gang(minimum=2)) as stage:
        await followed(stage)
        stage.add(member("m0", conditions=held), pod("late", requests=BIG, conditions=kept_out))
        stage.add(member("bound", node="n0", conditions=held), pod("other"))
        leading = stage.controller.begin(Term(2, stage.api.clock))
        assert leading.waking.waker.is_held("uid-default-m0")
        assert leading.waking.waker.is_kept_out("uid-default-late")
        assert len(leading.waking.kept_out) == 1
        assert not leading.waking.waker.is_held("uid-default-bound")
        assert len(stage.controller.known.waiters.pending) == 2


async def test_what_a_term_was_about_to_store_is_forgotten_with_it() -> None:
    """Otherwise a process that follows would keep room for a plan that nobody knows."""
    async with staged(node("n0"), gang(minimum=1), member()) as stage:
        await stage.settle()
        (stored,) = stage.controller.known.promises.claims.stored
        assert stored.active is not None
        stage.controller.known.promises.claims.withdraw(stored.key, stored.active)
        assert not stage.reserved
        await stage.close()
        assert stage.reserved, "the watch has not shown that the plan has ended"


async def test_the_scheduler_connects_anew_to_a_process_that_has_stepped_down() -> None:
    called = []
    async with staged() as stage:
        await stage.settle()
        stage.controller.on_step_down(lambda: called.append("now"))
        await stage.close()
        assert called == ["now"]


# ---- whom to bring back


async def test_the_leader_brings_back_whom_another_process_has_turned_down() -> None:
    """It is a pulse: some pod gets a nomination, and loses it."""
    async with staged(pod("p", priority=5), pod("q", priority=1)) as stage:
        await stage.settle()
        before = len(stage.api.pulsed)
        stage.leading.waking.asking.told(TurnedDown({"default-scheduler": 5}, []))
        stage.clock += 60
        await stage.settle()
        assert stage.api.pulsed[before:].count("p") >= 1


async def test_who_was_turned_down_is_handed_over_once_and_put_back() -> None:
    async with staged(node("n0"), gang(minimum=1), member(priority=7)) as stage:
        await followed(stage)
        parked(stage)
        stage.preempt(member(priority=7))
        told = parked(stage)
        assert told == TurnedDown({"default-scheduler": 7}, [])
        assert parked(stage) == TurnedDown({}, [])
        stage.controller.known.waiters.parked.put_back(told)
        assert parked(stage) == told


@pytest.mark.parametrize("leads", [True, False])
async def test_a_pod_that_was_turned_down_is_remembered_only_by_who_does_not_lead(leads: bool) -> None:
    async with staged(node("n0"), gang(minimum=2), member()) as stage:
        await stage.settle()
        if not leads:
            await stage.close()
        stage.filter(member(), "n0")
        assert bool(parked(stage).crowds) is not leads
