"""Limits: how often, and how many at once."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.kit.clock import ManualClock
from web.errors import Refused
from web.limits import FORGET_ABOVE, AtOnce, Rate

COUNT, SECONDS = 5, 2.0


def refusal(rate: Rate[str], key: str) -> Refused | None:
    try:
        rate.take(key)
    except Refused as error:
        return error
    return None


def test_whoever_was_quiet_may_ask_at_once() -> None:
    clock = ManualClock()
    rate = Rate[str]("requests", COUNT, SECONDS, clock)
    assert [refusal(rate, "a") for _ in range(COUNT)] == [None] * COUNT
    error = refusal(rate, "a")
    assert error is not None
    assert (error.status, error.reason, error.after) == (429, "TooManyRequests", 1)
    assert refusal(rate, "b") is None, "a limit for each"
    clock.advance(SECONDS)
    assert [refusal(rate, "a") for _ in range(COUNT)] == [None] * COUNT


def test_who_comes_back_after_the_said_time_is_answered() -> None:
    clock = ManualClock()
    rate = Rate[str]("questions", 30, 60.0, clock)
    for _ in range(30):
        rate.take("a")
    for _ in range(5):
        error = refusal(rate, "a")
        assert error is not None
        assert error.after is not None
        clock.advance(error.after)
        assert refusal(rate, "a") is None


def test_those_who_are_quiet_are_forgotten() -> None:
    clock = ManualClock()
    rate = Rate[int]("requests", COUNT, SECONDS, clock)
    for key in range(4 * FORGET_ABOVE):
        rate.take(key)
        clock.advance(0.01)
    assert len(rate._paid_until) <= 2 * FORGET_ABOVE


class Rates(RuleBasedStateMachine):
    """In no time span are more answered than the limit allows, and no less than it promises."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock(monotonic=0.0)
        self.rate = Rate[str]("requests", COUNT, SECONDS, self.clock)
        self.answered: dict[str, list[float]] = {"a": [], "b": []}

    @rule(key=st.sampled_from("ab"), times=st.integers(1, 8))
    def ask(self, key: str, times: int) -> None:
        now = self.clock.monotonic()
        for _ in range(times):
            within = [at for at in self.answered[key] if at > now - SECONDS]
            error = refusal(self.rate, key)
            if error is None:
                self.answered[key].append(now)
            else:
                assert within, "who has not asked for a while is answered"

    @rule(seconds=st.floats(0, 3))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def no_more_than_allowed(self) -> None:
        for times in self.answered.values():
            for first, begin in enumerate(times):
                for last, end in enumerate(times[first:], first):
                    assert last - first + 1 <= COUNT * (end - begin) / SECONDS + COUNT + 1e-6


class Held(RuleBasedStateMachine):
    """A model of what is held at once."""

    MOST = 3

    def __init__(self) -> None:
        super().__init__()
        self.limit = AtOnce[str]("streams", self.MOST, 5.0)
        self.held: list[tuple[str, AbstractContextManager[None]]] = []

    @rule(key=st.sampled_from("ab"))
    def begin(self, key: str) -> None:
        context = self.limit.hold(key)
        if sum(each == key for each, _ in self.held) < self.MOST:
            context.__enter__()
            self.held.append((key, context))
        else:
            with pytest.raises(Refused) as caught:
                context.__enter__()
            assert caught.value.after == 5

    @precondition(lambda self: bool(self.held))
    @rule(data=st.data(), failed=st.booleans())
    def end(self, data: st.DataObject, failed: bool) -> None:
        _, context = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        error = (ValueError, ValueError("failed"), None) if failed else (None, None, None)
        assert not context.__exit__(*error)

    @invariant()
    def nothing_is_left(self) -> None:
        assert sum(self.limit._held.values()) == len(self.held)


TestRates = Rates.TestCase
TestRates.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestHeld = Held.TestCase
TestHeld.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
