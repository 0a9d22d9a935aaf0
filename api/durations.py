"""Durations in the text form of metav1.Duration, which is the syntax of Go's time.ParseDuration; and spans of time as
people ask for them."""

from __future__ import annotations

import re
from typing import Final

from api.words import shown

__all__ = ["DurationError", "parse_duration", "parse_span"]

NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # micro sign
    "\u03bcs": 10**3,  # Greek letter mu
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
UNIT: Final = "|".join(sorted(NANOSECONDS, key=len, reverse=True))
PART: Final = re.compile(rf"(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>{UNIT})")
LIMIT: Final = 2**63
"""Go counts nanoseconds in 64 bits: from -LIMIT to LIMIT - 1."""
TOO_LONG: Final = "is too long: its nanoseconds do not fit 64 bits"
MAX_DIGITS: Final = len(str(LIMIT))
MAX_PLACES: Final = 400
"""How many digits of a fraction can change the result. After 308 zeros, the floating-point scale is infinite."""


SPAN_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SPAN: Final = re.compile(r"(?:[0-9]+[smhd])+")
SPAN_PART: Final = re.compile(r"([0-9]+)([smhd])")
LONGEST_SPAN: Final = 366 * 86400
MOST_SPAN_CHARACTERS: Final = 64


class DurationError(ValueError):
    """A text is not a duration, or it is a duration that Go cannot hold."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"{shown(text)} {problem}")


def parse_duration(text: str) -> int:
    """The duration in microseconds, rounded down.

    Rounding down keeps comparisons exact: a whole number of microseconds is greater than the result if and only if it
    is greater than the duration. Raises DurationError for a text that time.ParseDuration refuses.
    """
    sign = text[:1] if text[:1] in ("-", "+") else ""
    if text == sign + "0":
        return 0
    nanoseconds, position = 0, len(sign)
    while True:
        part = PART.match(text, position)
        if part is None:
            raise DurationError(text, "is not a duration, such as 90s or 1h30m")
        more = _nanoseconds(part)
        nanoseconds = (nanoseconds + more) % 2**64  # Go's addition wraps, so that twice the limit is 0
        if max(more, nanoseconds) > LIMIT:
            raise DurationError(text, TOO_LONG)
        position = part.end()
        if position == len(text):
            break
    if nanoseconds == LIMIT and sign != "-":
        raise DurationError(text, TOO_LONG)
    return (-nanoseconds if sign == "-" else nanoseconds) // 1000


def parse_span(text: str) -> int:
    """The seconds of 90s, 30m, 2h, 1h30m or 7d: from a second to a year. Raises ValueError."""
    if len(text) > MOST_SPAN_CHARACTERS or SPAN.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no duration such as 30m, 2h or 1h30m")
    seconds = sum(int(number) * SPAN_UNITS[unit] for number, unit in SPAN_PART.findall(text))
    if not 0 < seconds <= LONGEST_SPAN:
        raise ValueError(f"{text!r} is not between a second and a year")
    return seconds


def _nanoseconds(part: re.Match[str]) -> int:
    unit, whole = NANOSECONDS[part["unit"]], part["whole"].lstrip("0")
    if len(whole) > MAX_DIGITS:
        return LIMIT + 1
    return int(whole or "0") * unit + _of_fraction(part["fraction"] or "", unit)


def _of_fraction(digits: str, unit: int) -> int:
    """The nanoseconds of a fraction. Like Go: in floating point, without the digits that do not fit 64 bits."""
    value, scale = 0, 1.0
    for digit in digits[:MAX_PLACES]:
        longer = value * 10 + int(digit)
        if longer > LIMIT:
            break
        value, scale = longer, scale * 10
    return int(value * (unit / scale))
