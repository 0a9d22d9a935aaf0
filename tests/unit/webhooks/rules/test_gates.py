"""KEP-8303: who opens which preemption gate, and when."""

from __future__ import annotations

from typing import Any

import pytest

from schema.verdict import Verdict
from tests.kit.manifests import (
    LATER,
    NOW,
    TIME,
    Pairs,
    condition,
    created,
    gate_state,
    pairs,
    reserved,
    updated,
    workload,
)
from webhooks.rules import Object, Request, default
from webhooks.settings import Settings

GATE = "example.com/gate"
MANAGER = "system:serviceaccount:kueue-system:kueue-controller-manager"
KEPT = Settings(gate_openers={GATE: (MANAGER,)})
STATE = "status.preemptionGates[0]"


def gated(*states: Object, gates: tuple[str, ...] = (GATE,), status: Object | None = None) -> Object:
    """A Workload with gates in spec, and these in its status."""
    whole = {**(status or {}), "preemptionGates": list(states)}
    return workload(preemptionGates=[{"name": gate} for gate in gates], status=whole)


def written(old: Object, new: Object, **fields: Any) -> Verdict:
    """The verdict on an update of the status."""
    return updated(old, new, subresource="status", **fields)


OPEN, CLOSED = gated(gate_state(GATE, "Open", LATER)), gated(gate_state(GATE, "Closed"))


@pytest.mark.parametrize("name", ["gate", GATE, "kueue.x-k8s.io/multikueue", "A_b.C-1"])
def test_a_gate_has_a_qualified_name_with_or_without_a_prefix(name: str) -> None:
    assert created(workload(preemptionGates=[{"name": name}])).allowed


@pytest.mark.parametrize("name", ["-", "a b", "/gate", "example.com/", "Example.com/gate", "a/b/c", "x\n"])
def test_a_gate_with_another_name_is_refused(name: str) -> None:
    bad = workload(preemptionGates=[{"name": GATE}, {"name": name}])
    assert set(pairs(created(bad))) == {("spec.preemptionGates[1].name", "Invalid")}
    assert set(pairs(updated(workload(), bad))) == {("spec.preemptionGates[1].name", "Invalid")}
    assert set(pairs(written(CLOSED, gated(gate_state(name, "Closed"))))) == {(f"{STATE}.name", "Invalid")}


def test_a_stored_name_may_stay_wherever_it_moves_and_get_a_state() -> None:
    bad = workload(preemptionGates=[{"name": GATE}, {"name": "a b"}])
    assert updated(bad, workload(preemptionGates=[{"name": "a b"}])).allowed
    assert written(bad, gated(gate_state("a b", "Closed"), gates=(GATE, "a b"))).allowed
    worse = workload(preemptionGates=[{"name": "a b"}, {"name": "c d"}])
    assert pairs(updated(bad, worse)) == [("spec.preemptionGates[1].name", "Invalid")]


def test_a_position_does_not_change_before_the_last_time_it_did() -> None:
    earlier = [(f"{STATE}.lastTransitionTime", "Invalid")]
    assert pairs(written(OPEN, gated(gate_state(GATE, "Closed", TIME)))) == earlier
    assert pairs(written(OPEN, gated(gate_state(GATE, "Open", TIME)))) == earlier
    assert written(OPEN, gated(gate_state(GATE, "Closed", LATER))).allowed
    assert written(CLOSED, OPEN).allowed
    # The same moment, written in another zone.
    assert written(CLOSED, gated(gate_state(GATE, "Open", "2026-01-02T04:04:05+01:00"))).allowed


def stamped_time(old: Object, new: Object, now: str = NOW) -> str:
    """The time of the first gate after defaulting."""
    request = Request(kind="Workload", operation="UPDATE", subresource="status", new=new, old=old, now=now)
    return str(default(request)["status"]["preemptionGates"][0]["lastTransitionTime"])


def test_a_changed_position_with_the_old_time_is_stamped() -> None:
    moved = gated(gate_state(GATE, "Open", TIME))
    assert stamped_time(CLOSED, moved) == NOW
    assert moved["status"]["preemptionGates"][0]["lastTransitionTime"] == TIME
    assert stamped_time(CLOSED, gated(gate_state(GATE, "Open", "2026-01-02T04:04:05+01:00"))) == NOW
    assert stamped_time(gated(gate_state(GATE, "Closed", "soon")), gated(gate_state(GATE, "Open", ""))) == NOW


def test_nothing_else_is_stamped() -> None:
    assert stamped_time(CLOSED, OPEN) == LATER
    assert stamped_time(CLOSED, CLOSED) == TIME
    assert stamped_time(gated(), gated(gate_state(GATE, "Open"))) == TIME
    # A gate without a position is closed.
    assert stamped_time(CLOSED, gated({"name": GATE, "lastTransitionTime": TIME})) == TIME
    # A clock behind the one that wrote the old time must not make the time earlier.
    assert stamped_time(CLOSED, gated(gate_state(GATE, "Open")), now="2025-01-01T00:00:00Z") == TIME
    assert stamped_time(CLOSED, gated(gate_state(GATE, "Open")), now="") == TIME
    request = Request(
        kind="Workload", operation="UPDATE", new=gated(gate_state(GATE, "Open")), old=CLOSED, now=NOW
    )
    assert default(request) is request.new


FORBIDDEN: Pairs = [(f"{STATE}.position", "Forbidden")]


@pytest.mark.parametrize("old", [CLOSED, gated(), workload(preemptionGates=[{"name": GATE}])])
def test_only_those_who_are_named_open_a_gate(old: Object) -> None:
    assert pairs(written(old, OPEN, user="mallory", settings=KEPT)) == FORBIDDEN
    assert written(old, OPEN, user=MANAGER, settings=KEPT).allowed
    assert written(old, OPEN, user="mallory").allowed
    other = Settings(gate_openers={"gate": (MANAGER,)})
    assert written(old, OPEN, user="mallory", settings=other).allowed


def test_a_gate_that_nobody_may_open_stays_closed() -> None:
    nobody = Settings(gate_openers={GATE: ()})
    verdict = written(CLOSED, OPEN, user=MANAGER, settings=nobody)
    assert pairs(verdict) == FORBIDDEN
    assert verdict.causes[0].message == f"{MANAGER!r} may not open gate {GATE!r}; it is for nobody to open"
    others = Settings(gate_openers={GATE: ("a", "b")})
    (cause,) = written(CLOSED, OPEN, user=MANAGER, settings=others).causes
    assert cause.message == f"{MANAGER!r} may not open gate {GATE!r}; it is for a, b to open"


def test_an_open_gate_may_be_closed_and_written_again_by_anybody() -> None:
    assert written(OPEN, OPEN, user="mallory", settings=KEPT).allowed
    assert written(OPEN, gated(gate_state(GATE, "Closed", LATER)), user="mallory", settings=KEPT).allowed
    assert written(OPEN, gated(), user="mallory", settings=KEPT).allowed


def test_a_gate_is_not_opened_ahead_of_its_being_there() -> None:
    early = gated(gate_state(GATE, "Open"), gates=())
    assert pairs(written(workload(), early, user="mallory", settings=KEPT)) == FORBIDDEN


def test_to_remove_a_closed_gate_is_to_open_it() -> None:
    without = gated(gate_state(GATE, "Closed"), gates=())
    verdict = updated(CLOSED, without, user="mallory", settings=KEPT)
    assert pairs(verdict) == [("spec.preemptionGates", "Forbidden")]
    assert updated(CLOSED, without, user=MANAGER, settings=KEPT).allowed
    assert updated(CLOSED, without, user="mallory").allowed
    assert updated(OPEN, {**without, "status": OPEN["status"]}, user="mallory", settings=KEPT).allowed


def test_without_a_user_it_is_said_that_nobody_checked() -> None:
    verdict = written(CLOSED, OPEN, settings=KEPT)
    assert verdict.allowed
    assert verdict.warnings == (f"{STATE}.position: whether the user may open gate {GATE!r} was not checked",)
    assert written(CLOSED, OPEN, settings=KEPT, user=MANAGER).warnings == ()
    assert written(CLOSED, CLOSED, settings=KEPT).warnings == ()
    assert written(CLOSED, OPEN).warnings == ()


def test_a_state_of_a_gate_that_spec_does_not_have_gets_a_warning() -> None:
    assert written(CLOSED, gated(gate_state("other", "Closed"))).warnings == (
        f"{STATE}: spec has no gate 'other'",
    )
    assert written(CLOSED, CLOSED).warnings == ()


def test_a_gate_that_comes_after_quota_gets_a_warning() -> None:
    held = workload(status=reserved())
    gate = workload(status=reserved(), preemptionGates=[{"name": GATE}])
    assert updated(held, gate).warnings == (
        f"spec.preemptionGates: gate {GATE!r} comes after quota was reserved; it counts after an eviction",
    )
    assert updated(gate, gate).warnings == ()
    waiting = {"conditions": [condition("QuotaReserved", "False")]}
    assert updated(workload(status=waiting), {**gate, "status": waiting}).warnings == ()
