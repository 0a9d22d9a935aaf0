"""Long work whose time moves by work alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

__all__ = ["STEP_SECONDS", "Work"]

STEP_SECONDS = 0.0002


class Work:
    """Its time moves by work alone. `turns` has the seconds of all work between two polls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.turns = [0.0]
        for module in ("breath", "lane"):
            monkeypatch.setattr(f"kube.{module}.perf_counter", lambda: self.now)

    def do(self, seconds: float = STEP_SECONDS) -> None:
        self.now += seconds
        self.turns[-1] += seconds

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Each turn of the loop is noted while the context lasts."""

        async def watch() -> None:
            while True:
                await asyncio.sleep(0)
                self.turns.append(0.0)

        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        yield
        watching.cancel()
