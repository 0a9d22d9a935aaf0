"""Texts can be made larger, and colours can be the system's."""

from __future__ import annotations

import pytest

from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener
from tests.web.judging import cut, violations
from tests.web.serving import Served

pytestmark = SELDOM

VIEWS = ("#/waiting", "#/gang/research/llama-train", "#/job/research/evaluate")


@pytest.mark.parametrize("width", [320, 640, 1000, 1440])
async def test_nothing_is_cut_where_texts_are_twice_as_large(
    open_tab: TabOpener, examples: Served, width: int
) -> None:
    page = (await open_tab(examples.origin, width=width)).page
    await page.goto(examples.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    await page.evaluate("() => { document.documentElement.style.fontSize = '200%' }")
    for address in VIEWS:
        await page.evaluate("(address) => { location.hash = address }", address)
        await page.locator(".rows a, article.answer").first.wait_for()
        assert await cut(page) == [], address


async def test_forced_colours_keep_the_rules(open_tab: TabOpener, examples: Served) -> None:
    tab = await open_tab(examples.origin, forced_colors="active")
    page = tab.page
    await page.goto(examples.another_address())
    for address in VIEWS:
        await page.evaluate("(address) => { location.hash = address }", address)
        await page.locator(".rows a, article.answer").first.wait_for()
        assert await violations(page) == [], address
    tab.expect_nothing()


async def test_the_bar_above_all_views_has_one_row_where_there_is_room(
    open_tab: TabOpener, examples: Served
) -> None:
    page = (await open_tab(examples.origin, width=1440)).page
    await page.goto(examples.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    rows = await page.evaluate(
        """() => {
          // A live page has one more button.
          const tools = document.querySelector("header .tools");
          tools.prepend(Object.assign(document.createElement("button"), {textContent: "Pause updates"}));
          const boxes = [...document.querySelector("header").children].map((each) => each.getBoundingClientRect());
          return [Math.max(...boxes.map((box) => box.top)), Math.min(...boxes.map((box) => box.bottom))];
        }"""
    )
    assert rows[0] < rows[1], "each part stands beside each other one"


async def test_light_and_dark_can_be_chosen(open_tab: TabOpener, examples: Served) -> None:
    page = (await open_tab(examples.origin, theme="light")).page
    await page.goto(examples.another_address())
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(ground)
    await page.get_by_role("button", name="Theme: system").click()
    assert await page.evaluate(ground) == light
    await page.get_by_role("button", name="Theme: light").click()
    dark = await page.evaluate(ground)
    assert dark != light
    await page.reload()
    await page.get_by_role("button", name="Theme: dark").wait_for()
    assert await page.evaluate(ground) == dark
