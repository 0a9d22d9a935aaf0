"""Times as Go's time package reads RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

__all__ = ["instant", "is_zero", "parse_rfc3339", "rfc3339", "rfc3339_micro_now", "rfc3339_now"]

TIME: Final = re.compile(
    r"(?P<moment>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?"
    r"(?:Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))"
)
EPOCH: Final = datetime(1, 1, 1, tzinfo=UTC)
SECOND: Final = 10**9
CACHED_LENGTH: Final = 64
"""Longer texts are not kept: nobody writes them in earnest, and they would fill the memory."""


def instant(text: str) -> int | None:
    """Nanoseconds since the first of January of the year 1; None for what Go does not take as a time."""
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
    seconds = (moment - EPOCH - shift) // timedelta(seconds=1) - offset
    return seconds * SECOND + int((match["fraction"] or "")[:9].ljust(9, "0"))


def is_zero(value: Any) -> bool:
    """Whether Go takes the JSON value as no time at all."""
    return value is None or (isinstance(value, str) and instant(value) == 0)


def rfc3339(seconds: float) -> str:
    """A time (seconds since the epoch) as meta/v1 Time has it: UTC, whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_now() -> str:
    """The present as meta/v1 Time has it: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro_now() -> str:
    """The present as meta/v1 MicroTime has it: UTC, microseconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> float:
    """Seconds since the epoch; a time without a zone is UTC. Raises ValueError for what is no time."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
