"""Times are read as Go's time.Parse reads RFC 3339, and written as API servers write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.times import instant, is_zero, parse_rfc3339, rfc3339, rfc3339_micro

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0001-01-01T00:00:00Z", 0),
        ("0001-01-02T00:00:01Z", 86401),
        ("0001-01-01T00:00:00+00:01", -60),
        ("0001-01-01T00:00:00-24:60", 90000),
        ("0001-01-01T00:00:00.5Z", 0.5),
        ("0001-01-01T00:00:00,25Z", 0.25),
        ("0001-01-01T00:00:00.1234567891Z", 0.123456789),
        ("0000-12-31T23:59:59Z", -1),
        ("0000-02-29T00:00:00Z", -307 * 86400),
        ("1970-01-01T00:00:00Z", 62135596800),
    ],
)
def test_a_time(text: str, seconds: float) -> None:
    assert instant(text) == round(seconds * SECOND)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-02",
        "2026-01-02t03:04:05Z",
        "2026-01-02T03:04:05z",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04:05+0100",
        "2026-01-02T03:04:05+25:00",
        "2026-01-02T03:04:05+00:61",
        "2026-02-29T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T3:04:05Z",
        "\u0662026-01-02T03:04:05Z",
        "2026-01-02T03:04:05Z\n",
    ],
)
def test_no_time(text: str) -> None:
    """The CRD of PreemptionPlan lets all of these into `status.conditions[].lastTransitionTime`: it says no format."""
    assert instant(text) is None
    with pytest.raises(ValueError, match=r"^status\.startTime: '.*' is not an RFC 3339 time$"):
        parse_rfc3339(text, "status.startTime")


DIGITS = st.sampled_from("0123456789\u0662")
PARTS = st.tuples(
    st.sampled_from(["0000", "0001", "1900", "2000", "2026", "9999", "\u0662026"]),
    *[st.integers(0, most).map("{:02}".format) for most in (13, 32, 25, 61, 61)],
)


@given(PARTS, st.sampled_from("Zz"), st.data())
def test_the_usual_form_is_read_as_with_a_fraction(
    parts: tuple[str, ...], zone: str, data: st.DataObject
) -> None:
    year, month, day, hour, minute, second = parts
    text = f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone}"
    at = data.draw(st.integers(0, len(text)))
    text = data.draw(st.sampled_from([text, text[:at] + data.draw(DIGITS) + text[at + 1 :]]))
    assert instant(text) == instant(f"{text[:-1]}.{'0' * 60}{text[-1:]}")


def test_the_first_moment_is_no_time_to_go() -> None:
    assert is_zero(None)
    assert is_zero("0001-01-01T00:00:00Z")
    assert is_zero("0001-01-01T01:00:00+01:00")
    assert not is_zero("1970-01-01T00:00:00Z")
    assert not is_zero("soon")
    assert not is_zero(0)


def test_seconds_are_counted_from_1970() -> None:
    assert parse_rfc3339("1970-01-01T00:01:00Z") == 60.0
    assert parse_rfc3339("1970-01-01T01:01:00+01:00") == 60.0
    assert parse_rfc3339("1970-01-01T00:00:00.500000Z") == 0.5
    assert parse_rfc3339("1969-12-31T23:59:59.5Z") == -0.5
    with pytest.raises(ValueError, match=r"^'soon' is not an RFC 3339 time$"):
        parse_rfc3339("soon")
    with pytest.raises(ValueError, match=r"^'x{40}' is not"):
        parse_rfc3339("x" * 10_000)


@given(st.integers(-62135596800 * 10**6, 253402300799 * 10**6))
def test_what_is_written_can_be_read(microseconds: int) -> None:
    seconds = microseconds / 10**6
    for written, unit in ((rfc3339(seconds), 1.0), (rfc3339_micro(seconds), 1e-5)):
        assert len(written) == (20 if unit == 1.0 else 27)
        assert abs(parse_rfc3339(written) - seconds) < unit


def test_years_of_other_than_four_digits_are_not_written() -> None:
    assert rfc3339(0) == "1970-01-01T00:00:00Z"
    assert rfc3339_micro(-0.5) == "1969-12-31T23:59:59.500000Z"
    assert rfc3339(-62135596800) == "0001-01-01T00:00:00Z"
    for seconds in (-62135596801.0, 253402300800.0, 1e300):
        with pytest.raises(ValueError, match="outside the years 1 to 9999"):
            rfc3339(seconds)
