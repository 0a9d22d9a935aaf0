"""Looks at large plans leave the event loop nine tenths of the time, and none is forgotten."""

from __future__ import annotations

from controllers.gangs.pace import Pace
from tests.kit.clock import ManualClock

GANG = ("team", "gang")


def test_a_short_look_is_repeated_at_once() -> None:
    pace = Pace(ManualClock())
    pace.looked(GANG, 0.0001)
    assert not pace.rests(GANG)
    assert pace.due_in() is None


def test_after_a_long_look_the_gang_is_left_alone_and_then_looked_at() -> None:
    clock = ManualClock()
    pace = Pace(clock)
    pace.looked(GANG, 0.5)
    assert pace.due_in() is None, "nobody wants to look"
    assert pace.rests(GANG)
    assert (pace.due(), pace.due_in()) == ([], 4.5)
    clock.advance(4.5)
    assert (pace.due(), pace.due_in()) == ([GANG], 0.0)
    assert not pace.rests(GANG)
    pace.looked(GANG, 0.0)
    assert pace.due() == []


def test_a_gang_without_a_plan_is_not_waited_for() -> None:
    pace = Pace(ManualClock())
    pace.looked(GANG, 0.5)
    assert pace.rests(GANG)
    pace.forget(GANG)
    assert (pace.due(), pace.due_in(), pace.rests(GANG)) == ([], None, False)
