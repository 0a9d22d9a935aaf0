"""The rules of a gang in pieces: since when it is, and the plan by which its bound members go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controllers.gangs.lifecycle.effects import (
    Advance,
    Commit,
    End,
    Evict,
    Rehearse,
    SayKept,
    SayReleasing,
)
from controllers.gangs.lifecycle.observations import (
    Compared,
    DeletionRefused,
    EvictorStopped,
    MembersSeen,
    Rehearsed,
    Stored,
    ToKeep,
    ToRelease,
)
from controllers.gangs.waking.gates import Removal, removal
from tests.unit.controllers.gangs.lives import MEMBERS, Gang, decided, in_phase, kinds, spec

PARTIAL = MembersSeen(3, 3, 1)
RELEASE = ToRelease("release", spec("Releases"))
WITHDRAW = ToRelease("withdraw", spec("Withdraws"), demanded=True)


def in_pieces() -> Gang:
    """One of three members is bound, for two minutes."""
    gang = Gang()
    gang(PARTIAL)
    gang.now += 120.0
    return gang


def releasing(*observations: Any) -> Gang:
    """The release is stored, and this has happened to it."""
    gang = in_pieces()
    gang(RELEASE)
    gang(Stored("Planned"))
    for each in observations:
        gang(each)
    return gang


@pytest.mark.parametrize(
    ("seen", "since"),
    [
        (PARTIAL, 5.0),
        (MembersSeen(3, 2, 2), 5.0),
        (MembersSeen(3, 3, 0), None),
        (MembersSeen(3, 3, 3), None),
        (MembersSeen(3, 3, 1, has_run=True), None),
    ],
)
def test_a_gang_is_in_pieces_if_it_never_ran_and_members_are_bound(
    seen: MembersSeen, since: float | None
) -> None:
    gang = Gang()
    gang(seen, after=5.0)
    gang(seen, after=5.0)
    assert gang.life.partial_since == since


def test_a_gang_that_was_seen_to_run_is_not_in_pieces_later() -> None:
    """The condition of its PodGroup may not be written yet."""
    gang = Gang()
    gang(MembersSeen(3, 3, 3))
    gang(PARTIAL)
    assert gang.life.partial_since is None


@pytest.mark.parametrize("phase", ["Evicting", "Ready"])
def test_a_plan_that_frees_room_ends_the_time(phase: Any) -> None:
    gang = in_pieces()
    gang(decided())
    gang(Stored("Planned"))
    gang.life = in_phase("Planned", writing=phase).life
    gang(Stored(phase))
    assert gang.life.partial_since is None


def for_devices(**changed: Any) -> Gang:
    """A gang in pieces. Its plan leaves the node of one member to the scheduler."""
    gang = in_phase("Planned", victims=0, writing="Ready")
    members = {uid: replace(each, any_node=uid == "m0") for uid, each in MEMBERS.items()}
    plan = replace(gang.plan, members=members, **changed)
    gang.life = replace(gang.life, plan=plan, partial_since=0.0)
    gang.now = 120.0
    return gang


def test_a_plan_that_waits_for_devices_does_not_end_the_time() -> None:
    """Two gangs would wait for each other's devices for ever."""
    gang = for_devices()
    gang(Stored("Ready"))
    assert gang.life.phase == "Ready"
    assert gang.life.partial_since == 0.0
    assert [type(each) for each in gang(RELEASE)] == [End, Commit]


@pytest.mark.parametrize(
    ("phase", "any_node", "makes"),
    [
        ("Planned", False, False),
        ("Confirmed", False, False),
        ("Evicting", False, True),
        ("Ready", False, True),
        ("Ready", True, False),
    ],
)
def test_which_plans_make_room(phase: Any, any_node: bool, makes: bool) -> None:
    members = {uid: replace(each, any_node=any_node) for uid, each in MEMBERS.items()}
    assert replace(in_phase(phase).plan, members=members).makes_room == makes


def test_the_bound_members_go_by_a_plan() -> None:
    gang = in_pieces()
    assert kinds(gang(RELEASE)) == [Commit]
    assert gang(RELEASE) == []
    gang(Stored("Planned"))
    assert kinds(gang.looks(proofs={}, presented=False)) == [Rehearse]
    assert gang.looks() == []
    gang(Rehearsed({}))
    assert gang.looks(trusted=False) == []
    (advance,) = gang.looks(proofs={}, presented=False)
    assert isinstance(advance, Advance)
    assert advance.phase == "Evicting"
    assert kinds(gang(Stored("Evicting"))) == [SayReleasing]
    assert kinds(gang.looks()) == [Evict]
    gang(Compared(""))
    gang(EvictorStopped(True))
    (end,) = gang.looks()
    assert isinstance(end, End)
    assert (end.ending.phase, end.ending.reason) == ("Released", "Released")
    assert (gang.life.phase, gang.life.former, gang.life.due) == ("Gathering", None, 0.0)


def test_not_before_its_time_and_not_for_a_gang_that_is_whole() -> None:
    gang = Gang()
    gang(PARTIAL)
    assert gang(RELEASE, after=119.0) == []
    gang(MembersSeen(3, 3, 3))
    assert gang(RELEASE, after=119.0) == []


def test_a_plan_that_frees_nothing_yet_gives_way() -> None:
    gang = in_pieces()
    gang(decided())
    assert gang(RELEASE) == []
    gang(Stored("Planned"))
    end, commit = gang(RELEASE)
    assert isinstance(end, End)
    assert (end.plan.name, end.ending.reason) == ("plan-1", "PartialGang")
    assert isinstance(commit, Commit)
    assert commit.plan.releases


def test_members_stay_and_that_is_said_once_for_each_reason() -> None:
    gang = in_pieces()
    assert gang(ToKeep("why")) == [SayKept("why")]
    assert gang(ToKeep("why")) == []
    assert gang(ToKeep("why else")) == [SayKept("why else")]
    assert Gang()(ToKeep("why")) == []


@pytest.mark.parametrize(
    ("observation", "reason"),
    [
        (Rehearsed({"v0": "no"}), "EvictionRefused"),
        (DeletionRefused("v0", "no"), "EvictionRefused"),
        (Compared("the gang runs whole now"), "Changed"),
    ],
)
def test_a_release_that_is_refused_says_nothing_of_the_next_plan(observation: Any, reason: str) -> None:
    gang = releasing(observation)
    assert gang.ending() == reason
    assert (gang.life.due, gang.life.failures, gang.life.former) == (0.0, 0, None)


def test_a_release_that_began_and_ended_is_not_in_vain() -> None:
    gang = releasing(Rehearsed({}))
    gang.looks()
    gang(Stored("Evicting"))
    gang.looks()
    gang(Compared(""))
    gang(DeletionRefused("v1", "no"))
    assert gang.ending() == "EvictionRefused"
    assert gang.life.former is None


def test_the_gates_of_members_stay_while_others_are_released() -> None:
    gang = releasing()
    assert removal("Gathering", MembersSeen(3, 2, 1), gang.life, gang.now) is Removal.NOT_YET


# ---- a gang that has lost its quota


def test_a_gang_that_has_lost_its_quota_goes_although_it_runs() -> None:
    gang = Gang()
    gang(MembersSeen(3, 3, 3))
    assert kinds(gang(WITHDRAW)) == [Commit]
    assert gang.life.plan is not None
    assert gang.life.plan.withdraws
    assert kinds(gang(WITHDRAW)) == [], "it has its plan"


@pytest.mark.parametrize("phase", ["Planned", "Confirmed", "Evicting", "Ready"])
def test_any_other_plan_gives_way(phase: Any) -> None:
    gang = in_phase(phase)
    effects = gang(WITHDRAW)
    end = effects[0]
    assert isinstance(end, End)
    assert end.ending.reason == "QuotaWithdrawn"
    assert kinds(effects)[-1] is Commit
    assert gang.life.plan is not None
    assert gang.life.plan.withdraws


def test_a_release_gives_way_to_it_and_not_the_other_way_round() -> None:
    gang = releasing()
    assert Commit in kinds(gang(WITHDRAW))
    gang(Stored("Planned"))
    assert kinds(gang(RELEASE, after=300.0)) == []
