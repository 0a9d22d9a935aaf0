"""Times in objects: one reader and one writer of RFC 3339.

Like every component of Kubernetes, the reader accepts what Go's `time.Parse(time.RFC3339, ...)` accepts: no lower-case
`t` or `z`, no second 60, always a zone. A schema may accept other texts in a custom resource. So code that reads a
stored time must expect the ValueError.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

__all__ = ["EPOCH_SECONDS", "SECOND", "instant", "is_zero", "parse_rfc3339", "rfc3339", "rfc3339_micro"]

TIME: Final = re.compile(
    r"(?P<moment>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?"
    r"(?:Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))"
)
FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_SECONDS: Final = (EPOCH - FIRST) // timedelta(seconds=1)
"""From January 1 of the year 1 to 1970."""
SECOND: Final = 10**9
"""In nanoseconds."""
CACHED_LENGTH: Final = 64
"""Longer texts are not cached. No valid time is longer in practice, and such texts would fill the memory."""
MIDNIGHT: Final = "T00:00:00Z"
USUAL_LENGTH: Final = len("2026-01-02") + len(MIDNIGHT)
MINUTES: Final = {f"T{each // 60:02}:{each % 60:02}": each * 60 * SECOND for each in range(24 * 60)}
"""Nanoseconds since midnight, by the text of a minute."""
SECONDS: Final = {f":{each:02}Z": each * SECOND for each in range(60)}
"""The same within a minute."""
SHOWN: Final = 40
"""How many characters of an invalid text a message shows."""


def instant(text: str) -> int | None:
    """Nanoseconds since January 1 of the year 1, or None if Go does not accept the text as a time."""
    if len(text) == USUAL_LENGTH:
        # A cluster has more times than anybody remembers, but few days. API servers write all times like this.
        minute, second = MINUTES.get(text[10:16]), SECONDS.get(text[16:])
        if minute is not None and second is not None:
            day = _cached(text[:10] + MIDNIGHT)
            return None if day is None else day + minute + second
    return _cached(text) if len(text) <= CACHED_LENGTH else _instant(text)


@lru_cache(maxsize=1 << 12)
def _cached(text: str) -> int | None:
    return _instant(text)


def _instant(text: str) -> int | None:
    match = TIME.fullmatch(text)
    if match is None:
        return None
    hours, minutes = int(match["hours"] or 0), int(match["minutes"] or 0)
    if hours > 24 or minutes > 60:
        return None
    year, rest = match["moment"][:4], match["moment"][4:]
    # Python has no year 0, which is a leap year like 400.
    shift = timedelta(days=146097) if year == "0000" else timedelta()
    try:
        moment = datetime.fromisoformat(f"{'0400' if year == '0000' else year}{rest}Z")
    except ValueError:
        return None
    offset = (hours * 3600 + minutes * 60) * (-1 if match["sign"] == "-" else 1)
    seconds = (moment - FIRST - shift) // timedelta(seconds=1) - offset
    return seconds * SECOND + int((match["fraction"] or "")[:9].ljust(9, "0"))


def is_zero(value: Any) -> bool:
    """Whether Go decodes the JSON value to the zero time."""
    return value is None or (isinstance(value, str) and instant(value) == 0)


def parse_rfc3339(text: str, field: str = "") -> float:
    """Seconds since the epoch. Raises ValueError, which names the field, if the text is not an RFC 3339 time."""
    nanoseconds = instant(text)
    if nanoseconds is None:
        raise ValueError(f"{field and f'{field}: '}{text[:SHOWN]!r} is not an RFC 3339 time")
    return (nanoseconds - EPOCH_SECONDS * SECOND) / SECOND


def rfc3339(seconds: float) -> str:
    """The text of a meta/v1 Time: UTC, whole seconds. `seconds` since the epoch; ValueError beyond years 1 to 9999."""
    return f"{_moment(seconds).isoformat(timespec='seconds')}Z"


def rfc3339_micro(seconds: float) -> str:
    """The text of a meta/v1 MicroTime: UTC, microseconds. `seconds` and ValueError as in `rfc3339`."""
    return f"{_moment(seconds).isoformat(timespec='microseconds')}Z"


def _moment(seconds: float) -> datetime:
    try:
        return (EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None)
    except OverflowError:
        raise ValueError(f"{seconds} seconds after 1970 is outside the years 1 to 9999") from None
