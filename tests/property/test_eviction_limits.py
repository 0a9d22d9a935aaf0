"""The limits on evictions against a list of what was evicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import hypothesis.strategies as st
from hypothesis import given, settings

from controllers.gangs.lifecycle.limits import (
    HOUR_SECONDS,
    Asked,
    Evicted,
    EvictionLimits,
    Limited,
    brake,
    limited,
    tally,
)
from tests.kit.examples import examples

NAMESPACES = ("red", "blue")
LIMITS = st.builds(
    EvictionLimits,
    per_plan=st.none() | st.integers(1, 6),
    per_hour=st.none() | st.integers(1, 8),
    per_namespace=st.none() | st.integers(1, 6),
)
SIZES = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any)
TIMES = st.integers(0, 3 * int(HOUR_SECONDS)).map(float)


def pods(name: str, sizes: Sequence[int]) -> dict[str, str]:
    numbers = (
        (place, number) for place, size in zip(NAMESPACES, sizes, strict=True) for number in range(size)
    )
    return {f"{name}-{place}-{number}": place for place, number in numbers}


@settings(max_examples=examples(100), deadline=None)
@given(LIMITS, st.lists(st.tuples(TIMES, SIZES), max_size=12))
def test_no_hour_has_more_evictions_than_the_limits_say(
    limits: EvictionLimits, wishes: list[tuple[float, tuple[int, int]]]
) -> None:
    """Plans come one after the other, and each one that may evicts at once."""
    done: list[Evicted] = []
    for number, (at, sizes) in enumerate(sorted(wishes)):
        wanted = pods(f"p{number}", sizes)
        found = limited(limits, Asked(wanted, tally(done, at), at))
        if found is None:
            done.append(Evicted(wanted, at))
        elif found.waits:
            assert found.until is not None
            assert may(limits, done, wanted, found.until), "it waits for longer than it has to"
            assert not may(limits, done, wanted, found.until - 1.0)
        else:
            assert not may(limits, [], wanted, at), "no hour allows it"
    for start in done:
        hour = [each for each in done if start.at <= each.at < start.at + HOUR_SECONDS]
        assert limits.per_plan is None or len(start.pods) <= limits.per_plan
        assert limits.per_hour is None or sum(len(each.pods) for each in hour) <= limits.per_hour
        for place, count in Counter(place for each in hour for place in each.pods.values()).items():
            assert limits.per_namespace is None or count <= limits.per_namespace, place


def may(limits: EvictionLimits, done: Sequence[Evicted], wanted: dict[str, str], now: float) -> bool:
    return limited(limits, Asked(wanted, tally(done, now), now)) is None


@settings(max_examples=examples(50), deadline=None)
@given(LIMITS, st.lists(SIZES, max_size=3), SIZES, st.booleans())
def test_plans_that_come_first_count_like_evictions(
    limits: EvictionLimits, ahead: list[tuple[int, int]], sizes: tuple[int, int], again: bool
) -> None:
    wanted = pods("mine", sizes)
    planned = [pods(f"p{number}", each) for number, each in enumerate(ahead)]
    if again:
        planned.append(wanted)  # another plan has the same victims: they count once
    before = limited(limits, Asked(wanted, tally((), 0.0), 0.0, planned))
    after = limited(limits, Asked(wanted, tally([Evicted(each, 0.0) for each in planned], 0.0), 0.0))
    assert (before is None) == (after is None)
    assert before is None or after is None or before.reason == after.reason


@settings(max_examples=examples(50), deadline=None)
@given(LIMITS, SIZES, SIZES)
def test_a_pod_whose_namespace_is_not_known_counts_for_every_namespace(
    limits: EvictionLimits, gone: tuple[int, int], sizes: tuple[int, int]
) -> None:
    known = pods("gone", gone)
    wanted = pods("mine", sizes)
    unknown = dict.fromkeys(known, "")
    if may(limits, [Evicted(unknown, 0.0)], wanted, 1.0):
        assert may(limits, [Evicted(known, 0.0)], wanted, 1.0)


def test_a_plan_that_still_evicts_counts_however_long_it_takes() -> None:
    limits, wanted = EvictionLimits(per_hour=1), {"mine": "red"}
    slow = Evicted({"gone": "red"}, 0.0, goes_on=True)
    found = limited(limits, Asked(wanted, tally([slow], 9 * HOUR_SECONDS), 9 * HOUR_SECONDS))
    assert isinstance(found, Limited)
    assert found.until is None
    assert found.message.startswith("it waits: ")


def test_a_preemptor_that_comes_first_keeps_its_limit_and_no_other_one() -> None:
    limits = EvictionLimits(per_hour=9, per_namespace=9)
    first = {("podsPerNamespaceAndHour", "red"): 50.0}
    nothing = tally((), 0.0)
    red = limited(limits, Asked({"mine": "red"}, nothing, 0.0, waiting=dict(first)))  # type: ignore[arg-type]
    assert red is not None
    assert red.until == 50.0
    assert "red" not in red.message, "its readers may not know where others run"
    blue = limited(limits, Asked({"mine": "blue"}, nothing, 0.0, waiting=dict(first)))  # type: ignore[arg-type]
    assert blue is None


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(TIMES, max_size=8), st.integers(1, 4), TIMES, TIMES)
def test_the_brake_lasts_for_an_hour_from_the_verdict_that_reached_the_limit(
    verdicts: list[float], most: int, resumed: float, now: float
) -> None:
    counted = [at for at in verdicts if at > resumed]
    reached = [at for at in counted if sum(at - HOUR_SECONDS < each <= at for each in counted) >= most]
    expected = any(at <= now < at + HOUR_SECONDS for at in reached)
    seen = [at for at in verdicts if at <= now]
    assert (now < brake(seen, most, resumed)) == expected
    assert brake(verdicts, None, resumed) == 0.0
    assert brake(verdicts, most, max([resumed, *verdicts])) == 0.0
