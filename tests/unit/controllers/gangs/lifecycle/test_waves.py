"""Plans whose members come in waves: the scheduler's word before evictions, and how one follows another."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from controllers.gangs.lifecycle.effects import Advance, Ask, End, Nominate
from controllers.gangs.lifecycle.observations import Asked
from controllers.gangs.lifecycle.plan_seen import MemberProof
from controllers.gangs.lifecycle.settings import Confirmation
from controllers.gangs.scheduler.proofs import Doubt, Proof
from tests.unit.controllers.gangs.lives import CONFIRMED, MEMBERS, RULES, UNKNOWN, Gang, in_phase, kinds

WAVES = {uid: replace(member, wave=wave) for wave, (uid, member) in enumerate(MEMBERS.items())}
FIRST, SECOND = WAVES.values()
CONTRADICTED = {**CONFIRMED, "m1": MemberProof(Proof.CONTRADICTED, "it said no", 0.0)}
STANDS = {**CONFIRMED, "m1": MemberProof(Proof.UNKNOWN, "it said no", 0.0, doubt=Doubt.STANDS)}
FIRST_IS_UNKNOWN = {**UNKNOWN, "m0": MemberProof(Proof.UNKNOWN, "nothing was seen", None)}


def ready() -> Gang:
    return in_phase("Ready", next_wake=1e9, members=WAVES)


# ---- before the first eviction


@pytest.mark.parametrize("vain", [0, 1])
@pytest.mark.parametrize("confirmation", ["Prefer", "Require", "Off"])
def test_our_model_counts_at_once_for_a_member_whose_wave_has_not_come(
    confirmation: Confirmation, vain: int
) -> None:
    gang = in_phase("Planned", members=WAVES)
    gang.rules, gang.life = replace(RULES, confirmation=confirmation), replace(gang.life, vain=vain)
    (advance,) = gang.looks(proofs=UNKNOWN)
    assert isinstance(advance, Advance)
    assert advance.message == (
        "the scheduler offers 1 members their nodes; for 1 our model counts, 1 of them in later waves"
    )


def test_a_scheduler_must_have_tried_a_member_all_the_same() -> None:
    gang = in_phase("Planned", members=WAVES)
    assert kinds(gang.looks(proofs=UNKNOWN, presented=False)) == [Ask]


@pytest.mark.parametrize(("confirmation", "ending"), [("Prefer", ""), ("Require", "NotConfirmed")])
def test_only_members_of_the_first_wave_are_asked_and_waited_for(
    confirmation: Confirmation, ending: str
) -> None:
    gang = in_phase("Planned", members=WAVES)
    gang.rules = replace(RULES, confirmation=confirmation)
    (ask,) = gang.looks(proofs=FIRST_IS_UNKNOWN)
    assert isinstance(ask, Ask)
    assert ask.members == ("m0",)
    gang(Asked())
    assert gang.looks(proofs=FIRST_IS_UNKNOWN, after=4.9) == []
    assert gang.ending(proofs=FIRST_IS_UNKNOWN, after=0.2) == ending


def test_a_member_of_a_later_wave_confirms_like_any_other() -> None:
    gang = in_phase("Planned", members=WAVES)
    (advance,) = gang.looks()
    assert isinstance(advance, Advance)
    assert advance.message == "the scheduler offers all 2 members their nodes"


def test_a_refusal_that_has_nothing_to_do_with_other_members_counts_in_every_wave() -> None:
    """It is seen as a contradiction or a doubt only if no filter of the member asks about pods of other nodes."""
    assert in_phase("Planned", members=WAVES).ending(proofs=CONTRADICTED) == "Contradicted"
    gang = in_phase("Planned", members=WAVES)
    assert kinds(gang.looks(proofs=STANDS)) == [Ask]
    gang(Asked())
    assert gang.ending(proofs=STANDS, after=10.0) == "NotConfirmed"


def test_what_is_not_modelled_needs_the_schedulers_word_in_every_wave() -> None:
    gang = in_phase("Planned", members=WAVES)
    spec = msgspec.structs.replace(gang.plan.spec, not_modelled=["resource claims (DRA)"])
    gang.life = replace(gang.life, plan=replace(gang.plan, spec=spec))
    (ask,) = gang.looks(proofs=UNKNOWN)
    assert isinstance(ask, Ask)
    assert ask.members == ("m1",)


# ---- once the room is free


def test_the_members_of_a_wave_come_back_when_those_of_earlier_waves_are_bound() -> None:
    gang = ready()
    assert gang.looks(unbound=frozenset(WAVES)) == []
    assert (gang.plan.has_turn(FIRST), gang.plan.has_turn(SECOND)) == (True, False)
    (effect,) = gang.looks(unbound=frozenset({SECOND.uid}))
    assert isinstance(effect, Nominate)
    assert effect.plan.has_turn(SECOND)
    assert gang.looks(unbound=frozenset({SECOND.uid})) == []


def test_each_wave_has_the_time_of_a_plan() -> None:
    gang = ready()
    assert gang.looks(unbound=frozenset({SECOND.uid}), after=299.0) != []
    assert gang.ending(unbound=frozenset({SECOND.uid}), after=299.0) == ""
    assert gang.ending(unbound=frozenset({SECOND.uid}), after=1.0) == "DeadlineExceeded"


def test_a_wave_that_does_not_come_to_its_end_gets_no_more_time() -> None:
    gang = ready()
    assert gang.looks(unbound=frozenset(WAVES), after=299.0) == []
    assert gang.ending(unbound=frozenset(WAVES), after=1.0) == "DeadlineExceeded"


def test_a_member_that_is_lost_between_waves_ends_the_plan_and_the_next_one_is_made_at_once() -> None:
    gang = in_phase("Ready", next_wake=1e9, members=WAVES, begun=True)
    gang.looks(unbound=frozenset({SECOND.uid}))
    effects = gang.looks(unbound=frozenset({SECOND.uid}), member_gone=FIRST.name)
    assert [each.ending.reason for each in effects if isinstance(each, End)] == ["MemberGone"]
    assert gang.life.due <= gang.now
