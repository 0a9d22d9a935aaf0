"""Durations, as Go's time.ParseDuration reads them."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.durations import DurationError, parse_duration

UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 6 * 10**10,
    "h": 36 * 10**11,
}
LONGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("+0", 0),
        ("0s", 0),
        ("4h", 4 * 3600 * 10**6),
        ("1h30m", 5400 * 10**6),
        ("+5s", 5 * 10**6),
        ("1.5h", 5400 * 10**6),
        (".5s", 500_000),
        ("5.s", 5_000_000),
        ("1m1m", 120 * 10**6),  # units may repeat, in any order
        ("3ms1h", 3600 * 10**6 + 3000),
        ("2562047h47m16.854775807s", LONGEST // 1000),
        ("-2562047h47m16.854775808s", -(2**63) // 1000),
        ("00000000000000000000001s", 10**6),
        ("0.33333333333333333333s", 333_333),
        ("0.9223372036854775807h", 3320_413_933),  # the digit that does not fit 64 bits is left out
        ("0." + "0" * 300 + "9" * 400 + "h", 0),
        ("0." + "0" * 1_000_000 + "1h", 0),
        ("0." + "9" * 1_000_000 + "s", 1_000_000),
        ("0" * 1_000_000 + "1s", 1_000_000),
        ("0s" * 500_000 + "1s", 1_000_000),
        ("9.99us", 9),
        ("1ns", 0),
        ("-1ns", -1),  # rounded down
        ("9223372036854775808ns" * 2, 0),  # Go adds in 64 bits, and looks after it added
        ("9223372036854775808ns" * 2 + "1ms", 1000),
    ],
    ids=lambda value: f"{len(value)} characters" if isinstance(value, str) and len(value) > 100 else None,
)
def test_durations(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "+",
        "1",
        "00",
        "s",
        ".s",
        "-.s",
        "1d",
        "1hm",
        "1h1",
        "1 h",
        " 1h",
        "1h\n",
        "--1h",
        "1e3s",
        "1,5h",
        "\u0661s",
        "1H",
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(DurationError) as refusal:
        parse_duration(text)
    assert str(refusal.value) == f"{text!r} is not a duration, such as 90s or 1h30m"


@pytest.mark.parametrize("text", ["9" * 5000 + "h", "x" * 5000])
def test_of_a_long_text_the_beginning_is_said(text: str) -> None:
    with pytest.raises(DurationError) as refusal:
        parse_duration(text)
    assert str(refusal.value).startswith(f"{text[:100]!r}... ({len(text)} characters) is ")


@pytest.mark.parametrize(
    "text",
    [
        "2562047h47m16.854775808s",
        "-2562047h47m16.854775809s",
        "9223372036854775808ns",
        "9223372036854775808ns" * 3,
        "9223372036854775808ns1ns" + "9223372036854775807ns",
        "2562048h",
        "9" * 5000 + "h",
    ],
)
def test_what_go_cannot_hold(text: str) -> None:
    with pytest.raises(DurationError, match="is too long"):
        parse_duration(text)


PARTS = st.lists(st.tuples(st.integers(0, 10**20), st.sampled_from(sorted(UNITS))), min_size=1, max_size=4)


@given(sign=st.sampled_from(["", "+", "-"]), parts=PARTS)
def test_whole_numbers_add_up(sign: str, parts: list[tuple[int, str]]) -> None:
    text = sign + "".join(f"{number}{unit}" for number, unit in parts)
    nanoseconds = sum(number * UNITS[unit] for number, unit in parts) * (-1 if sign == "-" else 1)
    if -(2**63) <= nanoseconds <= LONGEST:
        assert parse_duration(text) == nanoseconds // 1000
    else:
        with pytest.raises(DurationError):
            parse_duration(text)


@given(
    whole=st.integers(0, 2000), digits=st.text("0123456789", max_size=30), unit=st.sampled_from(sorted(UNITS))
)
def test_fractions_are_cut_to_nanoseconds(whole: int, digits: str, unit: str) -> None:
    exact = (whole + Fraction(int(digits or "0"), 10 ** len(digits))) * UNITS[unit]
    # Go multiplies in floating point, which may be a nanosecond off either way.
    assert (exact - 1) // 1000 <= parse_duration(f"{whole}.{digits}{unit}") <= (exact + 1) // 1000


@given(st.text(st.sampled_from("0123456789.+-nuµmsh xé"), max_size=12))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with suppress(DurationError):
        assert -(2**63) <= parse_duration(text) * 1000 <= LONGEST
