"""Limits on evictions that are reached, as the leader's Lease says it (`api.published.LIMITS_REACHED`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

__all__ = ["ReachedLimit", "limits_in", "limits_text"]

MOST_LIMITS: Final = 50
"""On the Lease: a limit may be reached in many namespaces."""


class ReachedLimit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A limit that holds evictions back."""

    limit: str
    """A field of `planning.limits`."""
    waiting: int
    """Number of preemptors that it keeps from evicting."""
    namespace: str = ""
    """Of the victims. Empty for a limit of everything."""
    until: str = ""
    """When the first preemptor may go on at the earliest (RFC 3339). Empty if that is not known."""

    def __str__(self) -> str:
        where = f" for victims in namespace {self.namespace}" if self.namespace else ""
        until = f" until {self.until}" if self.until else ""
        number = "1 preemptor is" if self.waiting == 1 else f"{self.waiting} preemptors are"
        return f"planning.limits.{self.limit} is reached{where}{until}: {number} held back"


def limits_text(reached: Sequence[ReachedLimit]) -> str:
    """The first of them as a JSON list."""
    return msgspec.json.encode(reached[:MOST_LIMITS]).decode()


def limits_in(text: str) -> list[ReachedLimit]:
    """The same, read again. Text that somebody else wrote says nothing."""
    try:
        return msgspec.json.decode(text or "[]", type=list[ReachedLimit])
    except msgspec.DecodeError:
        return []
