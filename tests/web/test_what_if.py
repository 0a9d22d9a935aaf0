"""The view What if says what `reprieve what-if` prints about the same manifests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.kit.often import SELDOM
from tests.web.browsers import Tab, TabOpener
from tests.web.downloads import file_of
from tests.web.hostile import TEXTS
from tests.web.judging import cut, violations
from tests.web.serving import NOW, ROOT, Served, serving

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

pytestmark = SELDOM

MANIFESTS: Final = (ROOT / "examples" / "what-if" / "train.yaml").read_text()
WAITS: Final = 3


@pytest.fixture(scope="module")
def training(browser: Browser) -> Iterator[Served]:
    """The page of an example to which manifests can be submitted."""
    with serving("examples/training-cluster.yaml") as served:
        yield served


def printed(command: str) -> Any:
    """What a shell prints for the command, as JSON."""
    programs = str(Path(sys.executable).parent)
    command = command.replace("reprieve what-if -", f"reprieve what-if - -o json --now {NOW}", 1)
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
    )
    assert run.returncode in (0, WAITS), run.stderr
    return json.loads(run.stdout)


async def opened(open_tab: TabOpener, served: Served, **options: Any) -> Tab:
    """The view."""
    tab = await open_tab(served.origin, permissions=["clipboard-read", "clipboard-write"], **options)
    await tab.page.goto(served.another_address())
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    await tab.page.get_by_role("link", name="What if").click()
    await tab.page.get_by_label("Manifests").wait_for()
    return tab


async def asked(page: Page, text: str) -> None:
    """Paste the text, and ask by keyboard."""
    await page.get_by_label("Manifests").fill(text)
    await page.get_by_label("Manifests").press("Control+Enter")


async def stored(page: Page) -> Any:
    """The file that the button gives."""
    return json.loads(await file_of(page.get_by_role("button", name="Save as JSON")))


async def test_the_view_the_file_and_the_command_say_the_same(open_tab: TabOpener, training: Served) -> None:
    tab = await opened(open_tab, training)
    page = tab.page
    await asked(page, MANIFESTS)
    await page.locator("article.answer").first.wait_for()
    await page.get_by_role("button", name="Copy as command").click()
    await page.get_by_text("Copied:").wait_for()
    answer = printed(await page.evaluate("() => navigator.clipboard.readText()"))
    assert await stored(page) == answer
    said = " ".join((await page.locator("main").inner_text()).split())
    for step in answer["steps"]:
        texts = [step["sentence"], *step["evicted"], *(each["sentence"] for each in step["consequences"])]
        assert [text for text in texts if " ".join(text.split()) not in said] == []
    nodes = {each["node"] for step in answer["steps"] for each in step["plan"]["placements"]}
    assert nodes
    assert nodes <= set(await page.locator("tbody th").all_inner_texts())
    tab.expect_nothing()


async def test_files_can_be_chosen(open_tab: TabOpener, training: Served) -> None:
    page = (await opened(open_tab, training)).page
    await page.locator("input[type=file]").set_input_files(ROOT / "examples" / "what-if" / "train.yaml")
    await page.wait_for_function("() => document.querySelector('textarea').value.includes('kind:')")
    assert await page.get_by_label("Manifests").input_value() == MANIFESTS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Paste manifests first."),
        ("a: &x 1\nb: *x\n", "line 2, column 4: aliases are not accepted here"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: 3}]}",
            "containers[0].name",
        ),
    ],
)
async def test_a_fault_is_named(open_tab: TabOpener, training: Served, text: str, says: str) -> None:
    page = (await opened(open_tab, training)).page
    await asked(page, text)
    await page.locator(".notice", has_text=says).wait_for()


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 1440), ("light", 320), ("dark", 320)])
async def test_the_view_keeps_the_rules(
    open_tab: TabOpener, training: Served, theme: str, width: int
) -> None:
    tab = await opened(open_tab, training, theme=theme, width=width)
    faults = [*await violations(tab.page), *await cut(tab.page)]
    await asked(tab.page, MANIFESTS)
    await tab.page.locator("article.answer").first.wait_for()
    faults += [*await violations(tab.page), *await cut(tab.page)]
    assert faults == []
    tab.expect_nothing()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_hostile_manifests_do_nothing(open_tab: TabOpener, hostile: Served, text: str) -> None:
    tab = await opened(open_tab, hostile)
    page = tab.page
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": text, "namespace": text},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    }
    await asked(page, json.dumps(pod))
    await page.locator("article.answer, .notice.bad").first.wait_for()
    assert await cut(page) == []
    assert await page.locator("main img, main iframe, main script").count() == 0
    tab.expect_nothing()
