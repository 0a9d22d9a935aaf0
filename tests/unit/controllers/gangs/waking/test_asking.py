"""Members are brought back in the way that works for each of them, and the gang learns it once all of them are."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest

from api.core import Pod
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.waiting import PULSE_NODE, WaitingPods
from controllers.gangs.waking.asking import AskedMember, Asking, Parking
from controllers.gangs.waking.parked import ParkedPods, Why
from kube.errors import ApiError
from tests.kit.objects import pod
from tests.kit.stage import Stage, staged

GANG: GroupKey = ("default", "gang")
OTHER: GroupKey = ("default", "other")
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
PORTS = "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."


def waiting(name: str, priority: int = 0, *, nominated: str = "", message: str = "", node: str = "") -> Pod:
    said = [{**UNSCHEDULABLE, "message": message}] if message else None
    made = pod(name, priority=priority, conditions=said, node=node)
    return msgspec.structs.replace(
        made, status=msgspec.structs.replace(made.status, nominated_node_name=nominated)
    )


def member(name: str, priority: int = 0, parking: Parking = Parking.PARKED) -> AskedMember:
    return AskedMember(f"uid-default-{name}", "default", name, "default-scheduler", priority, parking)


def rank(number: int = 0) -> tuple[int, str, tuple[str, str]]:
    return (number, "", GANG)


@dataclass
class Desk:
    """Asking on a stage whose API server answers at once, or as a test says."""

    stage: Stage
    asking: Asking
    parked: ParkedPods
    waiting: WaitingPods
    asked: list[GroupKey] = field(default_factory=list)

    async def steps(self, seconds: int = 1) -> None:
        for _ in range(seconds):
            self.stage.clock += 1
            await self.asking.step()

    @property
    def pulsed(self) -> list[str]:
        return self.stage.api.pulsed

    @property
    def woken(self) -> list[str]:
        return self.stage.api.woken


@asynccontextmanager
async def desk(*pods: Pod) -> AsyncIterator[Desk]:
    async with staged() as stage:
        leading, clock = stage.leading, stage.api.clock
        projection, asked = WaitingPods(clock), list[GroupKey]()
        parked = ParkedPods(projection)
        asking = Asking(leading.pods, leading.waking.waker, projection, parked, clock, asked.append)

        def changed(uid: str, each: Pod | None) -> None:
            projection.pod_changed(uid, each)
            if each is None or each.spec.node_name:
                asking.forget(uid)

        stage.controller.known.mirror.watched.on_pod(changed)
        leading.writer._sender._attempts = 1
        stage.add(*pods)
        yield Desk(stage, asking, parked, projection, asked)


async def test_held_members_get_a_condition_and_parked_ones_a_pulse() -> None:
    async with desk(waiting("held"), waiting("parked")) as at:
        at.asking.ask(GANG, rank(), [member("held", parking=Parking.HELD), member("parked")])
        await at.steps()
        assert (at.woken, at.pulsed, at.asked) == (["held"], ["parked"], [GANG])
        assert at.stage.api.nominated == {}
        await at.steps(3)
        assert (at.woken, at.pulsed, at.asked) == (["held"], ["parked"], [GANG])


async def test_one_pulse_serves_all_gangs_and_the_highest_priority_carries_it() -> None:
    async with desk(waiting("a", 1), waiting("b", 5), waiting("c", 3), waiting("higher", 9)) as at:
        at.asking.ask(GANG, rank(0), [member("a", 1), member("c", 3)])
        at.asking.ask(OTHER, rank(1), [member("b", 5)])
        await at.steps()
        assert at.pulsed == ["b"]
        assert sorted(at.asked) == [GANG, OTHER]


async def test_a_nominated_pod_is_left_alone_and_another_one_carries_the_pulse() -> None:
    async with desk(
        waiting("m", 5, nominated="n0"), waiting("low", 4), waiting("x", 9), waiting("y", 7)
    ) as at:
        at.asking.ask(GANG, rank(), [member("m", 5)])
        await at.steps()
        assert at.pulsed == ["y"]
        assert at.asked == [GANG]


async def test_members_that_wait_for_host_ports_are_pulsed_one_by_one() -> None:
    ports = [waiting(f"m{number}", 5, message=PORTS) for number in range(3)]
    async with desk(*ports, waiting("low", 1), waiting("high", 9)) as at:
        at.asking.ask(GANG, rank(), [member(f"m{number}", 5) for number in range(3)] + [member("low", 1)])
        await at.steps()
        assert len(at.pulsed) == 1
        await at.steps()
        assert at.asked == []
        at.asking.presented(GANG, "uid-default-m2")
        await at.steps()
        assert sorted(at.pulsed) == ["m0", "m1"], "m2 has come by itself, low came with the first one"
        assert at.asked == [GANG]


async def test_a_gang_that_nobody_schedules_is_asked_less_and_less() -> None:
    async with desk(waiting("m")) as at:
        times = list[float]()
        for _ in range(10):
            at.asking.ask(GANG, rank(), [member("m")])
            while len(at.asked) == len(times):
                await at.steps()
            times.append(at.stage.clock)
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert gaps[:3] == [5.0, 10.0, 20.0]
        assert max(gaps) == gaps[-1] == 300.0
        at.asking.presented(GANG, "uid-default-m")
        at.asking.ask(GANG, rank(), [member("m")])
        await at.steps()
        assert len(at.asked) == len(times) + 1, "once presented, it need not wait"


async def test_who_is_asked_twice_at_once_is_asked_once() -> None:
    async with desk(waiting("a"), waiting("b", message=PORTS), waiting("c", message=PORTS)) as at:
        members = [member("a"), member("b"), member("c")]
        for _ in range(6):
            if not at.asked:
                at.asking.ask(GANG, rank(), members)
            await at.steps()
        assert sorted(at.pulsed) == ["b", "c"], "a comes with either of them"
        assert at.asked == [GANG]


@pytest.mark.parametrize("how", ["bound", "gone", "not asked about"])
async def test_nobody_waits_for_a_member_that_need_not_come(how: str) -> None:
    async with desk(waiting("m"), waiting("h")) as at:
        at.asking.ask(GANG, rank(), [member("m"), member("h", parking=Parking.HELD)])
        if how == "bound":
            at.stage.add(waiting("m", node="n0"))
        elif how == "gone":
            at.stage.delete(waiting("m"))
        else:
            at.asking.ask(GANG, rank(), [member("h", parking=Parking.HELD)])
        await at.steps()
        assert (at.woken, at.pulsed, at.asked) == (["h"], [], [GANG])


async def test_a_cancelled_question_has_no_answer() -> None:
    async with desk(waiting("m"), waiting("h")) as at:
        at.asking.ask(GANG, rank(), [member("m"), member("h", parking=Parking.HELD)])
        at.asking.forget_group(GANG)
        await at.steps(2)
        assert (at.woken, at.pulsed, at.asked) == ([], [], [])
        assert at.asking._group == {}


async def test_a_condition_that_could_not_be_written_is_written_later() -> None:
    async with desk(waiting("h")) as at:
        at.stage.api.refuse = lambda _method, _path: ApiError(503, "Away", "x", 0)
        at.asking.ask(GANG, rank(), [member("h", parking=Parking.HELD)])
        await at.steps()
        assert at.asked == []
        assert not at.stage.leading.waking.waker.behind, "it is not the waker's to try again"
        at.stage.api.refuse = lambda _method, _path: None
        await at.steps()
        assert (at.woken, at.asked) == (["h"], [GANG])


@pytest.mark.parametrize("status", [404, 409, 403])
async def test_a_pulse_that_was_not_written_is_tried_on_another_pod(status: int) -> None:
    async with desk(waiting("m", 5), waiting("x", 6)) as at:
        at.stage.api.refuse = lambda _method, path: (
            ApiError(status, "No", "x") if path.endswith("/m/status") else None
        )
        at.asking.ask(GANG, rank(), [member("m", 5)])
        await at.steps()
        assert (at.pulsed, at.asked) == ([], [])
        await at.steps()
        assert (at.pulsed, at.asked) == (["x"], [GANG])


async def test_a_nomination_whose_answer_was_lost_is_withdrawn() -> None:
    """The write is tried again, and meets its own conflict."""
    async with desk(waiting("m")) as at:

        def refuse(_method: str, _path: str) -> ApiError | None:
            if at.stage.api.nominated:
                return None
            at.stage.api.nominate("m", PULSE_NODE)
            return ApiError(409, "Conflict", "x")

        at.stage.api.refuse = refuse
        at.asking.ask(GANG, rank(), [member("m")])
        await at.steps()
        assert (at.pulsed, at.stage.api.nominated, at.asked) == (["m"], {}, [GANG])


async def test_a_nomination_that_somebody_else_has_replaced_stays() -> None:
    async with desk(waiting("m")) as at:

        def refuse(_method: str, _path: str) -> ApiError | None:
            if at.stage.api.nominated:
                at.stage.api.nominate("m", "n0")
            return None

        at.stage.api.refuse = refuse
        at.asking.ask(GANG, rank(), [member("m")])
        await at.steps()
        assert (at.stage.api.nominated, at.asked) == ({"m": "n0"}, [GANG]), "the scheduler saw ours go"


async def test_what_a_former_process_left_is_withdrawn_at_once_and_serves_as_a_pulse() -> None:
    async with desk(waiting("left", 7, nominated=PULSE_NODE), waiting("m", 5)) as at:
        at.stage.api.nominate("left", PULSE_NODE)
        at.asking.begin()
        at.asking.ask(GANG, rank(), [member("m", 5)])
        await at.steps()
        assert (at.pulsed, at.asked) == (["left"], [GANG])


async def test_what_a_failed_pulse_left_is_withdrawn_after_a_few_seconds() -> None:
    async with desk(waiting("m")) as at:
        at.asking.begin()
        at.stage.api.refuse = lambda _method, _path: (
            ApiError(503, "Away", "x", 0) if at.stage.api.nominated else None
        )
        at.asking.ask(GANG, rank(), [member("m")])
        await at.steps()
        assert at.stage.api.nominated == {"m": PULSE_NODE}
        at.stage.add(waiting("m", nominated=PULSE_NODE))
        at.stage.api.refuse = lambda _method, _path: None
        await at.steps(4)
        assert at.pulsed == []
        await at.steps(2)
        assert (at.pulsed, at.asked, at.stage.api.nominated) == (["m"], [GANG], {})


async def test_a_question_that_nobody_can_put_is_given_up() -> None:
    """The pod has a nomination of the scheduler's, and there is no other."""
    async with desk(waiting("m", nominated="n0")) as at:
        at.asking.ask(GANG, rank(), [member("m")])
        await at.steps(30)
        assert at.asked == []
        await at.steps(2)
        assert (at.asked, at.pulsed) == ([GANG], [])


async def test_pods_refused_in_preempt_come_back_once_the_reason_has_passed() -> None:
    refused, unanswered = waiting("refused", 3), waiting("unanswered", 8)
    async with desk(refused, unanswered, waiting("high", 9)) as at:
        at.parked.note(refused, Why.RESERVED)
        at.parked.note(unanswered, Why.NOT_READY)
        await at.steps(3)
        assert at.pulsed == []
        at.asking.reason_passed(Why.RESERVED)
        await at.steps(2)
        assert at.pulsed == ["refused"]
        at.asking.reason_passed(Why.NOT_READY)
        await at.steps(2)
        assert at.pulsed == ["refused", "unanswered"]
        assert at.asked == []


async def test_who_called_while_no_process_answered_comes_back_when_a_term_begins() -> None:
    async with desk(waiting("m", 3, message="0/1 nodes are available"), waiting("new", 9)) as at:
        at.asking.begin()
        await at.steps(3)
        assert at.pulsed == ["m"]


async def test_a_pod_comes_back_although_what_the_scheduler_wrote_of_its_attempt_comes_late() -> None:
    async with desk(waiting("m", 5)) as at:
        pod = at.waiting.find("uid-default-m")
        assert pod is not None
        at.asking.bring_back(pod)
        at.asking.presented(GANG, pod.uid)
        await at.steps(2)
        assert at.pulsed == ["m"]
        await at.steps(5)
        assert at.pulsed == ["m"]


async def test_nobody_is_pulsed_for_a_pod_that_was_to_come_back_and_is_bound() -> None:
    async with desk(waiting("m", 5), waiting("other", 9)) as at:
        pod = at.waiting.find("uid-default-m")
        assert pod is not None
        at.asking.bring_back(pod)
        at.stage.add(waiting("m", 5, node="n0"))
        await at.steps(5)
        assert at.pulsed == []
