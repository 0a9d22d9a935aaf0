"""Texts for messages: values that are cut because a user may have written megabytes, and counts of things."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any, Final

__all__ = ["counted", "listed", "shown", "some"]

LONGEST: Final = 100
MOST: Final = 10
FEW: Final = 3
CONSTANTS: Final = {None: "null", False: "false", True: "true"}


def counted(number: int, noun: str) -> str:
    """The number with its noun: `1 pod`, `2 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown(value: Any) -> str:
    """The value as Python writes it, but true, false and null as in JSON. A long value is cut."""
    if value is None or isinstance(value, bool):
        return CONSTANTS[value]
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]!r}... ({len(value)} characters)"
    try:
        text = repr(value)
    except ValueError:  # the value has an integer with more digits than Python writes
        return f"{type(value).__name__} with too many digits"
    return text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]}..."


def listed(names: Collection[str]) -> str:
    """The first names with commas between them, and how many more there are."""
    if not names:
        return "none"
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(name[:LONGEST] for name in islice(names, MOST)) + more


def some(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    every = list(names)
    first = ", ".join(every[:FEW])
    return first if len(every) <= FEW else f"{first} and {len(every) - FEW} more"
