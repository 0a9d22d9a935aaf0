"""The views of queues say what `reprieve queue` prints, as trees, tables, pictures, files and commands."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

import pytest

from cli.common.printable import one_line
from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener
from tests.web.downloads import file_of
from tests.web.hostile import TEXTS
from tests.web.judging import cut, violations
from tests.web.serving import ROOT, Served, serving

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

pytestmark = SELDOM

TEAMS: Final = "examples/quota-teams.yaml"
SVG: Final = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def teams(browser: Browser) -> Iterator[Served]:
    """The page of an example with a Cohort in which quota is borrowed."""
    with serving(TEAMS) as served:
        yield served


def printed(command: str) -> Any:
    """What the command prints as JSON."""
    program, *arguments = shlex.split(command)
    assert program == "reprieve"
    words = [str(Path(sys.executable).with_name(program)), *arguments, "-o", "json"]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


async def opened(open_tab: TabOpener, served: Served, address: str, **options: Any) -> Page:
    """The view at this address."""
    tab = await open_tab(served.origin, permissions=["clipboard-read", "clipboard-write"], **options)
    await tab.page.goto(served.another_address())
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    await tab.page.evaluate("(address) => { location.hash = address }", address)
    await tab.page.get_by_role("button", name="Save as JSON").wait_for()
    return tab.page


async def stored(page: Page, button: str) -> str:
    """The file that the button gives."""
    return (await file_of(page.get_by_role("button", name=button))).decode()


async def copied(page: Page) -> str:
    """The command that the button copies."""
    await page.get_by_role("button", name="Copy as command").click()
    await page.get_by_text("Copied:").wait_for()
    return str(await page.evaluate("() => navigator.clipboard.readText()"))


@pytest.mark.parametrize("address", ["#/queues", "#/queue/a-standard", "#/queue/team-a/standard"])
async def test_the_file_and_the_command_say_the_same(
    open_tab: TabOpener, teams: Served, address: str
) -> None:
    page = await opened(open_tab, teams, address)
    assert json.loads(await stored(page, "Save as JSON")) == printed(await copied(page))


async def test_the_tree_and_the_table_have_each_queue_with_its_numbers(
    open_tab: TabOpener, teams: Served
) -> None:
    page = await opened(open_tab, teams, "#/queues")
    said = " ".join((await page.locator("main").inner_text()).split())
    for text in (
        "b-standard ClusterQueue cpu in flavor default 50 used of 0, 50 borrowed, 0 free",
        "shared ClusterQueue cpu in flavor default 20 used of 100, 80 lent, 0 free",
        "a-standard: 30 cpu in flavor default, beyond its nominal quota, for a Workload of priority above 50",
        "team-b/nightly (30 cpu of b-best-effort, priority 50)",
    ):
        assert text in said
    await page.get_by_role("button", name="Queues as table").click()
    rows = [(await each.inner_text()).split("\t") for each in await page.locator("tbody tr").all()]
    known = [
        (node["name"], account["quota"], account["used"], account["borrowed"])
        for tree in printed(f"reprieve queue -f {TEAMS}")["trees"]
        for node in tree
        for account in node["quota"]
    ]
    assert [(row[0], *row[5:8]) for row in rows] == known


async def test_bars_have_the_parts_that_the_words_say(open_tab: TabOpener, teams: Served) -> None:
    page = await opened(open_tab, teams, "#/queues")
    for text, kinds in {
        "50 used of 0, 50 borrowed": ["borrowed"],
        "20 used of 100, 80 lent": ["used", "lent"],
    }.items():
        bar = page.locator(".account", has_text=text).locator(".bar .share")
        classes = await bar.evaluate_all("(all) => all.map((each) => each.classList[1])")
        assert classes == kinds


async def test_other_programs_read_the_picture(open_tab: TabOpener, teams: Served) -> None:
    page = await opened(open_tab, teams, "#/queues")
    root = ElementTree.fromstring(await stored(page, "Save as SVG"))  # noqa: S314 - our own file
    assert root.tag == f"{SVG}svg"
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert "organization/" in texts
    assert "20 used of 100, 80 lent, 0 free" in texts
    assert not [each for each in root.iter() if each.get("style") or each.get("class")]


async def test_one_goes_from_the_tree_to_a_workload_by_keyboard(open_tab: TabOpener, teams: Served) -> None:
    page = await opened(open_tab, teams, "#/queues")
    await page.get_by_role("link", name="a-standard").first.focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name="ClusterQueue a-standard").wait_for()
    await page.get_by_role("link", name="team-a/train", exact=True).first.focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name="Workload team-a/train").wait_for()
    await page.locator(".facts a", has_text="a-standard").first.click()
    await page.get_by_role("heading", name="ClusterQueue a-standard").wait_for()


async def test_what_is_narrowed_is_in_the_address(open_tab: TabOpener, teams: Served) -> None:
    page = await opened(open_tab, teams, "#/queues")
    await page.get_by_label("Resource and flavor").select_option("cpu in flavor default")
    assert "pair=cpu+in+flavor+default" in page.url
    assert await page.locator(".account").count() == 6


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 1440), ("light", 320), ("dark", 320)])
async def test_the_views_keep_the_rules(open_tab: TabOpener, teams: Served, theme: str, width: int) -> None:
    page = await opened(open_tab, teams, "#/queues", theme=theme, width=width)
    faults = [*await violations(page), *await cut(page)]
    await page.get_by_role("button", name="Queues as table").click()
    faults += [*await violations(page), *await cut(page)]
    for address in ("#/queue/a-standard", "#/queue/b-best-effort", "#/queue/team-a/standard"):
        await page.evaluate("(address) => { location.hash = address }", address)
        await page.locator("article.answer").wait_for()
        faults += [*await violations(page), *await cut(page)]
    assert faults == []


async def test_hostile_names_are_shown_and_stored_as_they_are(open_tab: TabOpener, hostile: Served) -> None:
    tab = await open_tab(hostile.origin)
    page = tab.page
    await page.goto(hostile.another_address())
    await page.get_by_role("heading", name="Waiting").wait_for()
    await page.evaluate("() => { location.hash = '#/queue/queue' }")
    await page.get_by_role("heading", name="Who waits").wait_for()
    names = await page.locator("tbody .own").all_text_contents()
    assert {one_line(text) for text in TEXTS} <= set(names)
    answer = json.loads(await stored(page, "Save as JSON"))
    assert {each["workload"].partition("/")[2] for each in answer["waiting"]} >= set(TEXTS)
    assert await cut(page) == []
    tab.expect_nothing()
