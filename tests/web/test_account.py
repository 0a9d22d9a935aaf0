"""The views Report and Doctor show what the commands print, and lead on."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import pytest

from cli.common.printable import one_line
from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener
from tests.web.downloads import file_of
from tests.web.hostile import TEXTS
from tests.web.serving import ROOT, Served

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = SELDOM

VIEWS: Final = (
    ("#/report", "report"),
    ("#/report?since=2d&by=priority&namespace=research&price=nvidia.com%2Fgpu%3D2.5&price=cpu%3D1", "report"),
    ("#/doctor", "doctor"),
)
FAULTY: Final = 3
ANSWER: Final = "p.sentence"


async def opened(open_tab: TabOpener, served: Served, address: str, **others: Any) -> Page:
    tab = await open_tab(served.origin, **others)
    await tab.page.goto(served.another_address())
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    await tab.page.evaluate("(address) => { location.hash = address }", address)
    await tab.page.locator(ANSWER).wait_for()
    return tab.page


def printed(command: str) -> Any:
    """What the command prints as JSON. It has the time."""
    program, *arguments = shlex.split(command)
    assert program == "reprieve"
    run = subprocess.run(
        [str(Path(sys.executable).with_name(program)), *arguments, "-o", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, FAULTY), run.stderr
    return json.loads(run.stdout)


async def stored(page: Page, button: str) -> str:
    """The content of the file that the first button of this name gives."""
    return (await file_of(page.get_by_role("button", name=button).first)).decode()


@pytest.mark.parametrize(("address", "heads"), VIEWS, ids=[each for each, _ in VIEWS])
async def test_the_view_the_file_and_the_command_say_the_same(
    open_tab: TabOpener, examples: Served, address: str, heads: str
) -> None:
    page = await opened(open_tab, examples, address, permissions=["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy as command").click()
    await page.get_by_text("Copied:").wait_for()
    command = await page.evaluate("() => navigator.clipboard.readText()")
    assert command.startswith(f"reprieve {heads}")
    answer = printed(command)
    assert json.loads(await stored(page, "Save as JSON")) == answer
    text = " ".join((await page.locator("main").inner_text()).split())
    said = (
        [answer["answer"], *answer["notKnown"], *(row["name"] for row in answer["rows"])]
        if heads == "report"
        else [text for each in answer["findings"] for text in (each["message"], each["remedy"] or "")]
    )
    assert [each for each in said if " ".join(one_line(each).split()) not in text] == []


async def test_a_day_a_namespace_and_a_decision_lead_on(open_tab: TabOpener, examples: Served) -> None:
    page = await opened(open_tab, examples, "#/report")
    await page.get_by_role("link", name="2026-02-26").first.click()
    await page.get_by_text("1 of these 3 are of 2026-02-26.").wait_for()
    await page.get_by_role("link", name="serving", exact=True).click()
    await page.get_by_text("for preemptors of the namespace serving").wait_for()
    assert page.url.endswith("#/report?namespace=serving")
    await page.get_by_role("link", name="serving/api").click()
    await page.wait_for_url("**/#/plan/serving/plan-1")


async def test_another_report_has_another_address(open_tab: TabOpener, examples: Served) -> None:
    page = await opened(open_tab, examples, "#/report")
    await page.get_by_label("How far back").fill("36h")
    await page.get_by_label("Rows by").select_option("gang")
    await page.get_by_label("Prices of an hour").fill("cpu=1")
    await page.get_by_role("button", name="Show this report").click()
    await page.get_by_role("heading", name="By gang of the preemptor").wait_for()
    assert page.url.endswith("#/report?since=36h&by=gang&price=cpu%3D1")


async def test_a_report_that_cannot_be_asked_for_says_why(open_tab: TabOpener, examples: Served) -> None:
    page = await opened(open_tab, examples, "#/report")
    await page.get_by_label("Prices of an hour").fill("gold")
    await page.get_by_role("button", name="Show this report").click()
    await page.get_by_text("price: 'gold' is no price such as nvidia.com/gpu=2.5").wait_for()


async def test_another_program_can_read_the_picture(open_tab: TabOpener, hostile: Served) -> None:
    """With every name in it, and no name as markup."""
    page = await opened(open_tab, hostile, "#/report")
    await page.get_by_role("heading", name="By namespace of the preemptor").wait_for()
    buttons = page.get_by_role("button", name="Save as SVG")
    root = ET.fromstring(await file_of(buttons.last))  # noqa: S314 - the file is ours
    texts = "".join(each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text"))
    assert [each for each in TEXTS if one_line(each) not in texts] == []
    assert {each.tag.partition("}")[2] for each in root.iter()} == {"svg", "title", "rect", "text"}


async def test_the_command_of_a_fault_can_be_copied(open_tab: TabOpener, examples: Served) -> None:
    page = await opened(open_tab, examples, "#/doctor", permissions=["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy", exact=True).first.click()
    await page.get_by_text("Copied:").wait_for()
    copied = await page.evaluate("() => navigator.clipboard.readText()")
    assert copied == "kubectl apply --server-side -k manifests/crds"
