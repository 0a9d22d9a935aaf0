"""Whether evictions were in vain: the pure rules, and what the reducer makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.meta import ObjectMeta
from api.plans import Placement, PreemptionPlanSpec, PreemptionPlanStatus, Preemptor, Victim, VictimPod
from controllers.gangs.lifecycle.confirming import Confirmed, confirm
from controllers.gangs.lifecycle.effects import CannotSchedule, Commit, Effect, End, Judge
from controllers.gangs.lifecycle.life import Ending, Former, RoomMade
from controllers.gangs.lifecycle.observations import (
    Compared,
    GroupGone,
    MembersSeen,
    Relented,
    Remembered,
    Stored,
)
from controllers.gangs.lifecycle.plan_seen import MemberProof, PlanSeen
from controllers.gangs.lifecycle.settings import Confirmation
from controllers.gangs.lifecycle.stored_plan import InVain, StoredPlan
from controllers.gangs.lifecycle.vain import continues, history, room_made, taken_until
from controllers.gangs.scheduler.proofs import Proof
from tests.unit.controllers.gangs.lives import CONFIRMED, RULES, Gang, decided, in_phase

NOBODY = frozenset[str]()


def plan(placed: str, victims: str = "", outcome: Any = "Preempts") -> PreemptionPlanSpec:
    """`placed`: nodes of members; `victims`: `POD@NODE`."""
    pods = [each.partition("@") for each in victims.split()]
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "team", "gang", "uid", 100),
        outcome=outcome,
        reason="",
        placements=[
            Placement(f"m{number}", node, f"m{number}") for number, node in enumerate(placed.split())
        ],
        victims=[
            Victim("Pod", "team", pod, pod, 1, False, [VictimPod("team", pod, pod, node)])
            for pod, _, node in pods
        ],
    )


def made(went: str, overdue: str = "", settled: str = "", taken: str = "", changed: str = "") -> RoomMade:
    """Of a plan that places members on n0 and n1, and evicts there and, for a whole group, on n2."""
    return room_made(
        plan("n0 n1", "a@n0 b@n1 c@n2"),
        went=went.split().__contains__,
        overdue=overdue.split().__contains__,
        settled=settled.split(),
        taken=taken.split(),
        changed=changed.split(),
    )


@pytest.mark.parametrize(
    ("given", "pods", "nodes", "open_", "taken"),
    [
        (("",), 0, "", "", ""),
        (("a",), 1, "n0", "n0", ""),
        (("a b c",), 3, "n0 n1", "n0 n1", ""),
        (("c",), 1, "", "", ""),
        (("a b", "a"), 2, "n1", "n1", ""),
        (("a b", "", "n0"), 2, "n0 n1", "n1", ""),
        (("a", "", "", "n0 n1 n2"), 1, "n0", "n0", "n0"),
        (("a b", "", "", "", "n0"), 2, "n1", "n1", ""),
    ],
)
def test_the_room_that_a_plan_made(
    given: tuple[str, ...], pods: int, nodes: str, open_: str, taken: str
) -> None:
    expected = (frozenset(each.split()) for each in (nodes, open_, taken))
    assert made(*given) == RoomMade(pods, *expected)


@pytest.mark.parametrize(
    ("room", "following", "goes_on"),
    [
        (made("a b"), plan("n0 n1", outcome="Fits"), True),
        (made("a b"), plan("n0 n5", outcome="Fits"), False),
        (made("a"), plan("n0 n5", "x@n5"), True),
        (made("a"), plan("n0 n1", "b@n1"), True),
        (made("a"), plan("n0 n1", "x@n0"), False),
        (made("a b", "", "n0"), plan("n1", outcome="Fits"), True),
        (made("c"), plan("n0", outcome="Fits"), False),
        (made("a"), plan("", outcome="Unschedulable"), False),
    ],
)
def test_which_plan_goes_on_with_it(room: RoomMade, following: PreemptionPlanSpec, goes_on: bool) -> None:
    former = Former("former", plan("n0 n1", "a@n0 b@n1 c@n2"))
    assert continues(former, room, following) is goes_on


def stored(name: str, **fields: Any) -> StoredPlan:
    nodes = fields.pop("taken", None)
    given: dict[str, Any] = {"touched": 0.0, "bound": 0.0, "in_vain": None, "preemptor": "uid", **fields}
    return StoredPlan(
        meta=ObjectMeta(name=name, namespace="team"),
        owner=("PodGroup", "team", "gang"),
        status=PreemptionPlanStatus(phase="Aborted", taken_nodes=nodes),
        finalized=False,
        committed=0.0,
        evicting=1.0,
        spec=None,
        **given,
    )


def test_what_is_counted_since_the_gang_was_bound() -> None:
    old = stored("old", in_vain=InVain(5.0, 1))
    ran = stored("ran", touched=10.0, bound=10.0)
    new = stored("new", in_vain=InVain(20.0, 3), taken=["n0"])
    other = stored("other", in_vain=InVain(30.0, 1), preemptor="a group of the same name")
    found = history([new, old, other, ran], "uid")
    assert (found.vain, found.at, found.generation, found.nodes) == (1, 20.0, 3, frozenset({"n0"}))
    assert history([ran, other], "uid").vain == 0


def test_a_node_is_spared_twice_as_long_each_time() -> None:
    plans = [stored(f"p{at}", in_vain=InVain(at, 1), taken=["n0"]) for at in (100.0, 1000.0)]
    assert taken_until(plans[:1], 600.0) == {"n0": 700.0}
    assert taken_until(plans, 600.0) == {"n0": 2200.0}


# ---- the reducer

WENT = RoomMade(2, frozenset({"node-of-m0"}), frozenset({"node-of-m0"}), NOBODY)


def ended(reason: str = "late") -> tuple[Gang, list[Effect]]:
    """A gang whose plan has evicted and ended otherwise than Bound."""
    gang = in_phase("Evicting")
    gang(Compared(""))
    return gang, gang.looks(after=301.0)


def next_plan(gang: Gang, version: int = 2, room: RoomMade = WENT, **fields: Any) -> list[Effect]:
    gang(MembersSeen(2, 2, 0))
    return gang(replace(decided(version, **fields), room=room))


def verdicts(effects: list[Effect]) -> list[bool]:
    return [effect.in_vain for effect in effects if isinstance(effect, Judge)]


def test_a_plan_that_evicted_waits_for_its_verdict() -> None:
    gang, effects = ended()
    assert [type(effect) for effect in effects] == [End]
    assert gang.life.former is not None
    assert gang.life.vain == 0


def test_the_next_plan_is_not_acted_upon_if_the_last_one_was_in_vain() -> None:
    gang, _ = ended()
    effects = next_plan(gang, room=replace(WENT, nodes=NOBODY, open=NOBODY))
    assert verdicts(effects) == [True]
    assert [type(effect) for effect in effects] == [Judge]
    assert (gang.life.vain, gang.life.plan) == (1, None)
    assert gang.life.barred == gang.now + 1.0
    assert gang.life.wants_plan
    assert not gang.life.looked


def test_nobody_went_nothing_was_in_vain() -> None:
    gang, _ = ended()
    effects = next_plan(gang, room=RoomMade(0, NOBODY, NOBODY, NOBODY))
    assert [type(effect) for effect in effects] == [Commit]
    assert gang.life.former is None


def test_a_plan_that_goes_on_leaves_it_open_until_it_evicts() -> None:
    gang, _ = ended()
    assert verdicts(next_plan(gang)) == []
    assert gang.life.former is not None
    gang(Stored("Planned"))
    assert verdicts(gang(Compared(""))) == [False]
    assert gang.life.former is None


def test_a_plan_that_goes_on_and_ends_before_it_evicts_forgives_nothing() -> None:
    gang, _ = ended()
    next_plan(gang)
    gang(Stored("Planned"))
    gang.looks(changed="node n0 is gone")
    gang.now += 10
    assert verdicts(next_plan(gang, 3, room=replace(WENT, nodes=NOBODY, open=NOBODY))) == [True]
    assert gang.life.vain == 1


def test_a_plan_that_a_former_process_began_settles_it_at_its_end() -> None:
    """Nobody compares it again: its victims have gone already."""
    gang, _ = ended()
    next_plan(gang)
    assert gang.life.plan is not None
    gang.life = replace(gang.life, plan=replace(gang.life.plan, phase="Evicting", begun=True, writing=None))
    assert verdicts(gang.looks(changed="node n0 is gone")) == [False]


def test_a_plan_that_fits_leaves_it_open() -> None:
    gang, _ = ended()
    assert verdicts(next_plan(gang, outcome="Fits", victims=0)) == []
    assert gang.life.former is not None


@pytest.mark.parametrize("seen", [{"overrun_by": ("team", "high")}, {"group_gone": True}])
def test_what_is_forgiven(seen: dict[str, Any]) -> None:
    gang = in_phase("Evicting")
    gang(Compared(""))
    gang.looks(**seen)
    assert gang.life.former is None


def test_a_group_that_goes_after_its_plan_ended_was_evicted_for_in_vain() -> None:
    gang, _ = ended()
    assert verdicts(gang(GroupGone())) == [True]


def barred() -> Gang:
    gang, _ = ended()
    gang.life = replace(gang.life, vain=1)
    next_plan(gang, room=replace(WENT, nodes=NOBODY, open=NOBODY))
    assert (gang.life.vain, gang.life.barred) == (2, gang.now + 1800.0)
    return gang


def test_after_two_of_them_no_plan_evicts_and_one_that_fits_is_made() -> None:
    gang = barred()
    assert gang(decided(3)) == []
    assert [type(effect) for effect in gang(decided(4, outcome="Fits", victims=0))] == [Commit]


def test_after_two_of_them_a_setback_keeps_the_gang_back_as_long_again() -> None:
    """The delay never gets shorter before the gang is Bound."""
    gang = barred()
    gang.now += 1801.0
    gang(decided(3, outcome="Unschedulable", victims=0))
    assert gang.life.barred == gang.now + 1800.0


def test_the_reason_is_said() -> None:
    gang = barred()
    effects = gang(decided(3, outcome="Unschedulable", victims=0, mismatch="EvictedInVain"))
    assert [effect.reason for effect in effects if isinstance(effect, CannotSchedule)] == ["EvictedInVain"]


def test_it_relents_and_the_next_one_in_vain_bars_it_again() -> None:
    gang = barred()
    gang(Relented())
    assert gang.life.wants_plan
    assert not gang.life.looked
    assert [type(effect) for effect in gang(decided(3))] == [Commit]
    assert gang.life.vain == 2


def test_only_a_gang_that_runs_begins_anew() -> None:
    gang = barred()
    gang(MembersSeen(2, 1, 0))
    assert gang.life.vain == 2
    gang(MembersSeen(2, 2, 2))
    assert (gang.life.vain, gang.life.setbacks, gang.life.barred) == (0, 0, 0.0)


def test_setbacks_double_the_delay_up_to_half_an_hour() -> None:
    gang = Gang()
    gang(Remembered(1, 0.0, None))
    delays = []
    for version in range(14):
        gang.now = max(gang.now, gang.life.barred, gang.life.due)
        gang(MembersSeen(2, 2, 0))
        gang(decided(version, outcome="Unschedulable", victims=0))
        delays.append(gang.life.barred - gang.now)
    assert delays[:4] == [2.0, 4.0, 8.0, 16.0]
    assert delays[-1] == 1800.0
    assert gang.life.due - gang.now <= 60.0, "free room is looked for as often as ever"


@pytest.mark.parametrize(("relented", "left"), [(False, 800.0), (True, 0.0)])
def test_a_new_process_remembers(relented: bool, left: float) -> None:
    gang = Gang()
    gang(Remembered(2, -1000.0, None, relented))
    assert (gang.life.vain, gang.life.barred) == (2, left)


# ---- confirmation after an eviction in vain


@pytest.mark.parametrize(
    ("setting", "cannot_tell", "after_vain", "result"),
    [
        ("Prefer", False, False, Confirmed),
        ("Prefer", False, True, Ending),
        ("Prefer", True, True, Confirmed),
        ("Off", False, False, Confirmed),
        ("Off", False, True, Ending),
        ("Require", True, True, Ending),
        ("Require", True, False, Ending),
    ],
)
def test_the_scheduler_must_confirm_unless_it_cannot_tell(
    setting: Confirmation, cannot_tell: bool, after_vain: bool, result: type
) -> None:
    plan = in_phase("Planned", asking=True, asked=0.0).plan
    unknown = MemberProof(Proof.UNKNOWN, "nothing was seen", None, cannot_tell=cannot_tell)
    seen = PlanSeen(trusted=True, presented=True, proofs={**CONFIRMED, "m1": unknown})
    rules = replace(RULES, confirmation=setting)
    assert isinstance(confirm(plan, seen, 100.0, rules, after_vain=after_vain), result)
