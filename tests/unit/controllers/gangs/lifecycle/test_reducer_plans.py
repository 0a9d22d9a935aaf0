"""The rules of a gang's life, one by one: what a plan goes through, from the scheduler's word to its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from controllers.gangs.lifecycle.effects import (
    Advance,
    Ask,
    CannotSchedule,
    Effect,
    End,
    Evict,
    Nominate,
    Rehearse,
    Remind,
    SayPreempting,
)
from controllers.gangs.lifecycle.life import ActivePhase, Ending, Life
from controllers.gangs.lifecycle.observations import (
    Asked,
    Compared,
    DeletionRefused,
    EvictorStopped,
    GroupGone,
    MembersSeen,
    NotOffered,
    Offered,
    PreemptCalled,
    Rehearsed,
    Stored,
)
from controllers.gangs.lifecycle.plan_seen import MemberProof
from controllers.gangs.lifecycle.settings import ASK_AGAIN_SECONDS, Confirmation
from controllers.gangs.scheduler.attempts import Backoffs
from controllers.gangs.scheduler.proofs import Doubt, Proof
from nodes.groups.keys import NATIVE, foreign_name
from tests.unit.controllers.gangs.lives import (
    CONFIRMED,
    MEMBERS,
    NOT_NOW,
    RULES,
    UNKNOWN,
    Gang,
    decided,
    in_phase,
    kinds,
)

# ---- before the first eviction


def test_evictions_are_rehearsed_once() -> None:
    gang = in_phase("Planned", rehearsed=False)
    assert kinds(gang.looks()) == [Rehearse]
    assert gang.looks() == []
    gang(Rehearsed(None))
    assert kinds(gang.looks()) == [Rehearse], "nobody knows"
    gang(Rehearsed({}))
    assert kinds(gang.looks()) == [Advance]


def test_evictions_are_rehearsed_while_the_scheduler_is_asked() -> None:
    gang = in_phase("Planned", rehearsed=False)
    assert kinds(gang.looks(proofs=UNKNOWN)) == [Rehearse, Ask]


def test_a_rehearsal_that_is_refused_ends_the_plan() -> None:
    gang = in_phase("Planned", rehearsed=False)
    gang.looks()
    gang(Rehearsed({"v0": "a webhook says no"}))
    assert gang.ending() == "EvictionRefused"


def test_without_a_trusted_mirror_nobody_goes() -> None:
    assert in_phase("Planned").looks(trusted=False) == []
    assert in_phase("Evicting").looks(trusted=False) == []


def test_phases_follow_one_another() -> None:
    gang = in_phase("Planned")
    said: list[Effect] = []
    for phase in ("Confirmed", "Evicting"):
        (advance,) = gang.looks()
        assert isinstance(advance, Advance)
        assert (advance.phase, gang.plan.writing) == (phase, phase)
        said = gang(Stored(phase))
        assert (gang.life.phase, gang.plan.phase, gang.plan.writing) == (phase, phase, None)
    assert kinds(said) == [SayPreempting]


@pytest.mark.parametrize(
    ("confirmation", "presented", "goes_on"),
    [("Prefer", True, "Confirmed"), ("Require", True, "NotConfirmed"), ("Prefer", False, "NotAttempted")],
)
def test_the_scheduler_is_asked_and_waited_for(
    confirmation: Confirmation, presented: bool, goes_on: str
) -> None:
    gang = in_phase("Planned")
    gang.rules = replace(RULES, confirmation=confirmation)
    (ask,) = gang.looks(proofs=UNKNOWN, presented=presented)
    assert isinstance(ask, Ask)
    assert ask.members == ("m1",)
    assert gang.looks(proofs=UNKNOWN, presented=presented, after=100.0) == [], "it is not asked yet"
    gang(Asked())
    assert gang.looks(proofs=UNKNOWN, presented=presented, after=4.9) == []
    effects = gang.looks(proofs=UNKNOWN, presented=presented, after=0.2)
    if goes_on == "Confirmed":
        (advance,) = effects
        assert isinstance(advance, Advance)
        assert advance.phase == goes_on
        assert advance.message.startswith("the scheduler offers 1 ")
        assert "for 1 our model counts" in advance.message
    else:
        end, said = effects
        assert isinstance(end, End)
        assert isinstance(said, CannotSchedule)
        assert end.ending.reason == said.reason == goes_on


def just_tried(attempted: float) -> dict[str, MemberProof]:
    """m1 is unknown, and another attempt would show no more."""
    tried = MemberProof(Proof.UNKNOWN, "preempt had other victims", attempted, is_current=True)
    return {**CONFIRMED, "m1": tried}


def test_a_member_that_was_just_tried_is_not_asked_about() -> None:
    gang = in_phase("Planned")
    start = gang.now
    assert gang.looks(proofs=just_tried(start - 2.0)) == []
    assert gang.looks(proofs=just_tried(start - 2.0), after=2.9) == []
    assert kinds(gang.looks(proofs=just_tried(start - 2.0), after=0.2)) == [Advance]


def test_a_member_that_was_just_tried_is_asked_about_once_its_node_changes() -> None:
    gang = in_phase("Planned")
    assert gang.looks(proofs=just_tried(gang.now)) == []
    (ask,) = gang.looks(proofs=UNKNOWN, after=1.0)
    assert isinstance(ask, Ask)
    assert gang.looks(proofs=UNKNOWN, after=100.0) == [], "it is not asked yet"


@pytest.mark.parametrize("confirmation", ["Prefer", "Require", "Off"])
@pytest.mark.parametrize("proofs", [CONFIRMED, UNKNOWN], ids=["confirmed", "unknown"])
def test_what_is_not_modelled_needs_the_schedulers_word(
    confirmation: Confirmation, proofs: dict[str, MemberProof]
) -> None:
    """Our model counts for no member, whatever the setting."""
    gang = in_phase("Planned")
    plan = replace(gang.plan, spec=msgspec.structs.replace(gang.plan.spec, not_modelled=["CSI volume"]))
    gang.life, gang.rules = replace(gang.life, plan=plan), replace(RULES, confirmation=confirmation)
    if proofs is CONFIRMED:
        assert kinds(gang.looks()) == [Advance]
    else:
        assert kinds(gang.looks(proofs=proofs)) == [Ask]
        gang(Asked())
        assert gang.ending(after=60.0, proofs=proofs) == "NotConfirmed"


@pytest.mark.parametrize(("confirmation", "vain"), [("Require", 0), ("Prefer", 1)])
def test_where_only_the_word_of_the_scheduler_counts_all_are_asked_about(
    confirmation: Confirmation, vain: int
) -> None:
    gang = in_phase("Planned")
    gang.rules = replace(RULES, confirmation=confirmation)
    gang.life = replace(gang.life, vain=vain)
    assert kinds(gang.looks(proofs=just_tried(gang.now))) == [Ask]


def test_a_gang_that_nobody_has_presented_is_asked_about_although_attempts_are_current() -> None:
    gang = in_phase("Planned")
    assert kinds(gang.looks(proofs=just_tried(gang.now), presented=False)) == [Ask]


def test_an_attempt_from_before_the_question_is_no_answer() -> None:
    gang = in_phase("Planned", asking=True, asked=0.0)
    tried = {**CONFIRMED, "m1": MemberProof(Proof.UNKNOWN, "nothing was seen", -100.0)}
    assert gang.looks(proofs=tried, after=4.9) == []
    assert kinds(gang.looks(proofs=tried, after=0.1)) == [Advance]


def test_a_late_attempt_is_waited_for_but_not_for_ever() -> None:
    gang = in_phase("Planned")
    gang.looks(proofs=UNKNOWN)
    gang(Asked())
    for seconds in range(1, 30):
        tried = {**CONFIRMED, "m1": MemberProof(Proof.UNKNOWN, "nothing was seen", float(seconds))}
        assert gang.looks(proofs=tried, after=1.0) == []
    tried = {**CONFIRMED, "m1": MemberProof(Proof.UNKNOWN, "nothing was seen", 29.0)}
    assert kinds(gang.looks(proofs=tried, after=1.0)) == [Advance]


def test_a_member_that_was_refused_right_after_a_change_is_asked_about_twice() -> None:
    gang = in_phase("Planned")
    stale = {**CONFIRMED, "m1": MemberProof(Proof.UNKNOWN, "the node has changed", 0.0, doubt=Doubt.STALE)}
    gang.looks(proofs=stale)
    gang(Asked())
    assert gang.looks(proofs=stale, after=ASK_AGAIN_SECONDS - 0.1) == []
    (again,) = gang.looks(proofs=stale, after=0.2)
    assert isinstance(again, Ask)
    assert again.members == ("m1",)
    assert gang.looks(proofs=stale, after=100.0) == [], "it is not asked yet"
    gang(Asked())
    assert gang.looks(proofs=stale, after=4.9) == []
    assert kinds(gang.looks(proofs=stale, after=0.2)) == [Advance]


@pytest.mark.parametrize("confirmation", ["Prefer", "Require"])
def test_our_model_does_not_count_against_a_refusal_that_stands(confirmation: Confirmation) -> None:
    gang = in_phase("Planned", asking=True, asked=0.0)
    gang.rules = replace(RULES, confirmation=confirmation)
    refused = {**UNKNOWN, "m0": MemberProof(Proof.UNKNOWN, "it said no", 0.0, doubt=Doubt.STANDS)}
    end, said = gang.looks(proofs=refused, after=5.1)
    assert isinstance(end, End)
    assert isinstance(said, CannotSchedule)
    assert end.ending.reason == said.reason == "NotConfirmed"
    assert "it said no" in said.message


def test_without_confirmation_our_model_counts_also_against_a_refusal_that_stands() -> None:
    gang = in_phase("Planned")
    gang.rules = replace(RULES, confirmation="Off")
    refused = {**UNKNOWN, "m0": MemberProof(Proof.UNKNOWN, "it said no", 0.0, doubt=Doubt.STANDS)}
    assert kinds(gang.looks(proofs=refused)) == [Advance]


def test_if_nobody_has_tried_all_members_are_asked_about() -> None:
    (ask,) = in_phase("Planned").looks(presented=False)
    assert isinstance(ask, Ask)
    assert ask.members == ("m0", "m1")


def test_without_confirmation_our_model_counts_once_somebody_has_asked() -> None:
    gang = in_phase("Planned")
    gang.rules = replace(RULES, confirmation="Off")
    assert kinds(gang.looks(proofs=UNKNOWN, presented=False)) == [Ask]
    assert kinds(gang.looks(proofs=UNKNOWN)) == [Advance]


# ---- evictions


def test_there_is_one_evictor_until_all_were_asked_for() -> None:
    gang = in_phase("Evicting")
    assert kinds(gang.looks()) == [Evict]
    assert gang.looks() == []
    gang(EvictorStopped(done=False))
    assert gang.looks(is_free=True) == [Evict(gang.plan)], "somebody is left"
    gang(EvictorStopped(done=True))
    gang(EvictorStopped(done=False))
    assert gang.looks() == []
    assert kinds(gang.looks(is_free=True)) == [Advance]


def test_what_a_comparison_finds_ends_the_plan() -> None:
    gang = in_phase("Evicting")
    gang(Compared(""))
    assert gang.plan.begun
    assert gang.ending() == ""
    gang(Compared("v1 has a higher priority"))
    assert gang.ending() == "Changed"


@pytest.mark.parametrize("phase", ["Planned", "Confirmed"])
def test_a_change_before_evictions_ends_the_plan(phase: ActivePhase) -> None:
    assert in_phase(phase).ending(changed="n0 is gone") == "Changed"


def test_every_refusal_is_remembered() -> None:
    gang = in_phase("Evicting")
    gang(DeletionRefused("v0", "first"))
    gang(DeletionRefused("v1", "second"))
    (end,) = gang.looks()
    assert isinstance(end, End)
    assert end.plan.refused == {"v0": "first", "v1": "second"}
    assert end.ending.message == "first"


# ---- Ready


@pytest.mark.parametrize(
    ("gang", "ready"),
    [
        (in_phase("Planned", victims=0), True),
        (in_phase("Evicting", evicting=True), False),
        (in_phase("Evicting", evicted=True), True),
    ],
    ids=["no victims", "a victim is left", "all have gone"],
)
def test_a_plan_is_ready_when_its_room_is_free(gang: Gang, ready: bool) -> None:
    assert gang.looks(is_free=False) == []
    advances = [each.phase for each in gang.looks(is_free=True) if isinstance(each, Advance)]
    assert advances == (["Ready"] if ready else [])


def test_members_are_nominated_once_and_reminded_less_and_less() -> None:
    gang = in_phase("Evicting", evicted=True)
    gang.looks(is_free=True)
    assert kinds(gang(Stored("Ready"))) == [Nominate]
    assert (gang.life.phase, gang.plan.phase) == ("Ready", "Ready")
    for seconds in (5.0, 10.0, 20.0):
        assert gang.looks(after=seconds - 0.1) == []
        assert kinds(gang.looks(after=0.1)) == [Remind]


def test_a_planned_node_that_is_missing_for_more_than_two_seconds_ends_the_plan() -> None:
    gang = in_phase("Ready", next_wake=1e9)
    gang(NotOffered("m0", "m0"))
    gang(NotOffered("m0", "m0"), after=2.0)
    gang(Offered("m0", ""), after=1.0)
    gang(NotOffered("m0", "m0"))
    gang(NotOffered("m0", "m0"), after=2.0)
    assert gang.ending() == ""
    gang(NotOffered("m0", "m0"), after=0.1)
    assert gang.ending() == "TurnedDown"


def test_a_preempt_call_after_an_offer_ends_the_plan_and_names_the_node() -> None:
    gang = in_phase("Ready", next_wake=1e9)
    gang(PreemptCalled("m0", "m0"))
    assert gang.ending() == ""
    gang(Offered("m0", ""))
    gang(PreemptCalled("m0", "m0"))
    (end,) = gang.looks()
    assert isinstance(end, End)
    ((uid, node),) = [(each.uid, each.node) for each in end.ending.contradictions]
    assert (uid, node) == ("m0", "node-of-m0")
    assert gang.life.due == gang.now, "the next plan leaves the node out, and need not wait"


def test_a_plan_that_was_turned_down_by_its_deadline_says_so() -> None:
    gang = in_phase("Ready", next_wake=1e9)
    gang(Offered("m0", ""))
    gang(PreemptCalled("m0", "m0"))
    assert gang.ending(after=300.0) == "TurnedDown"


def test_what_is_said_about_other_pods_ends_no_plan() -> None:
    gang = in_phase("Ready", next_wake=1e9)
    gang(NotOffered("late", "late"))
    gang(NotOffered("late", "late"), after=10.0)
    assert gang.ending() == ""


def test_a_new_rejection_after_an_offer_ends_the_plan() -> None:
    gang = in_phase("Ready", next_wake=1e9)
    gang(Offered("m0", "an older one"))
    said = {"m0": ("m0", NOT_NOW)}
    assert gang.ending(messages=said, after=2.0) == "", "it may have been on its way"
    assert gang.ending(messages={"m0": ("m0", "an older one")}, after=0.1) == ""
    gang(Offered("m0", NOT_NOW))
    assert gang.ending(messages=said) == "TurnedDown", "the first offer counts"


# ---- the end


@pytest.mark.parametrize("phase", ["Planned", "Confirmed", "Evicting", "Ready"])
def test_a_plan_has_until_its_deadline(phase: ActivePhase) -> None:
    gang = in_phase(phase, next_wake=1e9, evicted=True, write_again=1e9)
    assert gang.ending(after=299.9) == ""
    assert gang.ending(after=0.1) == "DeadlineExceeded"


def test_members_that_were_offered_and_not_bound_in_time_are_named() -> None:
    gang = in_phase("Ready", next_wake=1e9)
    for uid in MEMBERS:
        gang(Offered(uid, ""))
    (end,) = gang.looks(after=300.0, unbound=frozenset({"m1"}))
    assert isinstance(end, End)
    assert [(each.uid, each.node) for each in end.ending.contradictions] == [("m1", "node-of-m1")]


@pytest.mark.parametrize(("phase", "reason"), [("Confirmed", "Contradicted"), ("Evicting", "")])
def test_a_contradiction_counts_until_evictions_begin(phase: ActivePhase, reason: str) -> None:
    gang = in_phase(phase)
    effects = gang.looks(proofs={"m0": MemberProof(Proof.CONTRADICTED, "no", 0.0)})
    ends = [effect.ending for effect in effects if isinstance(effect, End)]
    assert [each.reason for each in ends] == ([reason] if reason else [])
    assert [c.node for each in ends for c in each.contradictions] == (["node-of-m0"] if reason else [])


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ({"group_gone": True}, "PodGroupDeleted"),
        ({"member_gone": "m0"}, "MemberGone"),
        ({"members_lost": True}, "MembersLost"),
        ({"all_bound": True}, "Bound"),
        ({"room_taken": "by others"}, "RoomTaken"),
    ],
)
@pytest.mark.parametrize("phase", ["Planned", "Confirmed", "Evicting", "Ready"])
def test_what_ends_a_plan_in_every_phase(phase: ActivePhase, seen: dict[str, Any], reason: str) -> None:
    gang = in_phase(phase)
    assert gang.ending(**seen) == reason
    assert gang.life.phase == ("Bound" if reason == "Bound" else "Gathering")


def test_a_plan_of_a_group_that_is_gone_ends_whatever_is_being_written() -> None:
    (end,) = in_phase("Confirmed", writing="Evicting")(GroupGone())
    assert isinstance(end, End)
    assert end.ending == Ending("Aborted", "PodGroupDeleted", "the PodGroup is gone")


def test_a_plan_whose_members_are_bound_has_succeeded_whatever_else_is_seen() -> None:
    gang = in_phase("Ready", changed="n0 is gone", refused={"v0": "no"}, offered={})
    gang.life = replace(gang.life, failures=3, replans=2, due=99.0)
    assert gang.ending(all_bound=True, room_taken="by the members", after=1000.0) == "Bound"
    life = gang.life
    assert (life.phase, life.failures, life.replans, life.due) == ("Bound", 0, 0, 0.0)


def test_after_an_end_members_are_counted_before_the_next_plan() -> None:
    gang = Gang(Life(complete=True))
    gang(decided())
    gang(Stored("Planned"))
    assert gang.ending(room_taken="by others") == "RoomTaken"
    assert not gang.life.wants_plan
    gang(MembersSeen(2, 2, 0))
    assert (gang.life.wants_plan, gang.life.looked) == (True, False), "its own room is free again"


@pytest.mark.parametrize(("longest", "until"), [(10.0, 28.28), (1000.0, 2828.43)])
def test_a_native_gang_has_two_backoffs_of_the_schedulers_file_to_take_its_room(
    longest: float, until: float
) -> None:
    """A gang of two waits at most the square root of two times as long as a pod."""
    gang = in_phase("Evicting", deadline=1.0, writing="Ready")
    gang.rules = replace(RULES, attempts=Backoffs(1.0, longest))
    preemptor = msgspec.structs.replace(gang.plan.spec.preemptor, name=foreign_name(NATIVE, "gang"))
    spec = msgspec.structs.replace(gang.plan.spec, preemptor=preemptor)
    gang.life = replace(gang.life, plan=replace(gang.plan, spec=spec))
    gang(Stored("Ready"))
    assert gang.plan.ends_at == pytest.approx(until, abs=0.01)
