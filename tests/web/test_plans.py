"""The views of plans and of evictions: what they show, and what they give away."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

import msgspec
import pytest

from cli.common.printable import one_line
from tests.kit.often import SELDOM
from tests.kit.stored_plans import BOUND, OBSERVED, PROPOSED, stored, training, turn
from tests.web.browsers import Tab, TabOpener
from tests.web.downloads import file_of
from tests.web.hostile import TEXTS
from tests.web.serving import ROOT, Served, examples_file, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.async_api import Page

pytestmark = SELDOM

SVG: Final = "{http://www.w3.org/2000/svg}"
EVICTED: Final = "#/evicted/team-b/sweep-0"


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The examples, and a plan of each kind."""
    path = examples_file(tmp_path_factory.mktemp("plans"))
    document = json.loads(path.read_text())
    plans = (training("Planned", "Confirmed")[0], BOUND, OBSERVED, PROPOSED, turn(1), turn(2))
    document["items"] += [msgspec.to_builtins(each) for each in plans]
    document["items"].append(msgspec.to_builtins(stored("hero-vain", "Planned", "Evicting", "Expired")))
    path.write_text(json.dumps(document))
    with serving(path) as served:
        yield served


async def opened(open_tab: TabOpener, served: Served, address: str) -> Tab:
    tab = await open_tab(served.origin, permissions=["clipboard-read", "clipboard-write"])
    await tab.page.goto(served.another_address())
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    await go(tab.page, address)
    return tab


async def go(page: Page, address: str) -> None:
    await page.evaluate("(address) => { location.hash = address }", address)
    await page.locator("main table.lines:visible, main .part:visible").first.wait_for()


async def text_of(page: Page) -> str:
    """The text of the view, each run of blanks as one."""
    return " ".join((await page.locator("main").inner_text()).split())


async def given(page: Page, button: str) -> str:
    """The file that the button gives."""
    return (await file_of(page.get_by_role("button", name=button).first)).decode()


async def test_a_plan_shows_who_leaves_who_stays_and_who_comes(open_tab: TabOpener, planned: Served) -> None:
    tab = await opened(open_tab, planned, "#/plan/research/train-1")
    page = tab.page
    text = await text_of(page)
    for said in (
        "It is to evict 2 units with 4 pods.",
        "above the cut-off 100",
        "this is Confirmed",
        "rack-a",
    ):
        assert said in text
    row = page.get_by_role("row", name="gpu-b1")
    assert await row.get_by_role("img").count() == 2
    names = [await each.get_attribute("aria-label") for each in await row.get_by_role("img").all()]
    assert names == ["stays: 1, leaves: 1", "stays: 1, comes: 1"]
    picture = ElementTree.fromstring(await given(page, "Save as SVG"))  # noqa: S314 - our own
    titles = [each.text for each in picture.iter(f"{SVG}title")]
    assert "research/llama-train-3: coming" in titles
    answer = json.loads(await given(page, "Save as JSON"))
    assert [each["name"] for each in answer["nodes"]] == ["gpu-a2", "gpu-b1", "gpu-b2", "gpu-b3"]
    tab.expect_nothing()


@pytest.mark.parametrize(
    ("name", "says"),
    [("hero-observed", "it would evict 1 unit with 2 pods"), ("tune-proposed", "It would take quota back")],
)
async def test_nothing_says_evicted_of_a_plan_that_nobody_carries_out(
    open_tab: TabOpener, planned: Served, name: str, says: str
) -> None:
    tab = await opened(open_tab, planned, f"#/plan/team-a/{name}")
    await tab.page.get_by_text(says).wait_for()
    text = await text_of(tab.page)
    assert "evicted" not in text
    assert "Victims, if it were carried out" in text
    tab.expect_nothing()


async def test_a_list_is_narrowed_and_its_address_has_it(open_tab: TabOpener, planned: Served) -> None:
    tab = await opened(open_tab, planned, "#/plans")
    page = tab.page
    assert await page.locator("tbody tr").count() == 12
    await page.get_by_label("Standing").select_option("Observed")
    assert await page.locator("tbody tr").count() == 5
    assert "standing=Observed" in page.url
    await page.get_by_label("Standing").select_option("")
    await page.get_by_label("Filter by text").fill("tune turn")
    assert await page.locator("tbody tr").count() == 2
    await page.get_by_role("link", name="tune-turn-2").click()
    await page.get_by_text("Turns of the clusters").wait_for()
    assert "LeastDisruption" not in await text_of(page)
    assert await page.get_by_role("row", name="east").count() >= 1
    await page.keyboard.press("Escape")
    await page.get_by_role("heading", name="Plans").wait_for()
    tab.expect_nothing()


async def test_a_gang_leads_to_its_plans(open_tab: TabOpener, planned: Served) -> None:
    tab = await opened(open_tab, planned, "#/gang/research/llama-train")
    page = tab.page
    await page.get_by_role("heading", name="Its plans in time").wait_for()
    links = await page.locator("ol.phases a").all_inner_texts()
    assert set(links) == {"train-1", "llama-train-feaf99077c", "plan-2"}
    await page.get_by_role("link", name="llama-train-feaf99077c").click()
    await page.get_by_text("all 4 planned pods are bound").first.wait_for()
    tab.expect_nothing()


async def test_the_chart_and_its_table_have_the_same_numbers(open_tab: TabOpener, planned: Served) -> None:
    tab = await opened(open_tab, planned, "#/history")
    page = tab.page
    answer = json.loads(await given(page, "Save as JSON"))
    units = sum(each["units"] for each in answer["evictions"])
    label = await page.locator("figure.chart > svg").get_attribute("aria-label")
    assert label is not None
    assert label.startswith(f"{units} victims")
    await page.get_by_text("The same as a table").click()
    shown = await page.locator("details td[data-title=all]").all_inner_texts()
    assert sum(map(int, shown)) == units
    await page.locator("section[aria-labelledby=in-time] select").select_option("rule")
    assert page.url.endswith("by=rule")
    picture = ElementTree.fromstring(await given(page, "Save as SVG"))  # noqa: S314 - our own
    assert "Priority" in [each.text for each in picture.iter(f"{SVG}text")]
    await page.get_by_label("Who evicted").fill("team-b/sweep-0")
    await page.keyboard.press("Enter")
    await page.get_by_text("It was evicted by").wait_for()
    tab.expect_nothing()


async def test_who_evicted_is_what_the_command_prints(open_tab: TabOpener, planned: Served) -> None:
    tab = await opened(open_tab, planned, EVICTED)
    page = tab.page
    await page.get_by_role("button", name="Copy as command").click()
    await page.get_by_text("Copied:").wait_for()
    program, *arguments = shlex.split(await page.evaluate("() => navigator.clipboard.readText()"))
    assert program == "reprieve"
    run = await asyncio.to_thread(
        subprocess.run,
        [str(Path(sys.executable).with_name(program)), *arguments, "-o", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    printed: dict[str, Any] = json.loads(run.stdout)
    assert len(printed["evictions"]) == 2
    assert json.loads(await given(page, "Save as JSON")) == printed
    text = await text_of(page)
    assert [each["plan"] for each in printed["evictions"] if each["plan"] not in text] == []
    tab.expect_nothing()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_hostile_plans_are_shown_and_stored_as_they_are(
    open_tab: TabOpener, hostile: Served, text: str
) -> None:
    name, victims = quote(text, safe=""), quote(TEXTS[(TEXTS.index(text) + 1) % len(TEXTS)], safe="")
    tab = await opened(open_tab, hostile, f"#/plan/{name}/{name}")
    page = tab.page
    answer = json.loads(await given(page, "Save as JSON"))
    assert answer["plan"]["name"] == text
    said = await text_of(page)
    assert " ".join(one_line(answer["phases"][-1]["message"]).split()) in said
    ElementTree.fromstring(await given(page, "Save as SVG"))  # noqa: S314 - it must be well formed
    await go(page, f"#/evicted/{victims}/{name}")
    assert " ".join(one_line(text).split()) in await text_of(page)
    tab.expect_nothing()
