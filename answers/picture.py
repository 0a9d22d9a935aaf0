"""What an answer is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quota.answers.picture import QuotaPicture

__all__ = ["Picture"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A cluster at one moment. Nothing changes it."""

    moment: int
    """In microseconds since 1970."""
    quota: QuotaPicture
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The labels of namespaces."""
