"""Tasks that one does with the keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener
from tests.web.serving import Served

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = SELDOM


FOCUSED = "(document.activeElement.innerText || document.activeElement.id).replace(/\\s+/g, ' ').trim()"


async def focused(page: Page) -> str:
    """The text of what has the focus."""
    text: str = await page.evaluate(f"() => {FOCUSED}")
    return text


async def moved(page: Page, key: str) -> str:
    """Press the key. The text of what has the focus then, once that is another one: a list moves the focus with a
    later frame, and on a busy machine frames are rare."""
    before = await focused(page)
    await page.keyboard.press(key)
    await page.wait_for_function(f"(before) => {FOCUSED} !== before", arg=before)
    return await focused(page)


async def test_find_out_why_a_gang_waits(open_tab: TabOpener, examples: Served) -> None:
    """From the login to the answer, back to the list, and to the next one."""
    tab = await open_tab(examples.origin)
    page, keys = tab.page, tab.page.keyboard
    await page.goto(examples.another_address())
    await page.get_by_text("llama-train").first.wait_for()
    assert await moved(page, "Tab") == "Skip to the content"
    await page.get_by_label("Filter by text").focus()
    first = await moved(page, "ArrowDown")
    assert "research/" in first
    assert "research/" in await moved(page, "ArrowDown")
    assert await moved(page, "Home") == first
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
    first = await focused(page)
    last = await moved(page, "End")
    before_last = await moved(page, "ArrowUp")
    assert await moved(page, "ArrowDown") == last
    await keys.press("ArrowDown")
    # Were the focus not on the last one any longer, this would not lead to the one before it.
    assert await moved(page, "ArrowUp") == before_last
    assert await moved(page, "Home") == first
    await keys.press("ArrowUp")
    assert await moved(page, "End") == last
