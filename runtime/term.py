"""A term: the time during which one process may act."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from api.clock import Clock

__all__ = ["EternalTerms", "Term", "Terms"]


@dataclass(frozen=True, slots=True)
class Term:
    """The time during which this process may write.

    `number` grows from term to term. Nothing may be written after `deadline` (monotonic seconds).
    """

    number: int
    deadline: float
    clock: Clock

    @property
    def is_over(self) -> bool:
        """Whether the process may no longer act."""
        return self.clock.monotonic() >= self.deadline

    def allows(self) -> bool:
        """Whether a writer of this term may send a write now."""
        return not self.is_over


class Terms(Protocol):
    """The source of terms."""

    def __aiter__(self) -> AsyncIterator[Term]:
        """Yield each term of this process when it begins. The caller asks for the next one after the last has ended."""


@dataclass(frozen=True, slots=True)
class EternalTerms:
    """One term without an end, for a single replica without an election."""

    clock: Clock

    async def __aiter__(self) -> AsyncIterator[Term]:
        """Yield the only term, with number 1."""
        yield Term(1, math.inf, self.clock)
