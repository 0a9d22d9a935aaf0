"""Who gets promised room: gangs beside other plans, nominated pods, and pods that do not go."""

from __future__ import annotations

from typing import Any

import pytest

from api.plans import PreemptionPlanSpec
from api.times import parse_rfc3339
from controllers.gangs.lifecycle.settings import REMIND_SECONDS
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account, subtract
from controllers.gangs.promised.reservations import Reservations
from kube.errors import ApiError
from nodes.search.decision import decide_group
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod, tables
from tests.kit.stage import staged

BIG = {"cpu": "4"}
KEY = ("default", "gang")
OTHER = ("default", "other")


def full(number: int, **fields: Any) -> list[Any]:
    """A node, and a pod of priority 1 that fills it."""
    its_pod = pod(f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, **fields})
    return [node(f"n{number}"), its_pod]


def decided(known: Tables, reservations: Reservations, priority: int = 100) -> PreemptionPlanSpec:
    snapshot = subtract(known.snapshot(), reservations, KEY, priority)
    return decide_group(snapshot, *KEY)


def placed(spec: PreemptionPlanSpec) -> tuple[list[str], list[str]]:
    """Nodes of the members, and victims."""
    return [each.node for each in spec.placements], [each.name for each in spec.victims]


def waiting_gang(minimum: int = 1) -> list[Any]:
    members = [pod(f"m{i}", group="gang", requests=BIG, priority=100) for i in range(minimum)]
    return [gang(minimum=minimum), *members]


def other_plan(
    priority: int, *, node: str, victims: tuple[str, ...] = (), leaving: bool = False
) -> Reservations:
    """A plan of another gang, for one pod on the node."""
    reservations = Reservations(ManualClock())
    claim = Claim(node, {"cpu": 4000, "pods": 1})
    reservations.open(OTHER, priority, frozenset(victims))
    reservations.put_claim(OTHER, "uid-other", claim)
    for uid in victims:
        reservations.put_victim(OTHER, uid, claim, leaving=leaving)
    return reservations


# ---- nominations


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        (2000, (["n1"], ["v1"])),
        (100, (["n1"], ["v1"])),
        (99, (["n0"], [])),
    ],
)
def test_a_gang_respects_a_nomination_of_its_own_priority_or_above(
    priority: int, expected: tuple[list[str], list[str]]
) -> None:
    preempted = full(0, deleting=True)
    nominated = pod("high", nominated="n0", requests=BIG, priority=priority)
    known = tables(*preempted, *full(1), nominated, *waiting_gang())
    assert placed(decided(known, Reservations(ManualClock()))) == expected


def test_nominations_of_its_own_members_do_not_stand_in_a_gangs_way() -> None:
    known = tables(node("n0"), *waiting_gang())
    known.upsert_pod(pod("m0", group="gang", nominated="n0", requests=BIG, priority=100))
    assert placed(decided(known, Reservations(ManualClock()))) == (["n0"], [])


def test_a_pulse_takes_no_room() -> None:
    pulse = pod("carrier", nominated="no-such-node", requests=BIG, priority=2000)
    known = tables(node("n0"), pulse, *waiting_gang())
    assert placed(decided(known, Reservations(ManualClock()))) == (["n0"], [])


def test_a_member_that_is_nominated_where_its_plan_claims_room_counts_once() -> None:
    reservations = other_plan(100, node="n0")
    member = pod("o", uid="uid-other", group="other", nominated="n0", requests=BIG, priority=100)
    known = tables(node("n0", cpu="8"), member, *waiting_gang())
    assert placed(decided(known, reservations)) == (["n0"], [])
    assert Account(Roster(known), reservations).room("n0", "cpu", KEY, 100) == 4000


@pytest.mark.parametrize(
    ("cluster", "phase", "left"),
    [([node("n0")], "Ready", {"m0": "n0"}), (full(0), "Evicting", {})],
    ids=["free", "evicting"],
)
async def test_a_plan_withdraws_the_nominations_of_members_that_it_does_not_place(
    cluster: list[Any], phase: str, left: dict[str, str]
) -> None:
    """The scheduler keeps that room for them, and would never put the planned members there."""
    other = pod("m1", group="gang", nominated="n0", requests=BIG, priority=100)
    async with staged(*cluster, *waiting_gang(), other) as stage:
        await stage.settle()
        assert stage.phases() == [phase]
        assert stage.api.nominated == left


async def test_a_nomination_that_could_not_be_withdrawn_is_withdrawn_later() -> None:
    other = pod("m1", group="gang", nominated="n0", requests=BIG, priority=100)
    async with staged(node("n0"), *waiting_gang(), other) as stage:
        stage.leading.writer._sender._attempts = 1
        stage.api.refuse = lambda method, path: (
            ApiError(500, "InternalError", "not now") if method == "PATCH" and "/pods/m1/" in path else None
        )
        await stage.settle()
        assert stage.phases() == ["Ready"]
        assert stage.api.nominated == {"m0": "n0", "m1": "n0"}
        stage.api.refuse = lambda _method, _path: None
        stage.clock += REMIND_SECONDS + 1
        await stage.settle()
        assert stage.api.nominated == {"m0": "n0"}


def test_a_nominated_pod_keeps_its_host_port() -> None:
    port = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    nominated = pod("high", nominated="n0", priority=2000, containers=port)
    member = pod("m0", group="gang", priority=100, containers=port)
    known = tables(node("n0"), nominated, gang(minimum=1), member)
    assert decided(known, Reservations(ManualClock())).outcome == "Unschedulable"


async def test_a_pod_that_filter_let_pass_counts_once_when_it_is_nominated() -> None:
    """The scheduler nominates a pod before a slow binding."""
    async with staged(*full(0), node("n1", cpu="8"), gang(minimum=2), *waiting_gang(2)[1:]) as stage:
        await stage.settle()
        assert stage.reserved == 1
        asks: dict[str, Any] = {"requests": {"cpu": "2"}, "priority": 100}
        claims = stage.controller.known.promises.reservations.claims(KEY)
        assert sorted(claim.node for claim in claims.values()) == ["n1", "n1"]
        stage.add(node("n1", cpu="12"))
        assert stage.filter(pod("first", **asks), "n1") == ["n1"]
        stage.add(pod("first", nominated="n1", **asks))
        assert stage.filter(pod("second", **asks), "n1") == ["n1"]
        stage.add(pod("second", nominated="n1", **asks))
        assert stage.filter(pod("third", **asks), "n1") == []
        stage.clock += 31  # the grants are forgotten; the nominations stand
        assert stage.filter(pod("third", **asks), "n1") == []
        assert stage.filter(pod("high", **{**asks, "priority": 101}), "n1") == ["n1"]


async def test_a_plan_ends_when_a_pod_of_higher_priority_is_nominated_to_its_room() -> None:
    async with staged(node("n0"), *waiting_gang()) as stage:
        await stage.settle()
        assert stage.phases() == ["Ready"]
        stage.add(pod("low", nominated="n0", requests=BIG, priority=99))
        await stage.settle()
        assert stage.phases() == ["Ready"]
        stage.add(pod("high", nominated="n0", requests=BIG, priority=2000))
        await stage.settle()
        assert stage.phases() == ["Aborted"]


# ---- plans of others


@pytest.mark.parametrize("leaving", [False, True])
def test_what_an_equal_plan_frees_is_its_own_also_while_it_terminates(leaving: bool) -> None:
    """It evicts two pods of two CPUs on n0, and claims two CPUs there: what is left over is not to be had yet."""
    halves = [pod(f"h{i}", node="n0", requests={"cpu": "2"}, priority=1, deleting=leaving) for i in range(2)]
    reservations = Reservations(ManualClock())
    uids = [half.metadata.uid for half in halves]
    reservations.open(OTHER, 100, frozenset(uids))
    reservations.put_claim(OTHER, "uid-other", Claim("n0", {"cpu": 2000, "pods": 1}))
    for uid in uids:
        reservations.put_victim(OTHER, uid, Claim("n0", {"cpu": 2000, "pods": 1}), leaving=leaving)
    member = pod("m0", group="gang", requests={"cpu": "2"}, priority=100)
    known = tables(node("n0"), *halves, *full(1), gang(minimum=1), member)
    assert placed(decided(known, reservations)) == (["n1"], ["v1"])
    for half in halves:
        known.delete_pod("default", half.metadata.name)
        reservations.put_victim(OTHER, half.metadata.uid, None)
    assert placed(decided(known, reservations)) == (["n0"], [])


@pytest.mark.parametrize("leaving", [False, True])
def test_a_higher_gang_plans_as_if_a_lower_plan_did_not_exist(leaving: bool) -> None:
    reservations = other_plan(50, node="n0", victims=("uid-default-v0",), leaving=leaving)
    known = tables(*full(0, deleting=leaving), *waiting_gang())
    expected = (["n0"], [] if leaving else ["v0"])
    assert placed(decided(known, reservations)) == expected
    assert placed(decided(known, Reservations(ManualClock()))) == expected
    reservations.open(KEY, 100, frozenset(["uid-default-v0"]))
    reservations.put_claim(KEY, "uid-default-m0", Claim("n0", {"cpu": 4000, "pods": 1}))
    account = Account(Roster(known), reservations)
    assert account.overrun(OTHER) == KEY
    assert account.overrun(KEY) is None


async def test_a_higher_gang_takes_the_room_that_a_lower_plan_frees() -> None:
    low = pod("low", group="other", requests=BIG, priority=50)
    async with staged(*full(0), gang("other", minimum=1, priority=50), low) as stage:
        await stage.settle()
        assert stage.api.deleted == ["v0"]
        stage.add(*full(0, deleting=True), *waiting_gang())
        await stage.settle()
        assert stage.phases() == ["Aborted", "Planned"]
        assert "v0" not in stage.api.deleted[1:], "it goes already"
        stage.delete(*full(0)[1:])
        await stage.settle()
        assert stage.phases() == ["Aborted", "Ready"]
        assert stage.api.nominated == {"m0": "n0"}


async def test_an_equal_gang_waits_for_room_that_another_plan_frees() -> None:
    other = pod("first", group="other", requests=BIG, priority=100)
    async with staged(*full(0), gang("other", minimum=1), other) as stage:
        await stage.settle()
        stage.add(*full(0, deleting=True), *waiting_gang())
        await stage.settle()
        assert stage.phases() == ["Evicting", "Unschedulable"]


# ---- pods that do not go


def test_of_a_group_that_goes_whole_an_overdue_pod_is_no_victim() -> None:
    whole = [
        *(node(f"n{i}") for i in range(2)),
        gang("whole", minimum=2, mode="all", priority=1),
        pod("w0", node="n0", group="whole", requests=BIG, deleting=True),
        pod("w1", node="n1", group="whole", requests=BIG),
    ]
    known = tables(*whole, *waiting_gang())
    assert placed(decided(known, Reservations(ManualClock()))) == (["n0"], [])
    known.tell_time(parse_rfc3339("2026-01-01T01:00:00Z"))
    spec = decided(known, Reservations(ManualClock()))
    assert placed(spec) == (["n1"], ["whole"])
    assert [each.name for each in spec.victims[0].pods] == ["w1"]


async def test_a_gang_leaves_a_victim_that_does_not_go_and_evicts_another_one() -> None:
    async with staged(*full(0), *full(1, priority=2), *waiting_gang()) as stage:
        await stage.settle()
        assert stage.api.deleted == ["v0"]
        stage.add(*full(0, deleting="2026-01-01T00:00:00Z"))
        stage.clock += 59
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        stage.clock += 1
        await stage.settle()
        assert stage.phases()[0] == "Aborted"
        stage.clock += 60
        await stage.settle()
        assert stage.api.deleted == ["v0", "v1"]
        stage.delete(*full(1)[1:])
        await stage.settle()
        assert stage.phases() == ["Aborted", "Unschedulable", "Ready"]


async def test_a_preempting_pod_may_name_an_overdue_pod() -> None:
    """Evicting it once more harms nobody, and without groups the scheduler gets back what it sent."""
    async with staged(*full(0, deleting="2026-01-01T00:00:00Z")) as stage:
        stage.clock += 60
        await stage.settle()
        assert stage.preempt(pod("high", requests=BIG, priority=10), n0=["uid-default-v0"]) == ["n0"]
