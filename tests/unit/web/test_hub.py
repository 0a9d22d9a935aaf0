"""Versions that streams get."""

from __future__ import annotations

import asyncio

from tests.kit.clock import PATIENCE_SECONDS
from tests.unit.web.page_stage import StandingSource
from web.hub import Hub


async def test_a_change_that_comes_while_it_sleeps_is_told() -> None:
    source = StandingSource(is_live=True)
    hub = Hub(source, seconds=0.05)
    task = asyncio.create_task(hub.run())
    try:
        await asyncio.sleep(0)
        source.show("v2")
        bell = asyncio.Event()
        async with asyncio.timeout(PATIENCE_SECONDS):
            with hub.bells.hung(bell):
                await bell.wait()
                bell.clear()
                source.version = "v3"  # nobody is woken: it sleeps
                await bell.wait()
        assert hub.version == "v3"
    finally:
        task.cancel()
