"""A steered life, step by step: kube-scheduler evicts, and the plan stands as long as it may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as spec_replace

from controllers.gangs.lifecycle.effects import (
    Advance,
    End,
    Nominate,
    NominateFirst,
    Rehearse,
    SayAttempt,
    SayUnplanned,
)
from controllers.gangs.lifecycle.life import ActivePhase, ActivePlan
from controllers.gangs.lifecycle.observations import (
    HandedOver,
    NeverNamed,
    Nominated,
    PassBegan,
    Rehearsed,
    Resumed,
    Stored,
    ToRelease,
)
from tests.unit.controllers.gangs.lives import Gang, in_phase, kinds

PASS = HandedOver("plan")
OVER = PassBegan("plan")
LONG = 1e6


def steered(phase: ActivePhase = "Planned", victims: int = 2, **fields: Any) -> Gang:
    """A gang whose plan is stored and open, if nothing else is said."""
    given = {"opened": 0.0, "nominated": True, "seconds": 300.0, "deadline": LONG, **fields}
    gang = in_phase(phase, victims, **given)
    plan = replace(gang.plan, spec=spec_replace(gang.plan.spec, evicted_by="Scheduler"))
    gang.life = replace(gang.life, plan=plan)
    return gang


def is_open(gang: Gang) -> bool:
    return gang.plan.is_open


def test_it_is_rehearsed_and_nominated_before_it_is_opened() -> None:
    gang = steered(opened=None, nominated=False, rehearsed=False, deadline=300.0)
    assert kinds(gang.looks()) == [Rehearse]
    assert gang.looks() == []
    assert not is_open(gang)
    gang(Rehearsed({}))
    assert kinds(gang.looks()) == [NominateFirst]
    assert gang.looks() == []
    gang(Nominated(done=False))
    assert gang.looks() == []
    assert kinds(gang.looks(after=1.0)) == [NominateFirst]
    gang(Nominated(done=True))
    assert gang.looks(trusted=False) == []
    assert not is_open(gang)
    assert gang.looks() == []
    assert is_open(gang)
    assert gang.plan.deadline > LONG, "no deadline runs before the hand-over"


def test_one_that_cannot_be_opened_expires() -> None:
    gang = steered(opened=None, nominated=False, deadline=300.0)
    assert gang.ending(after=300.0) == "DeadlineExceeded"


@pytest.mark.parametrize(("next_attempt", "seconds"), [(100.0, 200.0), (0.0, 60.0), (316.0, 632.0)])
def test_it_gives_its_room_back_when_nobody_has_presented_it_for_two_estimates(
    next_attempt: float, seconds: float
) -> None:
    gang = steered()
    assert gang.ending(after=seconds - 1.0, next_attempt=next_attempt) == ""
    assert gang.ending(after=1.0, next_attempt=next_attempt) == "NotAttempted"


def test_each_pass_presents_it() -> None:
    gang = steered(seconds=LONG)
    for _ in range(20):
        gang(PASS, after=50.0)
        gang(OVER)
        assert gang.ending() == ""
    assert gang.ending(after=60.0) == "NotAttempted"


CHANGES: list[dict[str, Any]] = [
    {"changed": "n0 is gone"},
    {"member_gone": "m0"},
    {"members_lost": True},
    {"room_taken": "by x"},
    {"overrun_by": ("team", "high")},
]


@pytest.mark.parametrize("change", CHANGES)
def test_once_handed_over_it_stands_until_the_pass_is_over(change: dict[str, Any]) -> None:
    gang = steered()
    gang(PASS)
    assert gang.ending(**change) == ""
    assert gang.plan.given_up
    assert not is_open(gang), "it makes no more offers"
    assert gang.ending() == ""
    assert is_open(gang), "the change has passed"
    gang(OVER)
    assert gang.ending(**change) != ""


def test_only_the_end_of_its_group_ends_it_then() -> None:
    gang = steered()
    gang(PASS)
    assert gang.ending(group_gone=True) == "PodGroupDeleted"


def test_a_pass_of_another_plan_says_nothing() -> None:
    gang = steered()
    gang(HandedOver("former"))
    assert gang.plan.handed_over is None
    gang(PASS)
    gang(PassBegan("former"))
    assert gang.plan.handed_over is not None


def test_the_groups_condition_ends_the_hand_over_unless_it_says_that_marks_follow() -> None:
    gang = steered()
    gang.looks(answer="0 of 2 fit")
    gang(PASS)
    gang.looks(answer="0 of 2 fit")
    assert gang.plan.handed_over is not None, "that is old"
    gang.looks(answer="found a placement", preempts=True)
    assert gang.plan.handed_over is not None
    gang.looks(answer="1 of 2 fits")
    assert gang.plan.handed_over is None


def test_its_time_begins_with_the_first_hand_over() -> None:
    gang = steered()
    gang(PASS, after=1000.0)
    gang(OVER, after=50.0)
    gang(PASS, after=200.0)
    assert gang.ending(after=60.0) == "", "not in the middle of a pass"
    gang(OVER)
    assert gang.ending() == "DeadlineExceeded"


def test_the_first_mark_stores_evicting() -> None:
    gang = steered()
    gang(PASS)
    effects = gang.looks(marked=frozenset({"v0"}), changed="v0 is not running any longer")
    assert [(each.phase) for each in effects if isinstance(each, Advance)] == ["Evicting"]
    assert gang.plan.begun
    assert not gang.plan.may_evict, "the evictor never acts"


def test_a_mark_before_anything_was_offered_is_not_for_it() -> None:
    gang = steered(opened=None)
    assert gang.ending(marked=frozenset({"v0"}), changed="v0 is not running any longer") == "Changed"


def test_it_has_time_for_the_next_attempt_once_it_evicts() -> None:
    gang = steered()
    gang(PASS)
    gang.looks(marked=frozenset({"v0"}), next_attempt=400.0)
    assert gang.plan.deadline == 700.0


def test_members_get_their_nominations_again() -> None:
    gang = steered("Ready", begun=True)
    assert kinds(gang.looks(has_nominations=False)) == [Nominate]
    assert gang.looks(has_nominations=False, after=4.0) == []
    assert kinds(gang.looks(has_nominations=False, after=1.0)) == [Nominate]


def test_what_the_plan_does_not_name_is_said_once() -> None:
    gang = steered("Evicting", begun=True)
    effects = gang.looks(unplanned=frozenset({"x"}))
    assert [each.pods for each in effects if isinstance(each, SayUnplanned)] == [frozenset({"x"})]
    effects = gang.looks(unplanned=frozenset({"x", "y"}))
    assert [each.pods for each in effects if isinstance(each, SayUnplanned)] == [frozenset({"y"})]


def test_a_whole_attempt_without_the_planned_node_contradicts_it() -> None:
    gang = steered()
    gang(NeverNamed("m0", "m0"))
    [end] = [each for each in gang.looks() if isinstance(each, End)]
    assert end.ending.reason == "TurnedDown"
    assert [each.node for each in end.ending.contradictions] == ["node-of-m0"]


def test_what_the_scheduler_says_of_members_is_about_the_group() -> None:
    gang = steered("Ready", begun=True)
    assert gang.ending(messages={"m0": ("m0", "found a placement, preempting")}, after=10.0) == ""


def test_a_restarted_process_takes_it_for_handed_over() -> None:
    plan = replace(steered().plan, opened=None, nominated=False, deadline=300.0)
    gang = Gang()
    gang(Resumed(plan))
    lost = {"changed": "n0 is gone", "has_nominations": False}
    assert gang.ending(**lost) == ""
    assert gang.ending(after=119.0, **lost) == ""
    gang.looks(after=1.0, has_nominations=False)
    assert gang.ending(**lost) == "Changed"


def test_a_restarted_process_offers_it_at_once_if_all_have_their_nominations() -> None:
    plan = replace(steered().plan, opened=None, nominated=False, rehearsed=False, deadline=300.0)
    gang = Gang()
    gang(Resumed(plan))
    assert gang.looks() == []
    assert is_open(gang)


# ---- room that the scheduler has freed by its own rule


def taken_up(plan: ActivePlan) -> Gang:
    gang = Gang()
    gang(Resumed(replace(plan, opened=None, nominated=False, deadline=300.0)))
    return gang


def test_a_restarted_process_ends_a_plan_beside_which_the_scheduler_frees_other_room() -> None:
    """It waits for the last mark. What the plan does not know of any longer does not end it before."""
    gang = taken_up(steered().plan)
    other: dict[str, Any] = {
        "other_room": "on x",
        "has_nominations": False,
        "changed": "v0 is not running any longer",
    }
    assert gang.looks(**other, marked=frozenset({"v0"})) == [], "v0 was not evicted by the plan"
    assert gang.looks(after=1.5, **other, last_mark=1.5) == []
    assert gang.looks(after=1.5, **other, last_mark=1.5) == []
    [end, *_] = gang.looks(after=0.5, **other, last_mark=1.5)
    assert isinstance(end, End)
    assert (end.ending.phase, end.ending.reason) == ("Aborted", "SchedulerPreempted")
    assert "on x" in end.ending.message
    assert (gang.life.plan, gang.life.due) == (None, gang.now), "the next plan is made at once"


def test_it_ends_although_the_scheduler_withdraws_its_nominations_meanwhile() -> None:
    gang = taken_up(steered().plan)
    assert gang.ending(other_room="on x", has_nominations=False) == ""
    assert gang.ending(after=1.0, has_nominations=False) == ""
    assert gang.ending(after=1.0, has_nominations=False) == "SchedulerPreempted"


def test_a_restarted_process_waits_for_what_the_scheduler_may_be_doing_before_it_nominates() -> None:
    gang = taken_up(steered().plan)
    assert gang.looks(has_nominations=False) == []
    assert gang.looks(after=1.9, has_nominations=False) == []
    assert kinds(gang.looks(after=0.1, has_nominations=False)) == [NominateFirst]


def test_it_does_not_wait_for_gated_members() -> None:
    """The scheduler tries none of them."""
    gang = taken_up(steered().plan)
    assert kinds(gang.looks(has_nominations=False, gated=True)) == [NominateFirst]


def test_one_that_is_handed_over_stands_although_the_scheduler_frees_other_room() -> None:
    """An answer was lost, and the next pass has been offered the plan again."""
    gang = steered()
    gang(PASS)
    assert gang.ending(other_room="on x") == ""
    assert gang.ending(other_room="on x", after=10.0) == ""
    assert not is_open(gang)
    gang(OVER)
    assert gang.ending(other_room="on x", after=2.0) == "SchedulerPreempted"


def test_one_by_which_the_scheduler_evicts_in_part_ends_and_goes_on_with_that_room() -> None:
    gang = steered()
    gang(PASS)
    assert Advance in kinds(gang.looks(marked=frozenset({"v0"}), other_room="on x"))
    gang(Stored("Evicting"))
    assert gang.ending(other_room="on x") == ""
    assert gang.ending(other_room="on x", after=2.0) == "SchedulerPreempted"
    assert gang.life.former is not None


def test_lost_quota_waits_for_the_end_of_the_pass() -> None:
    gang = steered()
    gang(PASS)
    demanded = ToRelease("release", spec_replace(gang.plan.spec, outcome="Withdraws"), demanded=True)
    assert gang(demanded) == []
    gang(OVER)
    assert End in kinds(gang(demanded))


def test_the_time_of_an_attempt_that_comes_late_is_stored_once() -> None:
    gang = steered()
    said = [each for each in gang.looks(next_attempt=50.0) if isinstance(each, SayAttempt)]
    assert [(each.seconds, each.is_known, each.handed_over) for each in said] == [(50.0, False, None)]
    assert gang.looks(next_attempt=51.5) == []
    assert kinds(gang.looks(next_attempt=60.0)) == [SayAttempt]


def test_an_attempt_that_comes_soon_is_not_stored() -> None:
    assert steered().looks(next_attempt=4.0) == []


def test_no_attempt_is_stored_before_the_plan_is_offered() -> None:
    gang = steered(opened=None, nominated=False)
    assert SayAttempt not in kinds(gang.looks(next_attempt=50.0))


def test_with_the_attempt_it_is_stored_whether_the_plan_is_handed_over() -> None:
    gang = steered()
    gang(PASS)
    (said,) = gang.looks(next_attempt=52.0, attempt_known=True, after=2.0)
    assert isinstance(said, SayAttempt)
    assert (said.seconds, said.is_known, said.handed_over) == (50.0, True, 2.0)
