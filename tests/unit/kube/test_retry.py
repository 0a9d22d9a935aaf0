"""Delays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from api.backoff import Backoff

SECONDS = st.floats(0.001, 1e4)


def test_delays_double_to_the_last() -> None:
    backoff = Backoff(1, 60, jitter=0)
    assert [backoff.delay(failures) for failures in range(9)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]


@given(SECONDS, SECONDS, st.floats(0, 1), st.integers(1, 10**9))
def test_delays_stay_within_the_jitter(first: float, last: float, jitter: float, failures: int) -> None:
    exact = Backoff(first, last, jitter=0).delay(failures)
    assert exact <= last
    delay = Backoff(first, last, jitter).delay(failures)
    assert exact * (1 - jitter) * 0.999 <= delay <= exact * (1 + jitter) * 1.001
