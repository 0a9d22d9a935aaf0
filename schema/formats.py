"""Checks of texts as API servers do them: Go's regular expressions, and the format date-time."""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import Final

__all__ = ["go_pattern", "is_date_time", "matches"]

TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""An escape, a class of characters, or a character."""
IGNORE_CASE: Final = "(?i)"
UNSUPPORTED: Final = ("(?", "\\p", "\\P", "\\Q", "\\C", "\\z", "[[:")
FOLDED: Final = {0x17F: "s", 0x212A: "k"}
"""Two characters outside ASCII. Go takes them for ASCII letters if it ignores case."""
DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")


@cache
def go_pattern(text: str) -> re.Pattern[str]:
    """The pattern as a Python pattern. Raises ValueError if Go and Python could read it differently."""
    body = text.removeprefix(IGNORE_CASE)
    if any(part in body.replace("(?:", "(") for part in UNSUPPORTED):
        raise ValueError(f"no pattern that Go and Python read alike: {text!r}")
    flags = re.ASCII | (re.IGNORECASE if body != text else 0)
    # Python's $ also matches before a final newline.
    tokens = (r"\Z" if token == "$" else token for token in TOKEN.findall(body))  # noqa: S105 - not a password
    return re.compile("".join(tokens), flags)


def matches(pattern: re.Pattern[str], text: str) -> bool:
    """Whether the pattern matches somewhere in the text."""
    if pattern.flags & re.IGNORECASE:
        text = text.translate(FOLDED)
    return pattern.search(text) is not None


def is_date_time(text: str) -> bool:
    """Whether the text has the format date-time as API servers check it.

    This is less strict than RFC 3339: letters may have any case, and offsets may have any size.
    """
    day, _, rest = text.lower().partition("t")
    time = TIME.fullmatch(rest.partition("t")[0])
    if time is None or not _is_date(day):
        return False
    hour, minute, second = time.group(1, 2, 3)
    return hour <= "23" and minute <= "59" and second <= "59"


def _is_date(text: str) -> bool:
    match = DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    try:
        # Python has no year 0. The year 2000 is a leap year like it.
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True
