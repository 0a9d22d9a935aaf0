"""The browser, and servers of the page, for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.browsers import Tab, TabOpener, launched, options, tab_of
from tests.web.hostile import hostile_file
from tests.web.serving import Served, examples_file, serving

if TYPE_CHECKING:
    from playwright.async_api import Browser

__all__ = ["browser", "examples", "hostile", "open_tab"]


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests."""
    async with launched() as found:
        yield found


@pytest.fixture
async def open_tab(browser: Browser) -> AsyncIterator[TabOpener]:
    """`open_tab(origin, theme=..., width=...)`: a tab of a browser that knows nothing yet."""
    async with AsyncExitStack() as stack:

        async def opened(origin: str, **others: Any) -> Tab:
            context = await browser.new_context(**options(**others))
            stack.push_async_callback(context.close)
            return await tab_of(context, origin)

        yield opened


@pytest.fixture(scope="module")
def examples(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of examples that README.md and docs/why.md speak of."""
    with serving(examples_file(tmp_path_factory.mktemp("examples"))) as served:
        yield served


@pytest.fixture(scope="module")
def hostile(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of a world of hostile texts."""
    with serving(hostile_file(tmp_path_factory.mktemp("hostile"))) as served:
        yield served
