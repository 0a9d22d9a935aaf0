"""Which pods wait, who can carry a pulse, and whom a message says to wait for host ports."""

from __future__ import annotations

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from api.core import Pod
from controllers.gangs.mirror.waiting import PULSE_NODE, WaitingPods, waits_for_ports
from controllers.gangs.waking.parked import ParkedPods, Why, crowd
from tests.kit.clock import ManualClock
from tests.kit.objects import pod

PORTS = "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
ROOM = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't have free ports for the requested pod ports."


def waiting(name: str, *, nominated: str = "", message: str = "", **fields: object) -> Pod:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    made = pod(name, conditions=[said] if message else None, **fields)  # type: ignore[arg-type]
    return msgspec.structs.replace(
        made, status=msgspec.structs.replace(made.status, nominated_node_name=nominated)
    )


def held(*pods: Pod, clock: ManualClock | None = None) -> WaitingPods:
    held = WaitingPods(clock or ManualClock())
    for each in pods:
        held.pod_changed(each.metadata.uid, each)
    return held


STATES = st.builds(
    waiting,
    st.sampled_from([f"p{number}" for number in range(5)]),
    nominated=st.sampled_from(["", "", "n0", PULSE_NODE]),
    priority=st.integers(0, 3),
    node=st.sampled_from(["", "", "n0"]),
    deleting=st.sampled_from([False, False, True]),
    gated=st.booleans(),
    schedulerName=st.sampled_from(["a", "b"]),
)


@given(
    st.lists(st.tuples(STATES, st.booleans()), max_size=20),
    st.integers(-1, 4),
    st.frozensets(st.sampled_from([f"uid-default-p{number}" for number in range(5)]), max_size=2),
)
def test_the_carrier_is_the_one_of_the_lowest_sufficient_priority(
    states: list[tuple[Pod, bool]], at_least: int, but: frozenset[str]
) -> None:
    projection, pods = WaitingPods(ManualClock()), dict[str, Pod]()
    for state, stays in states:
        uid = state.metadata.uid
        projection.pod_changed(uid, state if stays else None)
        pods.pop(uid, None)
        if stays and not state.spec.node_name and not state.metadata.deletion_timestamp:
            pods[uid] = state
    assert len(projection) == len(pods)
    for scheduler in ("a", "b"):
        fits = [
            (each.spec.priority or 0, bool(each.spec.scheduling_gates))
            for uid, each in pods.items()
            if each.spec.scheduler_name == scheduler
            and (each.spec.priority or 0) >= at_least
            and not each.status.nominated_node_name
            and uid not in but
        ]
        carrier = projection.carrier(scheduler, at_least, but)
        found = (carrier.priority, carrier.is_second_choice) if carrier is not None else None
        assert found == min(fits, default=None)
    left = {uid for uid, each in pods.items() if each.status.nominated_node_name == PULSE_NODE}
    seen = projection.left_behind(float("inf"))
    assert (seen.uid in left) if seen is not None else not left
    for uid in [*pods]:
        projection.pod_changed(uid, None)
    assert len(projection) == len(projection._carriers) == len(projection._pulsed) == 0


def test_a_nomination_of_a_pulse_is_left_behind_once_it_has_stood_for_a_while() -> None:
    clock = ManualClock()
    projection = held(waiting("p", nominated=PULSE_NODE), clock=clock)
    began = clock.monotonic()
    assert projection.left_behind(began - 1) is None
    clock.advance(9)
    projection.pod_changed("uid-default-p", waiting("p", nominated=PULSE_NODE, message="again"))
    left = projection.left_behind(began)
    assert left is not None
    assert left.name == "p"
    projection.pod_changed("uid-default-p", waiting("p", nominated="n0"))
    assert projection.left_behind(clock.monotonic()) is None


@pytest.mark.parametrize(
    ("message", "alone"),
    [
        (PORTS, True),
        (PORTS + " preemption: 0/2 nodes are available: 2 Insufficient pods of lower priority.", True),
        (ROOM, False),
        ("0/2 nodes are available: 2 Insufficient cpu.", False),
        ("", False),
    ],
)
def test_who_waits_for_host_ports_alone(message: str, alone: bool) -> None:
    assert waits_for_ports(message) is alone


def test_one_wish_brings_back_all_pods_whose_reason_has_passed() -> None:
    low, high, ports = (
        waiting("low", priority=1),
        waiting("high", priority=5),
        waiting("ports", priority=3, message=PORTS),
    )
    other = waiting("other", priority=9)
    parked = ParkedPods(held(low, high, ports, other))
    for each in (low, high, ports):
        parked.note(each, Why.RESERVED)
    parked.note(other, Why.NOT_READY)
    wishes = parked.take(Why.RESERVED)
    assert [(wish.uid, wish.alone, wish.priority) for wish in wishes] == [
        ("uid-default-ports", True, 3),
        ("", False, 5),
    ]
    assert parked.take(Why.RESERVED) == []
    assert [wish.priority for wish in parked.take(Why.NOT_READY)] == [9]
    assert len(parked) == 0


def test_pods_that_are_bound_or_gone_are_not_brought_back() -> None:
    bound, gone = waiting("bound"), waiting("gone")
    projection = held(bound, gone)
    parked = ParkedPods(projection)
    parked.note(bound, Why.RESERVED)
    parked.note(gone, Why.RESERVED)
    parked.forget("uid-default-gone")
    projection.pod_changed("uid-default-bound", waiting("bound", node="n0"))
    assert parked.take(Why.RESERVED) == []


def test_of_more_pods_than_are_remembered_the_highest_priority_counts() -> None:
    pods = [waiting(f"p{number}", priority=number % 7) for number in range(20)]
    parked = ParkedPods(held(*pods), most=3)
    for each in pods:
        parked.note(each, Why.RESERVED)
    assert len(parked) == 3
    assert parked.take(Why.RESERVED) == [crowd("default-scheduler", 6)]


def test_members_come_back_when_their_gang_lets_go() -> None:
    pods = [waiting(f"m{number}", priority=number) for number in range(4)]
    ports = waiting("ports", priority=9, message=PORTS)
    parked, gang, other = ParkedPods(held(*pods, ports)), ("d", "gang"), ("d", "other")
    for each in (*pods[:3], ports):
        parked.note_member(each, gang)
    parked.note_member(pods[3], other)
    parked.forget("uid-default-m2")
    assert set(parked.gangs) == {gang, other}
    assert [(wish.uid, wish.priority) for wish in parked.take_members(gang)] == [
        ("uid-default-ports", 9),
        ("", 1),
    ]
    assert parked.take_members(gang) == []
    assert set(parked.gangs) == {other}
    parked.forget("uid-default-m3")
    assert not parked.gangs


def test_the_last_reason_counts_for_a_member() -> None:
    pod = waiting("m")
    parked, gang = ParkedPods(held(pod)), ("d", "gang")
    parked.note(pod, Why.RESERVED)
    parked.note_member(pod, gang)
    assert parked.take(Why.RESERVED) == []
    parked.note(pod, Why.RESERVED)
    assert not parked.gangs
    parked.note_member(pod, gang)
    assert parked.take_all() == []
    assert not parked.gangs


def test_at_the_beginning_of_a_term_whoever_was_turned_down_comes_back() -> None:
    projection = held(
        waiting("new", priority=9),
        waiting("a", priority=2, message="0/1 nodes are available"),
        waiting("b", priority=4, message="0/1 nodes are available", schedulerName="mine"),
        waiting("c", priority=1, message="0/1 nodes are available"),
    )
    assert ParkedPods(projection).take_all() == [crowd("default-scheduler", 2), crowd("mine", 4)]


def test_a_pod_that_may_not_be_written_to_carries_no_pulse_and_wants_none() -> None:
    clock, left_alone = ManualClock(), {"team"}
    projection = WaitingPods(clock, lambda namespace: namespace not in left_alone)
    for each in (
        waiting("a", namespace="team", priority=5, message="no room"),
        waiting("b", namespace="team", priority=5, nominated=PULSE_NODE),
        waiting("c", priority=7),
        waiting("d", priority=1, message="no room"),
    ):
        projection.pod_changed(each.metadata.uid, each)
    clock.advance(60)
    found = projection.carrier("default-scheduler", 2)
    assert found is not None
    assert found.name == "c"
    assert projection.turned_down() == {"default-scheduler": 1}
    assert projection.left_behind(clock.monotonic()) is None
    left_alone.clear()
    found = projection.carrier("default-scheduler", 2)
    assert found is not None
    assert found.name == "a"
    assert projection.turned_down() == {"default-scheduler": 5}
    assert projection.left_behind(clock.monotonic()) is not None
