"""What waits."""

from __future__ import annotations

from answers.waiting import RowKind
from web.wire.base import Wire

__all__ = ["Row", "Waiting"]


class Row(Wire):
    """Something that waits."""

    kind: RowKind
    namespace: str
    name: str
    place: int | None
    """In the order in which gangs are planned. It is no promise."""
    state: str
    sentence: str
    since: str
    priority: int | None
    min_count: int | None
    members: int | None
    bound: int | None
    plan: str
    queue: str


class Waiting(Wire):
    """All that waits, and the reader may list."""

    version: str
    moment: str
    """RFC 3339."""
    trouble: str
    """Why this may be old. Empty if it is not."""
    groups: list[Row]
    pods: list[Row]
    workloads: list[Row]
    missing: list[str]
    """The rights that would show more."""
