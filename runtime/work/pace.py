"""How many writes may be in flight: it follows the time that a write takes.

An API server that has room answers as fast however many writes there are. One that has none makes all of them slower,
so more writes in flight would only make them wait longer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kube.errors import ApiError

__all__ = ["Pace"]

GENERATION: Final = 32
"""The mean time of this number of writes is compared."""
FLAT: Final = 1.25
"""A mean time is flat up to this multiple of the usual one."""
DOUBLED: Final = 2.0
LEAST: Final = 0.25
MOST: Final = 4.0
"""Bounds of the factor."""
STEP: Final = 1.0625
OVERLOADED: Final = frozenset({429, 503})


class Pace:
    """A factor for numbers of slots. It grows by a sixteenth while the time of a write stays flat, and halves when that
    doubles, or when the API server says that it has too much to do."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Nothing was in flight for a while. What was learnt before may not hold any longer."""
        self._factor = 1.0
        self._usual: float | None = None
        """The mean time of a write, in seconds, that others are compared with. None: the next generation says it."""
        self._sum, self._count = 0.0, 0
        self._has_halved = False
        """In this generation: what was in flight then says nothing new."""

    def of(self, slots: int) -> int:
        """How many slots there are now in place of this number."""
        return max(1, round(slots * self._factor))

    def took(self, seconds: float) -> None:
        """A write was answered after these seconds."""
        self._sum += seconds
        self._count += 1
        if self._count < GENERATION:
            return
        mean, halved = self._sum / self._count, self._has_halved
        self._sum, self._count, self._has_halved = 0.0, 0, False
        if halved:
            return
        if self._usual is None:
            self._usual = mean
        elif mean >= DOUBLED * self._usual:
            self._halve()
        elif mean <= FLAT * self._usual:
            self._factor = min(MOST, self._factor * STEP)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """One write. Its time counts if it was answered."""
        start = time.monotonic()
        try:
            yield
        except ApiError as error:
            if error.status:
                self.took(time.monotonic() - start)
            raise
        self.took(time.monotonic() - start)

    def failed(self, error: ApiError) -> None:
        """A write has failed, and is tried again."""
        if error.status in OVERLOADED and not self._has_halved:
            self._halve()
            self._sum, self._count, self._has_halved = 0.0, 0, True

    def _halve(self) -> None:
        """Fewer writes are faster: the usual time is another one from now on."""
        self._factor, self._usual = max(LEAST, self._factor / 2), None
