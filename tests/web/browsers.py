"""A real Chromium for tests of the page: which one it is, and what it must not say."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request

__all__ = ["PATIENCE_MS", "Tab", "TabOpener", "Theme", "launched", "options", "tab_of", "why_not"]

NAMES: Final = ("chromium", "chromium-headless-shell", "google-chrome")
"""Programs that are looked for, if REPRIEVE_BROWSER names none. `.ci/run` installs one of them."""
PATIENCE_MS: Final = 30_000
"""How long something that must come is waited for."""
DRIVER: Final = "playwright.async_api"

Theme = Literal["light", "dark"]


def program() -> str | None:
    """The browser, if there is one."""
    named = os.environ.get("REPRIEVE_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def why_not() -> str:
    """Why there are no tests in a browser here; empty if there are."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: make web"
    if program() is None:
        return f"there is no browser: install {NAMES[0]}, or name one with REPRIEVE_BROWSER"
    return ""


@asynccontextmanager
async def launched(*more: str) -> AsyncIterator[Browser]:
    """A browser. Without one the test is skipped; where CI is set, it fails. `more`: arguments of the program."""
    if reason := why_not():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    # A sandbox needs rights that root in a container does not have.
    arguments = [*more, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with import_module(DRIVER).async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program(), args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


@dataclass(slots=True)
class Tab:
    """A tab of the browser, and all that it complained about."""

    page: Page
    faults: list[str] = field(default_factory=list)
    """Errors of scripts, lines of the console, reports of the Content Security Policy, requests to elsewhere."""

    def expect_nothing(self) -> None:
        """Raises AssertionError if there was a complaint."""
        assert self.faults == []


REFUSED: Final = re.compile(r"Failed to load resource: the server responded with a status of (401|404) ")
TabOpener = Callable[..., Awaitable[Tab]]
"""`open_tab(origin, theme="dark", width=320)`."""
REPORTS: Final = """
window.addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
});
"""


async def tab_of(context: BrowserContext, origin: str) -> Tab:
    """A new tab. Requests to other places than `origin` are faults."""
    await context.add_init_script(REPORTS)
    tab = Tab(await context.new_page())
    tab.page.set_default_timeout(PATIENCE_MS)
    tab.page.on("console", lambda message: _heard(tab, message))
    tab.page.on("pageerror", lambda error: tab.faults.append(f"error: {error}"))
    tab.page.on("dialog", lambda dialog: tab.faults.append(f"dialog: {dialog.message}"))

    def asked(request: Request) -> None:
        if not request.url.startswith((origin, "blob:")):
            tab.faults.append(f"request: {request.url}")

    tab.page.on("request", asked)
    return tab


def _heard(tab: Tab, message: ConsoleMessage) -> None:
    """A browser writes a line of its own for each answer that is an error. The page shows those."""
    if not REFUSED.match(message.text):
        tab.faults.append(f"console: {message.type}: {message.text}")


def options(theme: Theme = "light", width: int = 1440, **others: Any) -> dict[str, Any]:
    """Of a context. Nothing moves, so that a test sees the same each time."""
    size = {"width": width, "height": 900}
    return {"viewport": size, "color_scheme": theme, "reduced_motion": "reduce", **others}
