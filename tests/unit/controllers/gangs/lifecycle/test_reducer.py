"""The rules of a gang's life, one by one: members, decisions, delays, and writing.

Random lives, which meet all rules together, are in tests/property.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controllers.gangs.lifecycle.effects import (
    Advance,
    CannotSchedule,
    Commit,
    End,
    Evict,
    GiveBack,
    Record,
    SayScheduled,
    Wake,
)
from controllers.gangs.lifecycle.life import Life
from controllers.gangs.lifecycle.observations import (
    Failed,
    GatesRemoved,
    MembersSeen,
    NotDecided,
    NotStored,
    Observation,
    Resumed,
    Stored,
)
from controllers.gangs.lifecycle.plan_seen import MemberProof
from controllers.gangs.lifecycle.settings import Confirmation, Settings
from controllers.gangs.scheduler.proofs import Proof
from tests.unit.controllers.gangs.lives import (
    RULES,
    UNKNOWN,
    Gang,
    decided,
    in_phase,
    kinds,
)

# ---- members


@pytest.mark.parametrize(
    ("members", "bound", "phase", "complete"),
    [
        (1, 0, "Gathering", False),
        (2, 0, "Gathering", True),
        (3, 1, "Gathering", True),
        (2, 2, "Bound", False),
        (3, 2, "Bound", False),
    ],
)
def test_members_are_counted(members: int, bound: int, phase: str, complete: bool) -> None:
    gang = Gang()
    gang(MembersSeen(2, members, bound))
    assert (gang.life.phase, gang.life.complete) == (phase, complete)


def test_a_gang_that_runs_says_so_once_and_wakes_whoever_was_held() -> None:
    gang = Gang()
    assert kinds(gang(MembersSeen(2, 2, 2))) == [SayScheduled, Wake]
    assert gang(MembersSeen(2, 3, 3)) == []
    assert gang(MembersSeen(2, 3, 1)) == []
    assert (gang.life.phase, gang.life.complete) == ("Gathering", True)


@pytest.mark.parametrize("bound", [2, 0], ids=["runs", "gathers"])
def test_a_gang_that_wants_nothing_forgets_what_went_wrong(bound: int) -> None:
    gang = Gang(Life(complete=True, looked=True, failures=3, replans=2, due=99.0))
    gang(MembersSeen(2, 2, 0))
    assert gang.life.failures == 3, "it still wants a plan"
    gang(MembersSeen(2, bound, bound))
    gang(MembersSeen(2, 2, 0))
    life = gang.life
    assert (life.failures, life.replans, life.due) == (0, 0, 0.0)
    assert (life.wants_plan, life.looked) == (True, False)


def test_members_of_a_plan_are_not_counted() -> None:
    gang = in_phase("Ready")
    assert gang(MembersSeen(2, 2, 2)) == []
    assert gang.life.phase == "Ready"


# ---- decisions


@pytest.mark.parametrize(
    ("fields", "phase"),
    [
        ({"outcome": "Unschedulable"}, "Unschedulable"),
        ({"outcome": "SearchBudgetExhausted"}, "Unschedulable"),
        ({"not_modelled": ["claims"]}, "Blocked"),
    ],
)
def test_a_decision_by_which_nobody_goes_is_stored_and_said(fields: dict[str, Any], phase: str) -> None:
    gang = Gang()
    record, said = gang(decided(**fields))
    assert isinstance(record, Record)
    assert isinstance(said, CannotSchedule)
    assert (record.phase, said.phase, gang.life.phase, said.repeated) == (phase, phase, phase, False)
    assert gang.life.plan is None
    _, again = gang(decided(2, **fields))
    assert isinstance(again, CannotSchedule)
    assert again.repeated
    _, other = gang(decided(3, **fields, mismatch="Other"))
    assert isinstance(other, CannotSchedule)
    assert (other.reason, other.repeated) == ("Other", False)


def test_the_same_reason_in_other_words_is_said_again() -> None:
    gang = Gang()
    for number, why in enumerate(("no class", "no class", "another")):
        (said,) = gang(NotDecided(why))
        assert isinstance(said, CannotSchedule)
        assert (said.message, said.repeated) == (why, number == 1)


@pytest.mark.parametrize("fields", [{}, {"outcome": "Fits", "victims": 0, "not_modelled": ["claims"]}])
def test_a_decision_to_act_on_is_written_first(fields: dict[str, Any]) -> None:
    gang = Gang()
    gang.now = 7.0
    assert kinds(gang(decided(**fields))) == [Commit]
    assert (gang.life.phase, gang.plan.writing, gang.plan.deadline) == ("Planned", "Planned", 307.0)
    assert not gang.plan.stored


@pytest.mark.parametrize("observation", [decided(outcome="Unschedulable"), NotDecided("no class")])
def test_a_gang_without_a_plan_was_looked_at_until_it_changes(observation: Observation) -> None:
    gang = Gang(Life(complete=True))
    gang(observation)
    assert (gang.life.wants_plan, gang.life.looked) == (True, True)
    gang(MembersSeen(2, 2, 0))
    assert not gang.life.looked


@pytest.mark.parametrize("outcome", ["Unschedulable", "Fits"])
def test_a_gang_that_may_not_evict_yet_is_told_only_that_it_fits(outcome: Any) -> None:
    gang = Gang(Life(phase="Unschedulable", complete=True, looked=True, failures=1, due=9.0))
    before = gang.life
    effects = gang(replace(decided(outcome=outcome, victims=0), only_free=True))
    if outcome == "Fits":
        assert kinds(effects) == [Commit]
    else:
        assert (effects, gang.life) == ([], before)


@pytest.mark.parametrize("late", [decided(2), Resumed(in_phase("Ready").plan)], ids=["decided", "resumed"])
def test_there_is_one_plan_at_a_time(late: Observation) -> None:
    gang = in_phase("Evicting")
    before = gang.plan
    assert gang(late) == []
    assert gang.plan == before


def test_a_plan_of_a_former_process_is_gone_on_from() -> None:
    gang = Gang()
    gang(Resumed(in_phase("Evicting").plan))
    assert gang.life.phase == "Evicting"
    assert kinds(gang.looks()) == [Evict]


# ---- delays


def test_delays_double_while_plans_in_vain_follow_one_another() -> None:
    gang = Gang()
    for delay in (1.0, 2.0, 4.0, 8.0):
        gang(decided(outcome="Unschedulable"))
        assert gang.life.due == gang.now + delay
        gang.now = gang.life.due
    gang.now += 100.0
    gang(decided(outcome="Unschedulable"))
    assert gang.life.due == gang.now + 1.0


@pytest.mark.parametrize(
    ("refused", "delay"), [({}, 1.0), ({"v0": "no"}, 4.0)], ids=["expired", "eviction refused"]
)
def test_what_the_next_plan_would_meet_again_makes_the_delay_longer(
    refused: dict[str, str], delay: float
) -> None:
    """However long the plan took."""
    gang = in_phase("Evicting", refused=refused)
    gang.life = replace(gang.life, failures=2)
    assert gang.ending(after=300.0)
    assert gang.life.due == gang.now + delay


def test_five_contradicted_plans_in_a_row_are_followed_by_the_next_one_at_once() -> None:
    gang = in_phase("Planned")
    plan = gang.plan
    for number in range(7):
        proofs = {"m0": MemberProof(Proof.CONTRADICTED, "no", 0.0)}
        gang.life = replace(gang.life, plan=replace(plan, deadline=1e9))
        assert gang.ending(after=100.0, proofs=proofs) == "Contradicted"
        assert gang.life.due - gang.now == max(0.0, number - 4.0)


def test_what_nobody_has_confirmed_makes_the_delay_longer() -> None:
    gang = in_phase("Planned", asking=True, asked=0.0)
    gang.life = replace(gang.life, failures=2)
    assert gang.ending(presented=False, proofs=UNKNOWN, after=200.0) == "NotAttempted"
    assert gang.life.due == gang.now + 4.0


def test_after_a_fault_the_gang_waits_a_while() -> None:
    gang = Gang()
    assert gang(Failed()) == []
    assert gang.life.due == 1.0


# ---- writing


def test_a_plan_is_left_alone_while_it_is_written() -> None:
    gang = Gang()
    gang(decided())
    assert gang.looks(room_taken="by others") == []
    gang(Stored("Ready"))
    gang(NotStored("Ready", "late answer", for_good=True))
    assert not gang.plan.stored, "that was about another phase"
    gang(Stored("Planned"))
    assert (gang.plan.stored, gang.plan.writing) == (True, None)
    assert gang.ending(room_taken="by others") == "RoomTaken"


@pytest.mark.parametrize("failure", [NotStored("Planned", "503", for_good=False), Failed()], ids=repr)
def test_a_plan_that_was_not_stored_gives_its_room_back(failure: Observation) -> None:
    gang = Gang(Life(complete=True))
    gang(decided())
    gave_back, said = gang(failure)
    assert isinstance(gave_back, GiveBack)
    assert isinstance(said, CannotSchedule)
    assert gang.life.plan is None
    assert (gang.life.wants_plan, gang.life.looked) == (True, False)
    assert gang.life.due > gang.now


@pytest.mark.parametrize("failure", [NotStored("Evicting", "503", for_good=False), Failed()], ids=repr)
def test_progress_that_was_not_stored_is_written_again_after_a_while(failure: Observation) -> None:
    gang = in_phase("Confirmed")
    assert kinds(gang.looks()) == [Advance]
    assert gang(failure) == []
    assert gang.looks(after=0.9) == []
    assert kinds(gang.looks(after=0.1)) == [Advance]


def test_progress_that_cannot_be_stored_ends_the_plan() -> None:
    gang = in_phase("Confirmed")
    gang.looks()
    (end,) = gang(NotStored("Evicting", "404", for_good=True))
    assert isinstance(end, End)
    assert end.ending.reason == "NotStored"
    assert end.plan.writing is None


# ---- members that the scheduler has not tried


def complete(rules: Settings = RULES) -> Gang:
    gang = Gang(rules=rules)
    gang(MembersSeen(2, 2, 0))
    return gang


def test_a_plan_that_evicts_waits_for_the_scheduler_to_try_every_member() -> None:
    gang = complete()
    untried = replace(decided(), untried=True)
    assert gang(untried) == []
    assert (gang.life.wants_plan, gang.life.looked) == (True, False)
    assert gang(untried, after=RULES.untried_seconds - 0.1) == []
    assert kinds(gang(untried, after=0.1)) == [Commit]


@pytest.mark.parametrize("confirmation", ["Prefer", "Off"])
def test_no_plan_evicts_while_a_planned_member_is_gated(confirmation: Confirmation) -> None:
    gang = complete(replace(RULES, confirmation=confirmation))
    gated = replace(decided(), untried=True, gated=True)
    for _ in range(5):
        assert gang(gated, after=RULES.untried_seconds) == []
    assert kinds(gang(decided(), after=0.0)) == [Commit] if confirmation == "Off" else True


def test_the_time_to_try_members_begins_when_the_last_gate_is_gone() -> None:
    gang = complete()
    assert gang(replace(decided(), untried=True, gated=True)) == []
    gang(GatesRemoved(), after=4.0)
    untried = replace(decided(), untried=True)
    assert gang(untried, after=RULES.untried_seconds - 0.1) == []
    assert kinds(gang(untried, after=0.1)) == [Commit]


def test_gates_that_nobody_waits_for_change_nothing() -> None:
    gang = complete()
    before = gang.life
    assert gang(GatesRemoved()) == []
    assert gang.life == before


def test_a_plan_without_victims_does_not_wait_for_gates() -> None:
    gang = complete()
    assert kinds(gang(replace(decided(outcome="Fits", victims=0), gated=True))) == [Commit]


@pytest.mark.parametrize(
    ("observation", "placed"),
    [
        (decided(outcome="Fits", victims=0), True),
        (decided(), True),
        (replace(decided(), untried=True, gated=True), True),
        (decided(not_modelled=["resource claims (DRA)"]), False),
        (decided(outcome="Unschedulable", victims=0), False),
        (decided(outcome="SearchBudgetExhausted", victims=0), False),
        (NotDecided("the class does not exist"), False),
    ],
)
def test_a_gang_is_placed_if_a_plan_may_be_made(observation: Observation, placed: bool) -> None:
    for before in (False, True):
        gang = complete()
        gang.life = replace(gang.life, placed=before)
        gang(observation)
        assert gang.life.placed is placed


def test_with_fewer_members_than_min_count_a_gang_is_not_placed() -> None:
    gang = complete()
    gang(replace(decided(), untried=True))
    gang(MembersSeen(2, 3, 0))
    assert gang.life.placed
    gang(MembersSeen(2, 1, 0))
    assert not gang.life.placed
