"""What a gang waits for, in every phase: the reason and the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from api.times import parse_rfc3339
from controllers.gangs.lifecycle.life import ActivePlan, GangPhase, Life
from controllers.gangs.telling.scheduled_condition import Numbers, PlanNumbers, Said, say
from tests.unit.controllers.gangs.lives import MEMBERS, decided, in_phase, spec

NOW, WALL = 1000.0, parse_rfc3339("2026-01-01T00:00:00Z") + 0.25
WHOLE = Numbers(members=4, required=4, bound=0)
PLAN = PlanNumbers(members=2)


def planned(phase: Any, victims: int = 40, **fields: Any) -> Life:
    return in_phase(phase, victims=victims, **fields).life


def releasing() -> Life:
    life = planned("Evicting")
    assert life.plan is not None
    return replace(life, plan=replace(life.plan, spec=spec("Releases", victims=3), members={}))


def failed(**fields: Any) -> Life:
    return Life(reason="TurnedDown", message="it was refused", complete=True, **fields)


def unschedulable(**fields: Any) -> Life:
    return Life(phase="Unschedulable", reason="Unschedulable", message="no room", complete=True, **fields)


@pytest.mark.parametrize(
    ("life", "seen", "reason", "message"),
    [
        (Life(), Numbers(0, 4, 0), "Gathering", "0 of 4 members exist"),
        (Life(), Numbers(2, 4, 1), "Gathering", "2 of 4 members exist"),
        (Life(), Numbers(0, 1, 0), "Gathering", "0 of 1 member exist"),
        (
            Life(),
            Numbers(2, 4, 0, gated=1),
            "SchedulingGated",
            "2 of 4 members exist; 1 pod has a scheduling gate of another program",
        ),
        (
            Life(),
            Numbers(2, 4, 0, gated=2),
            "SchedulingGated",
            "2 of 4 members exist; 2 pods have a scheduling gate of another program",
        ),
        (
            planned("Planned", victims=0),
            replace(WHOLE, waits_for_gates=True),
            "Ungating",
            "members still have the scheduling gate reprieve.dev/gang",
        ),
        (
            Life(complete=True, untried_until=NOW - 1),
            replace(WHOLE, waits_for_gates=True),
            "Ungating",
            "members still have the scheduling gate reprieve.dev/gang",
        ),
        (unschedulable(), replace(WHOLE, waits_for_gates=True), "Unschedulable", "no room"),
        (
            Life(complete=True, gathering_until=NOW + 2),
            Numbers(2, 2, 0),
            "Gathering",
            "2 of 2 members exist; more may come soon",
        ),
        (
            Life(complete=True),
            WHOLE,
            "Queued",
            "4 of 4 members exist; the group waits for its turn to be planned",
        ),
        (
            Life(complete=True, untried_until=NOW + 5),
            WHOLE,
            "ConfirmationPending",
            "a plan that evicts is made once the scheduler has tried every member, or at 2026-01-01T00:00:06Z",
        ),
        (
            planned("Planned"),
            replace(WHOLE, plan=PlanNumbers(8, confirmed=3)),
            "ConfirmationPending",
            "the scheduler has confirmed 3 of 8 members (plan plan)",
        ),
        (
            planned("Planned", victims=0),
            replace(WHOLE, plan=PlanNumbers(2, leaving=5)),
            "FreeingRoom",
            "room is being freed, 5 pods still terminate (plan plan)",
        ),
        (
            planned("Confirmed"),
            replace(WHOLE, plan=PLAN),
            "FreeingRoom",
            "room is being freed, 0 of 40 pods gone (plan plan)",
        ),
        (
            planned("Evicting"),
            replace(WHOLE, plan=PlanNumbers(2, gone=12)),
            "FreeingRoom",
            "room is being freed, 12 of 40 pods gone (plan plan)",
        ),
        (
            releasing(),
            replace(WHOLE, plan=PlanNumbers(0, gone=1)),
            "ReleasingMembers",
            "the gang never ran whole, and its bound members are released, 1 of 3 pods gone (plan plan)",
        ),
        (
            planned("Ready"),
            replace(WHOLE, plan=PlanNumbers(1)),
            "Ready",
            "the room is free; 1 of 2 planned members are bound (plan plan)",
        ),
        (
            failed(due=NOW + 1.5),
            WHOLE,
            "BackingOff",
            "no eviction for it before 2026-01-01T00:00:02Z, because of TurnedDown: it was refused",
        ),
        (
            Life(complete=True, due=NOW + 1.5),
            WHOLE,
            "BackingOff",
            "no eviction for it before 2026-01-01T00:00:02Z, because of an internal error",
        ),
        (
            failed(due=NOW - 1, barred=NOW + 60, vain=1),
            WHOLE,
            "BackingOff",
            "no eviction for it before 2026-01-01T00:01:01Z, because 1 plan for it evicted pods in vain",
        ),
        (unschedulable(looked=True, due=NOW + 60), WHOLE, "Unschedulable", "no room"),
        (unschedulable(due=NOW - 1), WHOLE, "Unschedulable", "no room"),
        (
            Life(phase="Unschedulable", reason="NotConfirmed", message="nobody said so", due=NOW + 4),
            WHOLE,
            "BackingOff",
            "no eviction for it before 2026-01-01T00:00:05Z, because of NotConfirmed: nobody said so",
        ),
        (
            Life(phase="Unschedulable", reason="EvictedInVain", message="no", looked=True, barred=NOW + 9),
            WHOLE,
            "EvictedInVain",
            "no; no eviction for it before 2026-01-01T00:00:10Z",
        ),
        (
            Life(phase="Blocked", reason="Blocked", message="not modelled: volumes", looked=True),
            WHOLE,
            "Blocked",
            "not modelled: volumes",
        ),
    ],
)
def test_what_a_gang_waits_for(life: Life, seen: Numbers, reason: str, message: str) -> None:
    said = say(life, seen, NOW, WALL)
    assert (said.status, said.reason, said.message) == ("False", reason, message)


def test_a_gang_that_runs_waits_for_nothing() -> None:
    life = Life(phase="Bound", due=NOW + 9, barred=NOW + 9)
    assert say(life, Numbers(5, 4, 4), NOW, WALL) == Said(
        "True", "Scheduled", "4 members are bound, and 4 must run"
    )


def test_a_gang_whose_members_have_succeeded_says_so() -> None:
    said = say(Life(phase="Bound"), Numbers(members=0, required=0, bound=0), NOW, WALL)
    assert said == Said("True", "Scheduled", "members have succeeded, and none has to run any longer")


@pytest.mark.parametrize("phase", get_args(GangPhase))
def test_every_phase_says_something(phase: GangPhase) -> None:
    """Whatever numbers are known of its plan."""
    plan: ActivePlan | None = None
    if phase in ("Planned", "Confirmed", "Evicting", "Ready"):
        plan = ActivePlan(name="plan", spec=decided().spec, members=MEMBERS, deadline=300.0, phase=phase)
    said = say(Life(phase=phase, reason="Why", message="why", plan=plan), WHOLE, NOW, WALL)
    assert said.reason
    assert said.message


@pytest.mark.parametrize(
    "life",
    [
        failed(due=NOW + 7),
        failed(barred=NOW + 7),
        Life(complete=True, untried_until=NOW + 7),
        Life(complete=True, gathering_until=NOW + 7),
        replace(unschedulable(looked=True), barred=NOW + 7),
    ],
)
def test_what_time_alone_makes_untrue_is_known(life: Life) -> None:
    said = say(life, WHOLE, NOW, WALL)
    assert said.until == NOW + 7
    assert say(life, WHOLE, NOW + 6.9, WALL + 6.9) == said, "the text does not change before"
    assert say(life, WHOLE, NOW + 7, WALL + 7) != said
