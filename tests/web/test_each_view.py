"""Each view opens in a browser: no rule of axe-core is broken, no text is cut, and nothing complains.

This is the only file of tests in a browser that `make test` runs. `make test-web` runs all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pytest

from cli.report.page import page_of
from tests.kit.observed_plans import plan, reported
from tests.web.browsers import TabOpener, Theme
from tests.web.hostile import TEXTS
from tests.web.judging import cut, violations
from tests.web.serving import Served
from tests.web.views import VIEWS

if TYPE_CHECKING:
    from playwright.async_api import Page

LOOKS: Final[tuple[tuple[Theme, int], ...]] = (("light", 1440), ("dark", 1440), ("light", 320), ("dark", 320))


def plan_addresses(text: str) -> tuple[tuple[str, str], ...]:
    """The views of the plan of this text, which evicted a pod of the next namespace: their addresses and headings."""
    name, victim = quote(text, safe=""), quote(TEXTS[1], safe="")
    return (
        ("#/plans", "Plans"),
        (f"#/plan/{name}/{name}", "Plan"),
        ("#/history", "History"),
        (f"#/evicted/{victim}/{name}", "Who evicted"),
    )


async def judge(page: Page) -> list[str]:
    """All that is wrong with what is shown."""
    return [*await violations(page), *await cut(page)]


@pytest.mark.parametrize(("theme", "width"), LOOKS)
async def test_each_view_keeps_the_rules(
    open_tab: TabOpener, examples: Served, theme: Theme, width: int
) -> None:
    tab = await open_tab(examples.origin, theme=theme, width=width)
    page = tab.page
    await page.goto(examples.origin)
    await page.get_by_label("Token of the API server").wait_for()
    faults = {"login": await judge(page)}
    await page.goto(examples.another_address())
    for address, text in VIEWS:
        await page.evaluate("(address) => { location.hash = address }", address)
        await page.get_by_text(text).first.wait_for()
        faults[address] = await judge(page)
    await page.keyboard.press("?")
    await page.get_by_role("dialog").wait_for()
    faults["help"] = await judge(page)
    await page.keyboard.press("Escape")
    await page.locator("dialog").wait_for(state="detached")
    await page.keyboard.press("/")
    await page.keyboard.type("train")
    await page.get_by_role("option").first.wait_for()
    faults["search"] = await judge(page)
    assert {view: found for view, found in faults.items() if found} == {}
    tab.expect_nothing()


@pytest.mark.parametrize("width", [1440, 320])
async def test_hostile_texts_are_shown_and_do_nothing(
    open_tab: TabOpener, hostile: Served, width: int
) -> None:
    tab = await open_tab(hostile.origin, width=width)
    page = tab.page
    await page.goto(hostile.another_address())
    await page.get_by_role("row").nth(3).wait_for()
    faults = await judge(page)
    for text in TEXTS[:3]:
        address = f"#/pod/{quote(text, safe='')}/{quote(text, safe='')}"
        await page.evaluate("(address) => { location.hash = address }", address)
        await page.locator("article.answer").first.wait_for()
        faults += await judge(page)
    for address in ("#/map", "#/map?as=table"):
        await page.evaluate("(address) => { location.hash = address }", address)
        await page.locator(".map-picture").wait_for()
        faults += await judge(page)
    for address, text in (("#/report?by=gang", "for 14 decisions"), ("#/doctor", "NotInstalled")):
        await page.evaluate("(address) => { location.hash = address }", address)
        await page.get_by_text(text, exact=False).first.wait_for()
        faults += await judge(page)
    for address, heading in plan_addresses(TEXTS[0]):
        await page.evaluate("(address) => { location.hash = address }", address)
        await page.locator("h1", has_text=heading).wait_for()
        await page.locator("main table.lines:visible, main section.part:visible").first.wait_for()
        faults += await judge(page)
    assert await page.locator("img, iframe, object, embed, [onerror], [onfocus], body script").count() == 0
    assert faults == []
    tab.expect_nothing()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_report_of_hostile_names_keeps_the_rules(
    open_tab: TabOpener, tmp_path: Path, theme: Theme
) -> None:
    plans = [plan(number, namespace=text, gang=text, pods=3) for number, text in enumerate(TEXTS)]
    file = tmp_path / "report.html"
    file.write_text(page_of(reported(*plans)))
    tab = await open_tab(file.as_uri(), theme=theme)
    await tab.page.goto(file.as_uri())
    assert await violations(tab.page) == []
    tab.expect_nothing()
