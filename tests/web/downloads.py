"""Files that buttons of the page give."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import pytest
from playwright.async_api import Locator
from playwright.async_api import TimeoutError as NothingCame

__all__ = ["file_of"]

PATIENCE_MS: Final = 10_000
ATTEMPTS: Final = 4


async def file_of(button: Locator) -> bytes:
    """The file that a button gives.

    Chromium may lose the second of two downloads that follow each other within a tenth of a second. The page has said
    "Stored" then, and no file comes. So a button that gives none is clicked again.
    """
    for _ in range(ATTEMPTS):
        with suppress(NothingCame):
            async with button.page.expect_download(timeout=PATIENCE_MS) as download:
                await button.click()
            path = await (await download.value).path()
            return await asyncio.to_thread(path.read_bytes)
    pytest.fail(f"{button} gives no file")
