"""Random schedulers against the estimate of the next attempt: it comes no sooner, and no later than it may."""

from __future__ import annotations

from math import floor, sqrt
from typing import Literal, get_args

import hypothesis.strategies as st
from hypothesis import given, settings

from controllers.gangs.scheduler.attempts import MANY, WINDOW_SECONDS, Attempts, Backoffs
from tests.kit.examples import examples

ROUNDING_SECONDS = 1e-6
SHORT = st.floats(0.0, 0.5)


class Queue:
    """The scheduler's queue with one group, as plain as can be: it looks at each whole second whose wait is over."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last, self.failures = first, last, 0

    def next_attempt(self, failed: float, members: int) -> float:
        """When the attempt comes after the one that failed at this time."""
        wait, longest = float(self.first), self.last * sqrt(members)
        for _ in range(self.failures):
            wait *= 2
            if wait > longest:
                wait = longest
                break
        self.failures += 1
        return floor(failed + wait) + 1.0


Shown = Literal["both", "simulated", "neither"]
"""Which passes of an attempt call filter: those in which a node passes the scheduler's own filters."""


@given(
    first=st.integers(1, 3),
    more=st.integers(0, 12),
    members=st.integers(1, 1000),
    attempts=st.lists(
        st.tuples(SHORT, SHORT, st.sampled_from(get_args(Shown)), st.floats(0.0, 1.0)),
        min_size=1,
        max_size=12,
    ),
    missed=st.integers(0, 12),
    start=st.floats(0.0, 1.0),
)
@settings(max_examples=examples(300), deadline=None)
def test_the_next_attempt_comes_in_time(
    first: int,
    more: int,
    members: int,
    attempts: list[tuple[float, float, Shown, float]],
    missed: int,
    start: float,
) -> None:
    """`attempts`: seconds that a real and a simulated pass take, which of them show themselves, and when a plan comes:
    the part of the wait after the attempt."""
    queue, backoffs = Queue(first, first + more), Backoffs(first, first + more)
    at = start
    for _ in range(missed):
        at = queue.next_attempt(at, members)
    seen = Attempts(at - 0.001, missed=MANY if missed else 0)
    all_shown, opened, took = not missed, seen.since, 0.0
    for real, simulated, shown, part in attempts:
        due = seen.estimate(opened, members, backoffs)
        if due.is_known:
            assert at >= due.latest - WINDOW_SECONDS - ROUNDING_SECONDS or not seen.count
        assert at <= due.latest + took + ROUNDING_SECONDS
        if all_shown and opened <= seen.called:
            assert due.is_known
        if shown == "both":
            seen = seen.begin_pass(at, members, backoffs)
        if shown != "neither":
            seen = seen.begin_pass(at + real, members, backoffs)
        all_shown = all_shown and shown != "neither"
        over, took = at + real + simulated, simulated if shown != "neither" else real + simulated
        at = queue.next_attempt(over, members)
        opened = over + part * (at - over) if shown == "neither" or part > 0.5 else seen.called
    assert seen.count <= len(attempts)
