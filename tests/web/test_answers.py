"""A view of an answer shows all that `reprieve why` prints, and gives it away as commands, links and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest

from cli.common.printable import one_line
from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener
from tests.web.downloads import file_of
from tests.web.hostile import IN_LISTS, TEXTS
from tests.web.serving import Served, printed

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = SELDOM

OBJECTS: Final = (
    ("gang", "research/llama-train"),
    ("gang", "research/train"),
    ("pod", "research/notebook"),
    ("job", "research/evaluate"),
    ("workload", "research/tune"),
)
LISTS: Final = ("missing", "waitsFor", "wouldHelp", "stays", "notes", "notModelled")


async def shown(page: Page, address: str) -> str:
    """The text of the view, each run of blanks as one."""
    await page.evaluate("(address) => { location.hash = address }", address)
    await page.locator("article.answer").first.wait_for()
    return " ".join((await page.locator("main").inner_text()).split())


async def stored(page: Page) -> Any:
    """The file that the first button gives."""
    return json.loads(await file_of(page.get_by_role("button", name="Save as JSON").first))


def texts(answer: dict[str, Any]) -> list[str]:
    """All that an answer has to say."""
    found = [answer["sentence"], answer["triedAgain"], answer["plan"]]
    for name in LISTS:
        found += answer[name]
    for place in answer["places"]:
        found += [place["name"], place["outcome"]]
    for each in answer["depends"]:
        found += texts(each)
    return [" ".join(one_line(text).split()) for text in found if text]


@pytest.mark.parametrize(("kind", "name"), OBJECTS, ids=[f"{kind} {name}" for kind, name in OBJECTS])
async def test_the_view_the_file_and_the_command_say_the_same(
    open_tab: TabOpener, examples: Served, kind: str, name: str
) -> None:
    tab = await open_tab(examples.origin, permissions=["clipboard-read", "clipboard-write"])
    page = tab.page
    await page.goto(examples.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    text = await shown(page, f"#/{kind}/{name}")
    await page.get_by_role("button", name="Copy as command").first.click()
    await page.get_by_text("Copied:").wait_for()
    answer = printed(await page.evaluate("() => navigator.clipboard.readText()"))
    assert [each for each in texts(answer) if each not in text] == []
    assert await stored(page) == answer
    tab.expect_nothing()


async def test_the_comparison_says_which_domain_wins(open_tab: TabOpener, examples: Served) -> None:
    page = (await open_tab(examples.origin)).page
    await page.goto(examples.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    await shown(page, "#/gang/research/llama-train")
    winner = page.get_by_role("row", name="rack-b")
    assert "wins" in await winner.inner_text()
    assert "wins" not in await page.get_by_role("row", name="rack-a").inner_text()


async def test_hostile_names_are_in_the_list_as_the_command_prints_them(
    open_tab: TabOpener, hostile: Served
) -> None:
    tab = await open_tab(hostile.origin)
    page = tab.page
    await page.goto(hostile.another_address())
    missing = set(IN_LISTS)
    for text in IN_LISTS:
        await page.get_by_label("Filter by text").fill(text.split()[0] if text.split() else text)
        names = await page.locator(".rows .own").all_text_contents()
        missing -= {each for each in IN_LISTS if one_line(each) in names}
    assert missing == set()
    tab.expect_nothing()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_a_hostile_answer_is_shown_and_stored_as_it_is(
    open_tab: TabOpener, hostile: Served, text: str
) -> None:
    tab = await open_tab(hostile.origin)
    page = tab.page
    await page.goto(hostile.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    said = await shown(page, f"#/pod/{quote(text, safe='')}/{quote(text, safe='')}")
    answer = await stored(page)
    assert answer["name"] == f"{text}/{text}"
    assert [each for each in texts(answer) if each not in said] == []
    tab.expect_nothing()
