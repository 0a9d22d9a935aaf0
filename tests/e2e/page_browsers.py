"""A browser that looks at a page of a control plane."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.e2e.served_page import Page
from tests.web.browsers import Tab, launched, options, tab_of
from web.statics import read_statics

__all__ = ["browsing", "is_the_same", "log_in", "show"]


@asynccontextmanager
async def browsing(page: Page) -> AsyncIterator[Tab]:
    """A tab with the login of the page. Skips the test if there is no browser, or if the front end is not built."""
    try:
        read_statics()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    async with launched() as browser:
        context = await browser.new_context(**options())
        origin = f"http://127.0.0.1:{page.port}/"
        tab = await tab_of(context, origin)
        await tab.page.goto(origin)
        await tab.page.evaluate("() => { window.isTheSame = true }")
        yield tab


async def is_the_same(tab: Tab) -> bool:
    """Whether the document was never loaded again."""
    return bool(await tab.page.evaluate("() => window.isTheSame === true"))


async def log_in(tab: Tab, token: str) -> None:
    """Log in with a token of the API server. Raises AssertionError with what the page says if it refuses."""
    await tab.page.get_by_label("Token of the API server").fill(token)
    async with tab.page.expect_response(lambda answer: answer.request.method == "POST"):
        # Until then the alert may say why an earlier session has ended.
        await tab.page.get_by_role("button", name="Log in").click()
    entered = tab.page.get_by_role("button", name="Log out")
    await entered.or_(tab.page.get_by_role("alert")).first.wait_for()
    if not await entered.count():
        raise AssertionError(await tab.page.get_by_role("alert").inner_text())


async def show(tab: Tab, address: str) -> None:
    """Open another view, without a reload."""
    await tab.page.evaluate("(address) => { location.hash = address }", address)
