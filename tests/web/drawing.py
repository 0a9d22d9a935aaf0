"""Views as pictures, and what each is made of: answers of the API, roles and names, and what is on the canvas."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.kit.page_pictures import FILES, HEIGHT, NOW, OVERLAY, ROOT, SUBMITTED, View, alike
from tests.web.downloads import file_of
from tests.web.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from playwright.async_api import Page, Request, Response

__all__ = ["Drawing", "draw", "log_in", "serving_examples"]

API: Final = "/api/v1/"
LEFT_OUT: Final = ("session", "events")
"""What says who looks, and streams."""
UNCHANGED: Final = 0.6
"""In seconds."""
LATER: Final = """
(milliseconds) => new Promise((done) => {
  setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), milliseconds);
})
"""
"""The page's own clock: all its timers of this time, and what they draw, come before. A busy machine takes longer."""
MOST: Final = 1500
"""The highest picture, in pixels."""
AT_REST: Final = """
() => {
  document.activeElement?.blur();
  for (const each of document.querySelectorAll("textarea")) each.scrollTop = 0;
  scrollTo(0, 0);
}
"""
PLACED: Final = ("x", "y", "side", "width", "height")
"""Where something stands in pixels. It depends on the fonts of the machine."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A view that is drawn."""

    made: dict[str, Any]
    picture: bytes
    """PNG."""


def serving_examples() -> AbstractContextManager[Served]:
    """The page that the pictures show."""
    return serving(*FILES, overlay=OVERLAY, now=NOW)


async def log_in(page: Page, served: Served) -> None:
    """Open the page, and wait for its first view."""
    await page.goto(served.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()


async def draw(page: Page, view: View) -> Drawing:
    """Go to the view, and look at it."""
    asking = _Asking(page)
    # From elsewhere, so that each view asks for what it shows.
    await page.evaluate("() => { location.hash = '#/elsewhere' }")
    await page.get_by_text("There is no view at this address").wait_for()
    await asking.done()
    asking.answers.clear()
    await page.evaluate("(address) => { location.hash = address }", view.address)
    await page.get_by_text(view.text).first.wait_for()
    if view.name == "what-if":
        await _submit(page)
    await _settled(page, asking)
    picture = await _shot(page)
    drawn = await _drawn(page) if view.name == "map" else None
    answers = asking.ended()
    made = {
        "address": view.address,
        "roles": (await page.locator("main").aria_snapshot()).splitlines(),
        **({"drawn": drawn} if drawn is not None else {}),
        "answers": {path: alike(json.loads(await answers[path].body())) for path in sorted(answers)},
    }
    return Drawing(made, picture)


class _Asking:
    """What a page asks the API, and what it is answered."""

    def __init__(self, page: Page) -> None:
        self.answers: dict[str, Response] = {}
        self._open: set[Request] = set()
        self._is_done = asyncio.Event()
        self._is_done.set()
        self._page = page
        page.on("request", self._sent)
        page.on("response", self._answered)
        page.on("requestfinished", self._over)
        page.on("requestfailed", self._over)

    def _sent(self, request: Request) -> None:
        if _path(request):
            self._open.add(request)
            self._is_done.clear()

    def _over(self, request: Request) -> None:
        self._open.discard(request)
        if not self._open:
            self._is_done.set()

    def _answered(self, response: Response) -> None:
        if path := _path(response.request):
            self.answers[f"{response.request.method} {path}"] = response

    async def done(self) -> None:
        """Until the page has got all that it has asked for."""
        await self._is_done.wait()

    def ended(self) -> Mapping[str, Response]:
        """The answers so far, by method and path. No others come."""
        self._page.remove_listener("request", self._sent)
        self._page.remove_listener("response", self._answered)
        self._page.remove_listener("requestfinished", self._over)
        self._page.remove_listener("requestfailed", self._over)
        return self.answers


def _path(request: Request) -> str:
    """What is asked of the API; empty for anything that no picture is made of."""
    path = request.url.partition(API)[2]
    return "" if path.startswith(LEFT_OUT) else path


async def _settled(page: Page, asking: _Asking) -> None:
    """Until nothing is asked any longer, and the view has said the same for a time of its own clock.

    The last parts may come by requests of their own.
    """
    before = ""
    while before != (now := await page.locator("main").aria_snapshot()):
        before = now
        await page.evaluate(LATER, round(1000 * UNCHANGED))
        await asking.done()


async def _submit(page: Page) -> None:
    text = await asyncio.to_thread((ROOT / SUBMITTED).read_text)
    await page.locator("main textarea").fill(text)
    await page.locator("main button[type=submit]").click()
    await page.get_by_text("RunsAfterEvictions").first.wait_for()


async def _drawn(page: Page) -> Any:
    """What is on the canvas, by its own export."""
    found = json.loads(await file_of(page.locator(".map-picture").get_by_role("button", name="Save as JSON")))
    await page.get_by_text("Stored: ").wait_for(state="hidden")
    for each in (found, *found["blocks"], *found["nodes"]):
        for name in PLACED:
            each.pop(name, None)
    return found


async def _shot(page: Page) -> bytes:
    """The whole view from its top, as far as a picture goes. The window keeps its size: the map is as high as that."""
    await page.mouse.move(0, 0)
    await page.evaluate(AT_REST)
    await asyncio.sleep(UNCHANGED)
    high = await page.evaluate(
        "() => Math.ceil(document.querySelector('main').getBoundingClientRect().bottom)"
    )
    size = page.viewport_size
    assert size is not None
    height = max(HEIGHT // 2, min(MOST, high + 8))
    return await page.screenshot(
        full_page=True,
        clip={"x": 0, "y": 0, "width": size["width"], "height": height},
        animations="disabled",
        caret="hide",
    )
