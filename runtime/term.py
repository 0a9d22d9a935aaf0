"""A term: the time in which one process may act."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from api.clock import Clock

__all__ = ["EternalTerms", "Term", "Terms"]


@dataclass(frozen=True, slots=True)
class Term:
    """`number` grows from term to term. After `deadline` (monotonic seconds) nothing may be written."""

    number: int
    deadline: float
    clock: Clock

    @property
    def is_over(self) -> bool:
        """Whether the process may no longer act."""
        return self.clock.monotonic() >= self.deadline

    def allows(self) -> bool:
        """Whether a write may be sent now: the fence of every writer that is made for this term."""
        return not self.is_over


class Terms(Protocol):
    """Where terms come from."""

    def __aiter__(self) -> AsyncIterator[Term]:
        """Each term of this process, when it begins. The next one is asked for when the last has ended."""


@dataclass(frozen=True, slots=True)
class EternalTerms:
    """One term without an end, for a single replica that nobody elects."""

    clock: Clock

    async def __aiter__(self) -> AsyncIterator[Term]:
        """The one term."""
        yield Term(1, math.inf, self.clock)
