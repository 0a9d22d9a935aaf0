"""Which members lose our gate first, and when more of them do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from controllers.gangs.lifecycle.effects import Ask, Commit, End
from controllers.gangs.lifecycle.observations import Decided, GatesRemoved, MembersSeen
from controllers.gangs.lifecycle.plan_seen import MemberProof
from controllers.gangs.lifecycle.probing import (
    FIRST,
    ROUND_SECONDS,
    Probing,
    first_round,
    may_speak,
    next_round,
    to_open,
)
from controllers.gangs.scheduler.proofs import Proof
from tests.unit.controllers.gangs.lives import CONFIRMED, MEMBERS, RULES, UNKNOWN, Gang, decided, kinds, spec

A = tuple(f"a{number}" for number in range(10))
B = ("b0", "b1", "b2")
ALL = {*A, *B, "c"}
BEGUN = first_round((A, B), ALL, 5.0)


def test_two_of_each_shape_and_all_without_an_equal_are_tried_first() -> None:
    assert to_open(BEGUN, ALL, ALL) == {"a0", "a1", "b0", "b1", "c"}


def test_members_without_a_gate_count_among_those_that_are_tried() -> None:
    assert to_open(BEGUN, ALL - {"a7", "b2", "c"}, ALL) == {"a0", "b0"}
    assert to_open(BEGUN, ALL - {"a7", "b2", "c"}, ALL - {"a7"}) == {"a0", "a1", "b0"}, "a7 is bound, or gone"
    assert to_open(BEGUN, frozenset(), ALL) == set()


def test_a_round_ends_when_all_of_it_are_tried_or_after_a_second() -> None:
    left = ALL - {"a0", "a1", "b0", "b1", "c"}
    assert next_round(BEGUN, ALL, ALL, 9.0, tried=True) == BEGUN, "their gates are still there"
    assert next_round(BEGUN, left, ALL, 5.0 + ROUND_SECONDS - 0.1, tried=False) == BEGUN
    assert next_round(BEGUN, left, ALL, 5.0 + ROUND_SECONDS, tried=False) == replace(BEGUN, count=4, at=6.0)
    second = next_round(BEGUN, left, ALL, 5.1, tried=True)
    assert to_open(second, left, ALL) == {"a2", "a3", "b2"}
    third = replace(second, count=8)
    assert to_open(third, left, ALL) == {"a2", "a3", "a4", "a5", "a6", "a7", "b2"}


def test_a_gang_that_is_decided_again_goes_on_in_its_round() -> None:
    again = first_round((A,), ALL, 9.0)
    assert again.decided_again(None) == again
    assert again.decided_again(replace(BEGUN, count=8)) == replace(again, count=8, at=5.0)


@pytest.mark.parametrize(
    ("fields", "in_vain", "speaks"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"not_modelled": ["resource claims (DRA)"]}, False, False),
        ({"outcome": "Fits", "victims": 0}, False, False),
    ],
)
def test_when_members_may_speak_for_others(fields: dict[str, Any], in_vain: bool, speaks: bool) -> None:
    assert may_speak(spec(**fields), in_vain=in_vain) is speaks


@given(
    st.sets(st.sampled_from(sorted(ALL))),
    st.sets(st.sampled_from(sorted(ALL))),
    st.integers(0, 4),
)
def test_in_the_end_all_are_tried(gated: set[str], gone: set[str], rounds: int) -> None:
    waiting, probing = ALL - gone, BEGUN
    gated -= gone
    for number in range(rounds):
        gated -= to_open(probing, gated, waiting)
        assert not to_open(probing, gated, waiting)
        for shape in (A, B):
            tried = [uid for uid in shape if uid in waiting and uid not in gated]
            assert len(tried) >= min(probing.count, len(waiting.intersection(shape)))
        probing = next_round(probing, gated, waiting, probing.at, tried=True)
        assert probing.count == 2 ** (number + 1) * FIRST
    assert rounds < 4 or not gated - to_open(probing, gated, waiting)


# ---- in a life


def evicting(**fields: Any) -> Decided:
    return replace(decided(), alike=(tuple(MEMBERS),), **fields)


def test_a_plan_is_made_when_the_scheduler_has_tried_the_members_without_a_gate() -> None:
    gang = Gang()
    gang(MembersSeen(2, 2, 0))
    assert gang(evicting(gated=True, untried=False)) == []
    assert gang.life.probing == first_round((tuple(MEMBERS),), MEMBERS, 0.0)
    assert gang.life.placed
    gang(GatesRemoved(), after=1.0)
    assert gang(evicting(untried=True), after=1.0) == []
    assert kinds(gang(evicting(), after=1.0)) == [Commit]
    assert gang.plan.alike == (tuple(MEMBERS),)
    assert gang.life.probing is not None
    assert gang.life.probing.at == 0.0, "the first round goes on"


def planned(**fields: Any) -> Gang:
    """A gang whose plan is stored. Its member m1 has the gate."""
    gang = Gang()
    gang(MembersSeen(2, 2, 0))
    gang(evicting())
    life = gang.life
    assert life.plan is not None
    assert life.probing is not None
    plan = replace(life.plan, stored=True, writing=None, rehearsed=True, **fields)
    gang.life = replace(life, plan=plan, probing=replace(life.probing, count=1))
    return gang


def test_more_members_are_tried_while_a_node_is_not_confirmed() -> None:
    gang = planned()
    waits: dict[str, Any] = {"gated": True, "gates": frozenset({"m1"}), "unbound": frozenset(MEMBERS)}
    assert kinds(gang.looks(proofs=UNKNOWN, **waits)) == [Ask]
    assert gang.life.probing == Probing((tuple(MEMBERS),), frozenset(), 0.0, 1)
    gang.looks(proofs=UNKNOWN, tried=True, **waits)
    assert gang.life.probing == Probing((tuple(MEMBERS),), frozenset(), 0.0, 2)
    gang.looks(proofs=UNKNOWN, tried=True, after=9.0, **waits)
    assert gang.life.probing == Probing((tuple(MEMBERS),), frozenset(), 0.0, 2), "m1 still has its gate"


@pytest.mark.parametrize(
    ("attempted", "gates", "phase"),
    [(None, frozenset(), None), (None, frozenset({"m1"}), "Confirmed"), (1.0, frozenset(), "Confirmed")],
    ids=["was not tried", "has the gate", "was tried"],
)
def test_a_member_without_the_gate_is_tried_at_least_once(
    attempted: float | None, gates: frozenset[str], phase: str | None
) -> None:
    """A scheduler that has stopped since shows nothing of it."""
    gang = planned()
    shown = MemberProof(
        Proof.CONFIRMED, "the scheduler offered n1 to a pod like it", attempted, by_another=True
    )
    proofs = {"m0": CONFIRMED["m0"], "m1": shown}
    gang.looks(proofs=proofs, gated=bool(gates), gates=gates, unbound=frozenset(MEMBERS))
    assert gang.plan.writing == phase


def test_nobody_is_evicted_while_a_gate_may_stay_for_ever() -> None:
    gang = planned()
    waits: dict[str, Any] = {"gated": True, "gates": frozenset({"m1"}), "unbound": frozenset(MEMBERS)}
    assert gang.looks(proofs=CONFIRMED, shut=True, **waits) == []
    assert gang.life.probing == Probing((tuple(MEMBERS),), frozenset(), 0.0, 1), "nothing is left to confirm"
    gang.looks(proofs=CONFIRMED, **waits)
    assert gang.plan.writing == "Confirmed"


def test_the_others_lose_their_gates_when_the_room_is_free() -> None:
    gang = planned(phase="Evicting", begun=True, evicted=True)
    waits: dict[str, Any] = {"gates": frozenset({"m1"}), "unbound": frozenset(MEMBERS)}
    gang.looks(gated=True, **waits)
    before = gang.plan
    assert gang.looks(gated=True, is_free=True, **waits) == []
    assert (before.room_is_free, gang.plan.room_is_free) == (False, True)
    assert gang.plan.writing is None, "members with a gate would be left behind"
    gang.looks(is_free=True, unbound=frozenset(MEMBERS))
    assert gang.plan.writing == "Ready"


def test_a_gang_that_cannot_be_placed_has_no_probes() -> None:
    gang = Gang()
    gang(MembersSeen(2, 2, 0))
    gang(evicting(gated=True))
    gang(decided(outcome="Unschedulable", victims=0))
    assert gang.life.probing is None
    gang(evicting(gated=True), after=60.0)
    gang(replace(evicting(), paused="evictions are paused: upgrade"))
    assert gang.life.probing is None
    gang(evicting(gated=True), after=60.0)
    gang(MembersSeen(2, 1, 0))
    assert gang.life.probing is None


def test_a_plan_that_nothing_confirms_ends_the_probes() -> None:
    gang = planned(asking=True, asked=0.0)
    gang.rules = replace(RULES, confirmation="Require")
    unknown = {uid: MemberProof(Proof.UNKNOWN, "nothing was seen", None) for uid in MEMBERS}
    (end, *_) = gang.looks(proofs=unknown, after=40.0)
    assert isinstance(end, End)
    assert end.ending.reason == "NotConfirmed"
    assert gang.life.probing is None


def test_after_an_eviction_in_vain_each_member_speaks_for_itself() -> None:
    gang = Gang()
    gang(MembersSeen(2, 2, 0))
    gang.life = replace(gang.life, vain=1)
    assert kinds(gang(evicting())) == [Commit]
    assert gang.plan.alike == ()
