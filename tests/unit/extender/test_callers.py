from __future__ import annotations

import json

from api.times import parse_rfc3339
from extender.callers import MOST, Callers
from tests.kit.clock import ManualClock


def test_the_last_call_of_each_scheduler_counts() -> None:
    clock = ManualClock()
    callers = Callers(clock)
    assert callers.text() == "{}"
    callers.saw("")
    callers.saw("other")
    first = int(clock.wall())
    clock.advance(5)
    callers.saw("other")
    called = {name: parse_rfc3339(at) for name, at in json.loads(callers.text()).items()}
    assert called == {"default-scheduler": first, "other": first + 5}


def test_the_names_are_bounded_and_those_that_called_last_stay() -> None:
    callers = Callers(ManualClock())
    for number in range(3 * MOST):
        callers.saw("steady")
        callers.saw(f"s{number}")
    called = json.loads(callers.text())
    assert len(called) == MOST
    assert {"steady", f"s{3 * MOST - 1}"} <= called.keys()
