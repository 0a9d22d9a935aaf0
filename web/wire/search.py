"""What a search finds."""

from __future__ import annotations

from answers.search import FoundKind
from web.wire.base import Wire

__all__ = ["Found", "FoundObject"]


class FoundObject(Wire):
    """An object that has a view."""

    kind: FoundKind
    namespace: str
    """Empty for a ClusterQueue and a node."""
    name: str


class Found(Wire):
    """What a search has found."""

    found: list[FoundObject]
    more: bool
    """Whether there are more than these."""
