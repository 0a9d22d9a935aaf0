"""Times as Go's time.Parse reads RFC 3339."""

from __future__ import annotations

import pytest

from api.times import instant, is_zero

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
    assert instant(text) is None


def test_the_first_moment_is_no_time_to_go() -> None:
    assert is_zero(None)
    assert is_zero("0001-01-01T00:00:00Z")
    assert is_zero("0001-01-01T01:00:00+01:00")
    assert not is_zero("1970-01-01T00:00:00Z")
    assert not is_zero("soon")
    assert not is_zero(0)
