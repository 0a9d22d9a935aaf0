"""The map in a browser. What it has drawn is compared by its export, and never by pixels."""

from __future__ import annotations

import asyncio
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.kit.answers.rooms import GPU, WORLD
from tests.kit.often import SELDOM
from tests.web.browsers import Tab, TabOpener
from tests.web.downloads import file_of
from tests.web.faking import MOMENT, Faked
from tests.web.hostile import IN_LISTS
from tests.web.judging import cut, violations
from tests.web.serving import Served, printed, serving

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

pytestmark = SELDOM

PNG: Final = b"\x89PNG\r\n\x1a\n"
AMOUNTS: Final = ("allocatable", "used", "leaving", "promised", "free", "anonymous")
SVG: Final = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def rooms(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of a cluster with a plan that is carried out."""
    file = tmp_path_factory.mktemp("rooms") / "rooms.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(WORLD)}))
    with serving(file) as served:
        yield served


async def opened(
    open_tab: TabOpener, served: Served, address: str = "#/map", **others: Any
) -> tuple[Tab, Any]:
    """A tab with the map, and what the server has said of it."""
    tab = await open_tab(served.origin, **others)
    await tab.page.goto(served.another_address())
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    async with tab.page.expect_response("**/api/v1/map*") as response:
        await tab.page.evaluate("(address) => { location.hash = address }", address)
    await tab.page.locator(".map-picture").wait_for()
    return tab, await (await response.value).json()


async def stored(page: Page, button: str) -> bytes:
    """The file that a button gives."""
    return await file_of(page.locator(".map-picture").get_by_role("button", name=button))


async def drawn(page: Page) -> Any:
    """What the picture shows now."""
    return json.loads(await stored(page, "Save as JSON"))


def node_in(found: Any, name: str) -> Any:
    return next(each for each in found["nodes"] if each["name"] == name)


def pods_in(found: Any) -> set[tuple[str, str]]:
    """The pods that are drawn, and how."""
    shapes = [shape for each in found["nodes"] for shape in each["shapes"]]
    return {(shape["pod"], shape["tone"]) for shape in shapes if shape["pod"]}


def titles_of(svg: bytes) -> list[str | None]:
    """The titles in a picture of ours."""
    return [each.text for each in ET.fromstring(svg).iter(f"{SVG}title")]  # noqa: S314 - the page has made it


async def test_the_picture_and_the_table_have_the_data_of_the_answer(
    open_tab: TabOpener, rooms: Served
) -> None:
    tab, answer = await opened(open_tab, rooms)
    found = await drawn(tab.page)
    assert [each["name"] for each in found["nodes"]] == answer["nodes"]["name"]
    for at, each in enumerate(found["nodes"]):
        assert {key: each[key] for key in AMOUNTS} == {key: answer["nodes"][key][at] for key in AMOUNTS}
        held = sum(shape["amount"] for shape in each["shapes"] if shape["tone"] != "promised")
        assert held == each["used"] + each["anonymous"]
    assert {each["value"] for each in found["blocks"]} == set(answer["blocks"])
    await tab.page.get_by_role("button", name="Map as table").click()
    await tab.page.get_by_role("table", name="Nodes").wait_for()
    assert json.loads(await stored(tab.page, "Save as JSON")) == answer
    row = await tab.page.get_by_role("row", name="n2").inner_text()
    for text in ("b/old 1 pod (6)", "promised to a/train (4)"):
        assert text in row
    tab.expect_nothing()


async def test_keys_move_among_nodes_and_open_one(open_tab: TabOpener, rooms: Served) -> None:
    tab, _ = await opened(open_tab, rooms)
    page = tab.page
    await page.get_by_role("application").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowRight")
    said = await page.locator(".map-said").inner_text()
    name = said.split(" ")[0].rstrip(",")
    assert name in ("n1", "n2", "n10", "plain")
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name=f"Node {name}").wait_for()
    assert f"node={name}" in page.url
    await page.keyboard.press("Escape")
    await page.locator(".node-panel").wait_for(state="detached")
    await page.wait_for_function("() => document.activeElement.className === 'map-window'")
    tab.expect_nothing()


async def test_closer_one_sees_parts_and_then_pods(open_tab: TabOpener, rooms: Served) -> None:
    tab, _ = await opened(open_tab, rooms, "#/map?node=n2")
    page = tab.page
    await page.get_by_role("heading", name="Node n2").wait_for()
    await page.get_by_role("application").focus()
    for _ in range(12):
        await page.keyboard.press("+")
    async with asyncio.timeout(30):
        while not pods_in(found := await drawn(page)):
            await page.wait_for_timeout(50)
    assert found["level"] == "nearest"
    assert pods_in(found) >= {("b/old-0", "used"), ("b/gone", "leaving")}
    await page.get_by_role("application").focus()
    await page.keyboard.press("0")
    await page.wait_for_timeout(300)
    assert len((await drawn(page))["nodes"]) == 4
    tab.expect_nothing()


async def test_wheel_and_pointer_move_the_map(open_tab: TabOpener, rooms: Served) -> None:
    tab, _ = await opened(open_tab, rooms)
    page = tab.page
    before = node_in(await drawn(page), "n2")
    box = await page.locator("canvas").bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await page.mouse.wheel(0, 300)
    await page.wait_for_timeout(300)
    smaller = node_in(await drawn(page), "n2")
    assert smaller["side"] < before["side"]
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await page.mouse.wheel(0, -600)
    await page.mouse.down()
    await page.mouse.move(box["x"] + box["width"] / 2 + 40, box["y"] + box["height"] / 2)
    await page.mouse.up()
    await page.wait_for_timeout(300)
    assert node_in(await drawn(page), "n2")["side"] > smaller["side"]
    tab.expect_nothing()


async def test_a_click_opens_the_node_that_is_there(open_tab: TabOpener, rooms: Served) -> None:
    tab, _ = await opened(open_tab, rooms)
    there = node_in(await drawn(tab.page), "n10")
    half = there["side"] / 2
    await tab.page.locator("canvas").click(position={"x": there["x"] + half, "y": there["y"] + half})
    await tab.page.get_by_role("heading", name="Node n10").wait_for()
    panel = tab.page.locator(".node-panel")
    await panel.filter(has_text="a/runs").filter(has_text="a/train-1").wait_for()
    tab.expect_nothing()


async def test_a_chosen_gang_brings_out_its_victims_and_its_planned_nodes(
    open_tab: TabOpener, rooms: Served
) -> None:
    tab, _ = await opened(open_tab, rooms, permissions=["clipboard-read", "clipboard-write"])
    page = tab.page
    await page.locator(".map-gangs button").filter(has_text="train").click()
    await page.locator(".map-panel").filter(has_text="Its plan promises").wait_for()
    found = await drawn(page)
    assert found["gang"] == "a/train"
    assert {each["name"] for each in found["nodes"] if each["isPlanned"]} == {"n2", "n10"}
    (victim,) = (shape for each in found["nodes"] for shape in each["shapes"] if shape["isVictim"])
    assert (victim["amount"], victim["isDim"]) == (6, False)
    await page.get_by_role("button", name="Copy as command").click()
    await page.get_by_text("Copied:").wait_for()
    answer = printed(await page.evaluate("() => navigator.clipboard.readText()"))
    decision = answer["decision"]
    assert {each["node"] for each in decision["placements"]} == {"n2", "n10"}
    assert [each["name"] for each in decision["victims"]] == ["old-0"]
    tab.expect_nothing()


async def test_a_search_rings_what_it_finds(open_tab: TabOpener, rooms: Served) -> None:
    tab, _ = await opened(open_tab, rooms)
    for text, names in (
        ("n1", {"n1", "n10"}),
        ("r2", {"n1", "n2"}),
        ("b/old", {"n2"}),
        ("TRAIN", {"n2", "n10"}),
    ):
        await tab.page.get_by_label("Find a node").fill(text)
        await tab.page.get_by_text(f"{len(names)} node").last.wait_for()
        assert {each["name"] for each in (await drawn(tab.page))["nodes"] if each["isFound"]} == names
    tab.expect_nothing()


async def test_pictures_are_files_that_other_programs_read(open_tab: TabOpener, rooms: Served) -> None:
    tab, _ = await opened(open_tab, rooms)
    assert {"n1", "n2", "n10", "plain"} <= set(titles_of(await stored(tab.page, "Save as SVG")))
    png = await stored(tab.page, "Save as PNG")
    assert png.startswith(PNG)
    assert int.from_bytes(png[16:20]) > 1000
    tab.expect_nothing()


async def test_hostile_names_are_in_every_export(open_tab: TabOpener, hostile: Served) -> None:
    tab, _ = await opened(open_tab, hostile)
    found = await drawn(tab.page)
    assert {each["name"] for each in found["nodes"]} == set(IN_LISTS)
    svg = await stored(tab.page, "Save as SVG")
    assert b"<script" not in svg
    assert len(titles_of(svg)) > len(IN_LISTS)
    tab.expect_nothing()


@pytest.mark.parametrize("others", [{"forced_colors": "active"}, {"theme": "dark", "device_scale_factor": 2}])
async def test_the_map_looks_as_the_system_wants_it(
    open_tab: TabOpener, rooms: Served, others: dict[str, Any]
) -> None:
    tab, _ = await opened(open_tab, rooms, "#/map?gang=a/train&node=n2", **others)
    await tab.page.get_by_role("heading", name="Node n2").wait_for()
    assert [*await violations(tab.page), *await cut(tab.page)] == []
    tab.expect_nothing()


# ---- a cluster that changes


def a_map(*names: str) -> dict[str, Any]:
    """Of nodes that are free."""
    zeros, full = [0] * len(names), [8] * len(names)
    return {
        "version": "1",
        "moment": MOMENT,
        "trouble": "",
        "topologyKey": "rack",
        "topologyKeys": [{"key": "rack", "podGroups": 0}],
        "resource": GPU,
        "resources": [GPU],
        "blocks": ["r1"],
        "nodes": {
            "name": list(names),
            "block": zeros,
            "allocatable": full,
            "used": zeros,
            "leaving": zeros,
            "promised": zeros,
            "free": full,
            "anonymous": zeros,
        },
        "gangs": {"namespace": [], "name": [], "key": []},
        "parts": {"node": [], "gang": [], "pods": [], "used": [], "leaving": []},
        "plans": [],
        "missing": [],
        "unread": "",
    }


async def test_a_node_keeps_its_place_when_others_come_and_go(open_tab: TabOpener, rooms: Served) -> None:
    faked = Faked(answers={"map": a_map("b", "c", "d")})
    tab = await open_tab(rooms.origin)
    page = tab.page
    await faked.serve(page)
    await page.goto(f"{rooms.origin}#code=x")
    await page.get_by_role("heading", name="Waiting").wait_for()
    await page.evaluate("() => { location.hash = '#/map' }")
    await page.locator(".map-picture").wait_for()
    before = {each["name"]: (each["x"], each["y"]) for each in (await drawn(page))["nodes"]}
    faked.answers["map"] = a_map("a", "b", "d")
    faked.version = 2
    async with asyncio.timeout(30):
        while "a" not in (after := {each["name"]: each for each in (await drawn(page))["nodes"]}):
            await page.wait_for_timeout(50)
    assert {name: (after[name]["x"], after[name]["y"]) for name in ("b", "d")} == {
        name: before[name] for name in ("b", "d")
    }
    assert (after["a"]["x"], after["a"]["y"]) == before["c"]


async def test_a_node_that_is_refused_is_asked_for_once(open_tab: TabOpener, rooms: Served) -> None:
    """However often the map comes to rest. Otherwise nothing else gets an answer."""
    faked = Faked(answers={"map": a_map("b", "c")})
    tab = await open_tab(rooms.origin)
    await faked.serve(tab.page)
    await tab.page.goto(f"{rooms.origin}#code=x")
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    await tab.page.evaluate("() => { location.hash = '#/map' }")
    await tab.page.locator(".map-picture").wait_for()
    async with asyncio.timeout(30):
        while "nodes/c" not in faked.asked:
            await tab.page.wait_for_timeout(50)
    for _ in range(5):
        assert (await drawn(tab.page))["level"] == "nearest"
    await tab.page.wait_for_timeout(300)
    assert sorted(path for path in faked.asked if path.startswith("nodes/")) == ["nodes/b", "nodes/c"]


async def test_what_is_usual_is_asked_for_once(open_tab: TabOpener, rooms: Served) -> None:
    """Another PodGroup must not turn the map around."""
    faked = Faked(answers={"map": a_map("b")})
    tab = await open_tab(rooms.origin)
    await faked.serve(tab.page)
    await tab.page.goto(f"{rooms.origin}#code=x")
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    await tab.page.evaluate("() => { location.hash = '#/map' }")
    await tab.page.locator(".map-picture").wait_for()
    faked.version = 2
    async with asyncio.timeout(30):
        while len(asked := [path for path in faked.asked if path.startswith("map")]) < 2:
            await tab.page.wait_for_timeout(50)
    assert asked[:2] == ["map", "map?topologyKey=rack&resource=example.com%2Fgpu"]


async def test_a_right_that_is_taken_away_takes_the_map_away(open_tab: TabOpener, rooms: Served) -> None:
    faked = Faked(answers={"map": a_map("b")})
    tab = await open_tab(rooms.origin)
    await faked.serve(tab.page)
    await tab.page.goto(f"{rooms.origin}#code=x")
    await tab.page.get_by_role("heading", name="Waiting").wait_for()
    await tab.page.evaluate("() => { location.hash = '#/map' }")
    await tab.page.locator(".map-picture").wait_for()
    faked.refusals["map"] = (403, {"reason": "Forbidden", "message": "no", "right": "list nodes"})
    faked.version = 2
    await tab.page.get_by_text("list nodes").wait_for()
    assert await tab.page.locator(".map-picture").count() == 0
