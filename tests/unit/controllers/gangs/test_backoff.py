"""Backoff: doubling while changes are in vain, over again after a quiet while."""

from __future__ import annotations

from controllers.gangs.backoff import Backoff


def test_doubles_to_the_maximum_while_every_delay_is_used_up() -> None:
    backoff, now, delays = Backoff(1, 60), 0.0, []
    for _ in range(8):
        backoff.failed(now)
        delays.append(backoff.delay)
        now = backoff.due
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]


def test_starts_over_after_a_quiet_while() -> None:
    backoff = Backoff(1, 60)
    backoff.failed(0.0)
    backoff.failed(1.0)
    assert backoff.delay == 2
    backoff.failed(backoff.due + backoff.delay)
    assert backoff.delay == 1


def test_goes_on_doubling_when_told_that_it_is_the_same_again() -> None:
    backoff = Backoff(1, 60)
    backoff.failed(0.0, again=True)
    backoff.failed(1000.0, again=True)
    assert backoff.delay == 2


def test_reset_makes_the_next_plan_due_at_once() -> None:
    backoff = Backoff(1, 60)
    backoff.failed(100.0)
    backoff.reset()
    assert backoff.due == 0
