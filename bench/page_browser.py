"""What the page takes in a Chromium without a screen and without a graphics card, 1440 x 900."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.metrics import quantile
from bench.page_children import Stub
from bench.page_figures import Figure
from bench.page_scripts import BARE, MOVE, NOTES, SUMS
from bench.page_trace import CATEGORIES, Tasks
from bench.page_world import ADMINISTRATOR, Size
from web.statics import read_statics

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Page

__all__ = ["in_a_browser", "of_files", "why_not"]

NAMES: Final = ("chromium", "chromium-headless-shell", "google-chrome")
DRIVER: Final = "playwright.async_api"
WIDTH, HEIGHT = 1440, 900
MOVING_SECONDS: Final = 10
UPDATES, UPDATED = 5, 1000
"""How many updates, and how many pods each has."""
EVENTS: Final = 20
PATIENCE_MS: Final = 120_000
QUIET_SECONDS: Final = 3.0
"""Until what an update brings has been drawn."""
MANY: Final = 2000
"""Pods of a change that moves pixels: one pod of many on a node may move none."""


def why_not() -> str:
    """Why nothing can be measured in a browser; empty if it can."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: make web"
    return "" if _program() else f"there is no browser: install {NAMES[0]}, or name one with REPRIEVE_BROWSER"


def _program() -> str | None:
    named = os.environ.get("REPRIEVE_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def of_files() -> Figure:
    """The script and the style that a browser loads."""
    files = [file for name, file in read_statics().items() if name.endswith((".js", ".css"))]
    packed = sum(len(gzip.compress(each.body, 9)) for each in files)
    return Figure("script and style, gzipped", packed / 1000, 120, "kB")


def in_a_browser(stub: Stub, port: int, size: Size, folder: Path) -> list[Figure]:
    """All figures of a tab. `port`: of the page."""
    return asyncio.run(_measured(stub, port, size, folder))


async def _measured(stub: Stub, port: int, size: Size, folder: Path) -> list[Figure]:
    async with _browser() as browser:
        bare = await _bare(browser)
        tab = _Tab(browser, stub, f"http://127.0.0.1:{port}/", folder)
        figures = await tab.first_picture()
        figures += await tab.moved(bare)
        figures += await tab.updated()
        figures += await tab.pixels()
        figures += await tab.remembered(size.seconds)
        figures += await tab.elements(2 * size.nodes)
        return figures


@asynccontextmanager
async def _browser() -> AsyncIterator[Browser]:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with import_module(DRIVER).async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=_program(), args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


async def _bare(browser: Browser) -> int:
    """How many frames a page has that only moves a picture."""
    page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    await page.set_content(BARE)
    frames = int(await page.evaluate(MOVE, MOVING_SECONDS))
    await page.close()
    return frames


class _Tab:
    """A tab that shows the map."""

    page: Page
    tools: CDPSession

    def __init__(self, browser: Browser, stub: Stub, origin: str, folder: Path) -> None:
        self._browser, self._stub, self._origin, self._folder = browser, stub, origin, folder

    async def first_picture(self) -> list[Figure]:
        """From the data to the first picture."""
        context = await self._browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="no-preference"
        )
        self.page = await context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        await self.page.add_init_script(NOTES)
        await self.page.goto(f"{self._origin}#/map")
        await self.page.get_by_label("Token of the API server").fill(f"{ADMINISTRATOR}100")
        await self.page.get_by_role("button", name="Log in").click()
        await self.page.wait_for_function("() => window.bench.painted.length > 0")
        self.tools = await context.new_cdp_session(self.page)
        await self.tools.send("Performance.enable")
        painted, came = await self.page.evaluate(
            """() => {
              const maps = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/map"));
              return [window.bench.painted[0][0] - performance.timeOrigin, maps[0]?.responseEnd ?? NaN];
            }"""
        )
        await asyncio.sleep(QUIET_SECONDS)
        return [Figure("first picture after the data", (painted - came) / 1000, 1.5, "s")]

    async def _traced(self, act: Any) -> tuple[Any, Tasks]:
        """What `act` returns, and the tasks of the page meanwhile."""
        path = self._folder / "trace.json"
        await self._browser.start_tracing(page=self.page, path=path, categories=list(CATEGORIES))
        result = await act()
        await self._browser.stop_tracing()
        return result, Tasks.of(json.loads(path.read_bytes())["traceEvents"])

    async def moved(self, bare: int) -> list[Figure]:
        """Ten seconds of pan and zoom."""
        frames = int(await self.page.evaluate(MOVE, MOVING_SECONDS))
        _, tasks = await self._traced(lambda: self.page.evaluate(MOVE, MOVING_SECONDS))
        by_frame = tasks.by_frame()
        says = f"{frames} of {bare} in {MOVING_SECONDS} s"
        await self.page.get_by_role("application").focus()
        await self.page.keyboard.press("0")
        await asyncio.sleep(QUIET_SECONDS)
        return [
            Figure("frames while it moves, of a bare page's", frames / bare, 0.9, at_least=True, remark=says),
            Figure("script and paint of a frame, p95", quantile(by_frame, 0.95), 8, "ms"),
            Figure("longest task while it moves", tasks.longest, 50, "ms", remark=_clock(tasks.longest_span)),
        ]

    async def updated(self) -> list[Figure]:
        """What an update of many pods takes, besides what a quiet page does."""

        async def quiet() -> None:
            await self.page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
            await asyncio.sleep(QUIET_SECONDS)

        async def update() -> None:
            await asyncio.to_thread(self._stub.change, UPDATED)
            await quiet()

        _, idle = await self._traced(quiet)
        found = [(await self._traced(update))[1] for _ in range(UPDATES)]
        work = statistics.median(max(0.0, tasks.whole - idle.whole) for tasks in found)
        longest = statistics.median(tasks.longest for tasks in found)
        span = statistics.median(tasks.longest_span for tasks in found)
        says = f"the longest task: {longest:.1f} ms, {_clock(span)}; medians of {UPDATES}"
        return [Figure(f"update of {UPDATED:,} pods, work of the page", work, 16, "ms", remark=says)]

    async def pixels(self) -> list[Figure]:
        """From an event to a picture that differs."""
        await self.page.evaluate(SUMS)
        took, known = list[float](), 0
        for _ in range(EVENTS):
            ((_, sent),) = await asyncio.to_thread(self._stub.change, MANY)
            await asyncio.sleep(QUIET_SECONDS / 2)
            painted: list[list[float]] = await self.page.evaluate("() => window.bench.painted.splice(0)")
            differs = [at for at, sum_ in painted if sum_ != known and at > 1000 * sent]
            if painted:
                known = round(painted[-1][1])
            if differs:
                took.append(differs[0] - 1000 * sent)
        await self.page.evaluate("() => { window.bench.sum = undefined; }")
        says = f"{len(took)} of {EVENTS} changes of {MANY:,} pods were seen"
        return [Figure("event to pixel, p95", quantile(took, 0.95), 100, "ms", remark=says)]

    async def remembered(self, seconds: int) -> list[Figure]:
        """The heap while pods change, with garbage, and how much it grows without."""
        changes = asyncio.create_task(asyncio.to_thread(self._stub.change, 20, 5 * seconds, 0.2))
        highest, kept = 0.0, list[float]()
        for _ in range(10):
            await asyncio.sleep(seconds / 10)
            highest = max(highest, await self._heap())
            await self.tools.send("HeapProfiler.collectGarbage")
            kept.append(await self._heap())
        await changes
        growth = statistics.median(kept[-3:]) / statistics.median(kept[1:4])
        says = f"{kept[1] / 1e6:.1f} MB, then {kept[-1] / 1e6:.1f} MB, after {seconds} s"
        return [
            Figure("heap", highest / 1e6, 150, "MB", remark=f"with garbage; {kept[-1] / 1e6:.0f} MB without"),
            Figure("heap without garbage, of what it was at first", growth, 1.05, remark=says),
        ]

    async def _heap(self) -> float:
        metrics = (await self.tools.send("Performance.getMetrics"))["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "JSHeapUsedSize"))

    async def elements(self, gangs: int) -> list[Figure]:
        """The elements of a list of all that waits."""
        await self.page.evaluate("() => { location.hash = '#/waiting'; }")
        await self.page.locator(".rows a").first.wait_for()
        await asyncio.sleep(QUIET_SECONDS)
        count = await self.page.evaluate("() => document.querySelectorAll('*').length")
        return [Figure(f"elements with {gangs:,} waiting gangs", count, 5000, "elements")]


def _clock(milliseconds: float) -> str:
    """With other processes on the same cores, this is longer than the work."""
    return f"{milliseconds:.0f} ms by the clock"
