"""Pods that a scheduler asks about and that are not known: those that do not come are forgotten."""

from __future__ import annotations

from math import inf

from controllers.gangs.waking.unknown_pods import PATIENCE_SECONDS, UnknownPods
from tests.kit.clock import ManualClock


def test_a_pod_that_does_not_come_is_forgotten_once() -> None:
    clock, known, forgotten = ManualClock(), {"here"}, list[str]()
    unknown = UnknownPods(known.__contains__, forgotten.append, clock)
    assert unknown.due_in() == inf
    for uid in ("here", "comes", "gone"):
        unknown.asked(uid)
    clock.advance(PATIENCE_SECONDS / 2)
    unknown.asked("gone")  # another attempt begins no new time
    unknown.asked("late")
    known.add("comes")
    clock.advance(PATIENCE_SECONDS / 2)
    assert unknown.due_in() == 0.0
    unknown.tick(trusted=False)
    assert forgotten == []
    unknown.tick(trusted=True)
    assert forgotten == ["gone"]
    assert unknown.due_in() == PATIENCE_SECONDS / 2
    clock.advance(PATIENCE_SECONDS)
    unknown.tick(trusted=True)
    assert forgotten == ["gone", "late"]
    assert unknown.due_in() == inf
