"""Work that waits for a moment in which no scheduler calls."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import given

from extender.metrics import CALLS_UNHEARD
from extender.quiet import IDLE_SECONDS, LIMIT_SECONDS, MOST_BYTES, QuietMoments
from tests.kit.clock import ManualClock


class Stage:
    """Moments, and what was done at which time."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.start = self.clock.monotonic()
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self.moments = QuietMoments(self.clock, self._set)
        self.done: list[tuple[str, float]] = []

    def _set(self, seconds: float, what: Callable[[], None]) -> None:
        assert not self._timers, "one timer is enough"
        self._timers.append((self.clock.monotonic() + seconds, what))

    def put(self, key: str, says: str = "", size: int = 1) -> None:
        """Put work that notes `says`."""
        self.moments.put(key, size, lambda: self.done.append((says or key, self.passed)))

    @property
    def passed(self) -> float:
        """Seconds since the beginning."""
        return self.clock.monotonic() - self.start

    @property
    def waits(self) -> bool:
        """Whether a timer is set."""
        return bool(self._timers)

    def run(self, seconds: float) -> None:
        """Let time pass, and call each timer at its time."""
        end = self.clock.monotonic() + seconds
        while self._timers and self._timers[0][0] <= end:
            due, what = self._timers.pop()
            self.clock.advance(max(due - self.clock.monotonic(), 0.0))
            what()
        self.clock.advance(end - self.clock.monotonic())


def test_work_is_done_once_nobody_calls() -> None:
    stage = Stage()
    stage.moments.called()
    stage.put("a")
    stage.put("b")
    assert stage.done == []
    stage.run(IDLE_SECONDS / 2)
    stage.moments.called()
    stage.run(IDLE_SECONDS * 0.9)
    assert stage.done == []
    stage.run(IDLE_SECONDS)
    assert [what for what, _ in stage.done] == ["a", "b"]
    assert not stage.waits


def test_the_newest_work_of_a_key_counts() -> None:
    stage = Stage()
    stage.put("a", "old")
    stage.put("a", "new")
    stage.run(1)
    assert [what for what, _ in stage.done] == ["new"]


def test_who_calls_all_the_time_does_not_keep_work_for_ever() -> None:
    """Also where each call brings newer work of the same key."""
    stage = Stage()
    for _ in range(300):
        stage.moments.called()
        stage.put("a")
        stage.run(0.01)
    times = [time for _, time in stage.done]
    assert len(times) in (2, 3)
    assert all(later - earlier >= LIMIT_SECONDS for earlier, later in pairwise(times))


def test_too_many_bytes_are_not_kept() -> None:
    stage = Stage()
    before = CALLS_UNHEARD._value.get()
    for number in range(5):
        stage.put(str(number), size=MOST_BYTES // 3)
    stage.run(1)
    assert [what for what, _ in stage.done] == ["2", "3", "4"]
    assert CALLS_UNHEARD._value.get() == before + 2
    stage.put("whole", size=2 * MOST_BYTES)
    stage.run(1)
    assert [what for what, _ in stage.done][3:] == ["whole"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 0.3), st.booleans()), max_size=40))
def test_all_work_is_done_in_time(acts: list[tuple[str, float, bool]]) -> None:
    stage = Stage()
    first: dict[str, float] = {}
    for key, pause, calls in acts:
        if calls:
            stage.moments.called()
        else:
            first.setdefault(key, stage.passed)
            stage.put(key)
        stage.run(pause)
        for what, time in stage.done:
            assert time - first.pop(what) <= LIMIT_SECONDS + IDLE_SECONDS
        stage.done.clear()
    stage.run(LIMIT_SECONDS + IDLE_SECONDS)
    assert {what for what, _ in stage.done} == set(first)
    assert not stage.waits
