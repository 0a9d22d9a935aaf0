"""Tasks that one does with the keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener
from tests.web.serving import Served

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = SELDOM


async def focused(page: Page) -> str:
    """The text of what has the focus."""
    # A list moves the focus with the next frame.
    await page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    text: str = await page.evaluate("() => document.activeElement.innerText || document.activeElement.id")
    return " ".join(text.split())


async def test_find_out_why_a_gang_waits(open_tab: TabOpener, examples: Served) -> None:
    """From the login to the answer, back to the list, and to the next one."""
    tab = await open_tab(examples.origin)
    page, keys = tab.page, tab.page.keyboard
    await page.goto(examples.another_address())
    await page.get_by_text("llama-train").first.wait_for()
    await keys.press("Tab")
    assert await focused(page) == "Skip to the content"
    await page.get_by_label("Filter by text").focus()
    await keys.press("ArrowDown")
    first = await focused(page)
    await keys.press("ArrowDown")
    assert await focused(page) != first
    await keys.press("Home")
    assert await focused(page) == first
    await keys.press("Enter")
    await page.locator("article.answer").first.wait_for()
    assert page.url.endswith(("#/gang/research/llama-train", "#/gang/research/train"))
    await keys.press("Escape")
    await page.get_by_role("heading", name="Waiting").wait_for()
    assert page.url.endswith("#/waiting")


async def test_search_for_an_object(open_tab: TabOpener, examples: Served) -> None:
    tab = await open_tab(examples.origin)
    page, keys = tab.page, tab.page.keyboard
    await page.goto(examples.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    await keys.press("/")
    await keys.type("evaluate")
    chosen = page.locator("[role=option][aria-selected=true]")
    await chosen.wait_for()
    name = await chosen.inner_text()
    assert "evaluate" in name
    await keys.press("Enter")
    await page.locator("article.answer").first.wait_for()
    assert "evaluate" in page.url
    tab.expect_nothing()


async def test_the_help_opens_and_closes(open_tab: TabOpener, examples: Served) -> None:
    tab = await open_tab(examples.origin)
    page, keys = tab.page, tab.page.keyboard
    await page.goto(examples.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    await keys.press("?")
    await page.get_by_role("dialog", name="Keys").wait_for()
    await keys.press("Escape")
    await page.locator("dialog").wait_for(state="detached")
    await keys.press("/")
    await keys.type("?")
    assert await page.get_by_role("dialog").count() == 0, "letters of a search are no keys of the page"


async def test_a_list_is_left_at_its_ends(open_tab: TabOpener, examples: Served) -> None:
    tab = await open_tab(examples.origin)
    page, keys = tab.page, tab.page.keyboard
    await page.goto(examples.another_address())
    await page.locator(".rows a").first.focus()
    await keys.press("End")
    last = await focused(page)
    await keys.press("ArrowDown")
    assert await focused(page) == last
    await keys.press("PageUp")
    await keys.press("Home")
    await keys.press("ArrowUp")
    assert await focused(page) != last
