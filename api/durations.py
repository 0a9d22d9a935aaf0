"""Durations as metav1.Duration is written: the syntax of Go's time.ParseDuration."""

from __future__ import annotations

import re
from typing import Final

from api.words import shown

__all__ = ["DurationError", "parse_duration"]

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
"""Go counts nanoseconds in 64 bits: down to minus this, up to one less."""
TOO_LONG: Final = "is too long: its nanoseconds do not fit 64 bits"
MAX_DIGITS: Final = len(str(LIMIT))
MAX_PLACES: Final = 400
"""Digits of a fraction that can make a difference: after 308 zeros the floating point's scale is infinite."""


class DurationError(ValueError):
    """Text that is no duration, or one that Go cannot hold."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"{shown(text)} {problem}")


def parse_duration(text: str) -> int:
    """The duration in microseconds, rounded down.

    So as many microseconds are longer than the result if and only if they are longer than the duration. Raises
    DurationError for what time.ParseDuration refuses.
    """
    sign = text[:1] if text[:1] in ("-", "+") else ""
    if text == sign + "0":
        return 0
    nanoseconds, position = 0, len(sign)
    while True:
        part = PART.match(text, position)
        if part is None:
            raise DurationError(text, "is no duration, such as 90s or 1h30m")
        more = _nanoseconds(part)
        nanoseconds = (nanoseconds + more) % 2**64  # as Go adds, so that twice the limit is nothing
        if max(more, nanoseconds) > LIMIT:
            raise DurationError(text, TOO_LONG)
        position = part.end()
        if position == len(text):
            break
    if nanoseconds == LIMIT and sign != "-":
        raise DurationError(text, TOO_LONG)
    return (-nanoseconds if sign == "-" else nanoseconds) // 1000


def _nanoseconds(part: re.Match[str]) -> int:
    unit, whole = NANOSECONDS[part["unit"]], part["whole"].lstrip("0")
    if len(whole) > MAX_DIGITS:
        return LIMIT + 1
    return int(whole or "0") * unit + _of_fraction(part["fraction"] or "", unit)


def _of_fraction(digits: str, unit: int) -> int:
    """In floating point, and without the digits that do not fit 64 bits, as Go does it."""
    value, scale = 0, 1.0
    for digit in digits[:MAX_PLACES]:
        longer = value * 10 + int(digit)
        if longer > LIMIT:
            break
        value, scale = longer, scale * 10
    return int(value * (unit / scale))
