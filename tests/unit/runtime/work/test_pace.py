"""How many writes are in flight: more while that costs no time, fewer when the API server has too much to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kube.errors import ApiError
from runtime.work.pace import GENERATION, Pace


def write(pace: Pace, seconds: float, generations: int = 1) -> None:
    for _ in range(generations * GENERATION):
        pace.took(seconds)


def overloaded(status: int = 429) -> ApiError:
    return ApiError(status, "TooManyRequests", "later")


def test_it_begins_with_the_number_that_is_given() -> None:
    pace = Pace()
    write(pace, 0.01)
    assert (pace.of(16), pace.of(48)) == (16, 48)


def test_it_grows_while_the_time_of_a_write_stays_flat_and_not_for_ever() -> None:
    pace, sizes = Pace(), list[int]()
    for _ in range(100):
        write(pace, 0.01)
        sizes.append(pace.of(16))
    assert sizes == sorted(sizes)
    assert sizes[-1] == 64


def test_it_halves_when_the_time_of_a_write_doubles() -> None:
    pace = Pace()
    write(pace, 0.01)
    write(pace, 0.02)
    assert pace.of(16) == 8


def test_a_time_between_flat_and_doubled_changes_nothing() -> None:
    pace = Pace()
    write(pace, 0.01)
    write(pace, 0.015, generations=20)
    assert pace.of(16) == 16


@pytest.mark.parametrize("status", [429, 503])
def test_an_api_server_that_has_too_much_to_do_halves_it_once_for_all_that_was_in_flight(status: int) -> None:
    pace = Pace()
    write(pace, 0.01)
    for _ in range(16):
        pace.failed(overloaded(status))
    assert pace.of(16) == 8
    write(pace, 0.5)
    assert pace.of(16) == 8, "the time of those that waited says nothing"
    pace.failed(overloaded(status))
    assert pace.of(16) == 4


def test_other_failures_say_nothing_of_the_load() -> None:
    pace = Pace()
    pace.failed(ApiError(0, "TimeoutError", "no answer in time"))
    assert pace.of(16) == 16


def test_it_never_stops_and_comes_back() -> None:
    pace = Pace()
    for _ in range(20):
        write(pace, 0.01)
        write(pace, 0.03)
    assert pace.of(16) == 4
    write(pace, 0.03, generations=30)
    assert pace.of(16) > 8


@pytest.mark.parametrize(
    "seconds", [lambda size: 0.006 * size, lambda size: max(0.05, 0.006 * size)], ids=["full", "nearly full"]
)
def test_where_more_in_flight_only_wait_longer_it_stays_near_where_it_began(
    seconds: Callable[[int], float],
) -> None:
    pace, sizes = Pace(), list[int]()
    for _ in range(200):
        write(pace, seconds(pace.of(16)))
        sizes.append(pace.of(16))
    assert max(sizes) <= 24
    assert min(sizes) >= 16


def test_a_new_burst_begins_anew() -> None:
    pace = Pace()
    write(pace, 0.01, generations=40)
    pace.begin()
    assert pace.of(16) == 16
    write(pace, 1.0, generations=2)
    assert pace.of(16) > 16
