"""Long work on the event loop that lets others have their turn."""

from __future__ import annotations

import asyncio
import time
from typing import Final

__all__ = ["Breath"]

BREATH_SECONDS: Final = 0.002
"""How long work goes on. Answers of the extender and the webhooks wait meanwhile."""


class Breath:
    """Made where the work begins. The loop's time is real time, whatever clock the work goes by."""

    def __init__(self, seconds: float = BREATH_SECONDS) -> None:
        self._seconds = seconds
        self._since = time.perf_counter()

    @property
    def is_due(self) -> bool:
        """Whether the work has gone on for long enough."""
        return time.perf_counter() - self._since >= self._seconds

    async def take(self) -> None:
        """Let others have their turn now."""
        await asyncio.sleep(0)
        self._since = time.perf_counter()
