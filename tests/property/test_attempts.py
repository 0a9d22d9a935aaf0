"""Random schedulers against the estimate of the next attempt: it comes no sooner, and no later than it may."""

from __future__ import annotations

from math import floor, sqrt

import hypothesis.strategies as st
from hypothesis import given, settings

from controllers.gangs.scheduler.attempts import WINDOW_SECONDS, Attempts, Backoffs
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


@given(
    first=st.integers(1, 3),
    more=st.integers(0, 12),
    members=st.integers(1, 1000),
    attempts=st.lists(st.tuples(SHORT, SHORT, st.booleans()), min_size=1, max_size=12),
    missed=st.integers(0, 12),
    start=st.floats(0.0, 1.0),
)
@settings(max_examples=examples(300), deadline=None)
def test_the_next_attempt_comes_in_time(
    first: int,
    more: int,
    members: int,
    attempts: list[tuple[float, float, bool]],
    missed: int,
    start: float,
) -> None:
    """`attempts`: seconds that a real and a simulated pass take, and whether the real one shows itself."""
    queue, backoffs = Queue(first, first + more), Backoffs(first, first + more)
    at, took = start, 0.0
    for _ in range(missed):
        at = queue.next_attempt(at, members)
    seen = Attempts(at - 0.001, all_seen=not missed)
    for real, simulated, shows in attempts:
        due = seen.estimate(members, backoffs)
        assert due.is_known or missed
        if seen.count:
            assert not due.is_known or at >= due.latest - WINDOW_SECONDS - ROUNDING_SECONDS
            assert at <= due.latest + took + ROUNDING_SECONDS
        seen = seen.begin_pass(at, members, backoffs) if shows else seen
        seen = seen.begin_pass(at + real, members, backoffs)
        took = simulated
        at = queue.next_attempt(at + real + simulated, members)
    assert seen.count == len(attempts)
