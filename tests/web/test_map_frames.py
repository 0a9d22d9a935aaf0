"""An open map follows the stream: after any frames it is the map that a fresh load has."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM
from tests.web.browsers import TabOpener
from tests.web.downloads import file_of
from tests.web.faking import Faked
from tests.web.serving import Served
from tests.web.streaming import Changing, Stream

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = SELDOM


class Opened:
    """A tab with the map of a cluster that changes."""

    def __init__(self, page: Page, stream: Stream, faked: Faked, cluster: Changing) -> None:
        self.page, self.stream, self.faked, self.cluster = page, stream, faked, cluster

    @property
    def asked(self) -> int:
        """How often the map was asked for."""
        return sum(path.startswith("map") for path in self.faked.asked)

    def change(self, name: str, used: int | None, gang: str = "") -> dict[str, Any]:
        """The frame of the change. The server knows it, too."""
        frame = self.cluster.change(name, used, gang)
        self.faked.answers["map"] = self.cluster.answer()
        return frame

    async def drawn(self) -> Any:
        """The picture, as JSON."""
        button = self.page.locator(".map-picture").get_by_role("button", name="Save as JSON")
        return json.loads(await file_of(button))

    async def used(self) -> dict[str, int]:
        """By node: what the picture shows."""
        return {each["name"]: each["used"] for each in (await self.drawn())["nodes"]}

    async def is_as_the_cluster(self) -> None:
        """Wait until the picture and the table are those of a fresh load."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.used() != self.cluster.used:
                await self.page.wait_for_timeout(50)
        found = await self.drawn()
        for node in found["nodes"]:
            held = sum(shape["amount"] for shape in node["shapes"])
            assert held == node["used"]
        await self.page.get_by_role("button", name="Map as table").click()
        await self.page.get_by_role("table", name="Nodes").wait_for()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.drawn() != self.cluster.answer():
                await self.page.wait_for_timeout(50)
        await self.page.get_by_role("button", name="Map as table").click()
        await self.page.locator("canvas").wait_for()

    async def pixels(self) -> str:
        """A digest of the canvas, once it is at rest."""
        before, now = "", await self._digest()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while before != now:
                await self.page.wait_for_timeout(700)
                before, now = now, await self._digest()
        return now

    async def _digest(self) -> str:
        return str(await self.page.evaluate("() => document.querySelector('canvas').toDataURL()"))


Opener = Callable[..., Awaitable[Opened]]


@pytest.fixture
def open_map(open_tab: TabOpener, examples: Served) -> Opener:
    """Opens a tab with the map of three nodes, or of as many as are given."""

    async def opened(nodes: int = 3) -> Opened:
        cluster = Changing({f"n{at}": at * 1000 % 8000 for at in range(1, nodes + 1)})
        faked = Faked(answers={"map": cluster.answer()})
        tab = await open_tab(examples.origin)
        stream = await Stream.of(tab.page)
        await faked.serve(tab.page)
        await tab.page.goto(f"{examples.origin}#code=x")
        await tab.page.get_by_role("heading", name="Waiting").wait_for()
        await tab.page.evaluate("() => { location.hash = '#/map' }")
        await tab.page.locator(".map-picture").wait_for()
        await stream.opened()
        return Opened(tab.page, stream, faked, cluster)

    return opened


async def test_after_many_frames_the_map_is_that_of_a_fresh_load(open_map: Opener) -> None:
    tab, luck = await open_map(), random.Random(1)
    for _ in range(6):
        frames = []
        for _ in range(luck.randrange(1, 12)):
            used = luck.choice([None, 0, *range(1000, 8000, 500)])
            gang = luck.choice(["", "one", "two"]) if used else ""
            frames.append(tab.change(f"n{luck.randrange(1, 6)}", used, gang))
        await tab.stream.frames(*frames)
    tab.faked.answers.pop("map")
    await tab.is_as_the_cluster()
    assert tab.asked == 1, "frames need no other question"


async def test_frames_of_one_picture_are_put_into_it_together(open_map: Opener) -> None:
    tab = await open_map()
    before = await tab.used()
    await tab.page.wait_for_timeout(500)
    await tab.stream.hold_pictures()
    for used in range(1000, 8000, 500):
        await tab.stream.frames(tab.change("n2", used))
    assert await tab.stream.waiting() == 1
    assert await tab.used() == before
    await tab.stream.release_pictures()
    await tab.is_as_the_cluster()
    assert tab.asked == 1


@pytest.mark.parametrize("nodes", [40, 1500])
async def test_nodes_that_are_drawn_again_alone_look_as_if_all_were(open_map: Opener, nodes: int) -> None:
    """The picture is compared with itself, drawn anew. From near, and from far."""
    tab, luck = await open_map(nodes), random.Random(2)
    before = await tab.pixels()
    for _ in range(8):
        names = luck.sample(sorted(tab.cluster.used), 12)
        await tab.stream.frames(*(tab.change(each, luck.randrange(8000), "one") for each in names))
        await tab.page.wait_for_timeout(60)
    after = await tab.pixels()
    assert after != before
    await tab.page.emulate_media(color_scheme="dark")
    assert await tab.pixels() != after
    await tab.page.emulate_media(color_scheme="light")
    assert await tab.pixels() == after


async def test_buttons_stay_where_they_are_when_the_legend_comes(open_map: Opener) -> None:
    """Who presses one would miss it otherwise."""
    tab = await open_map()
    button = tab.page.locator(".map-picture").get_by_role("button", name="Save as JSON")
    assert await tab.page.locator(".map-gangs").count() == 0
    before = await button.bounding_box()
    await tab.stream.frames(tab.change("n2", 4000, "one"))
    await tab.page.locator(".map-gangs").wait_for()
    assert await button.bounding_box() == before


async def test_a_tab_that_was_hidden_shows_what_is_there_now(open_map: Opener) -> None:
    tab = await open_map()
    await tab.stream.frames(tab.change("n1", 2000))
    await tab.stream.hide(hides=True)
    for used in range(0, 8000, 100):
        await tab.stream.frames(tab.change("n2", used, "one"))
    await tab.stream.frames(tab.change("n3", None))
    assert tab.asked == 1, "nobody looks at it"
    await tab.stream.hide(hides=False)
    await tab.is_as_the_cluster()
    await tab.stream.frames(tab.change("n4", 4000))
    await tab.is_as_the_cluster()


async def test_after_a_reset_the_map_is_asked_for_and_follows_again(open_map: Opener) -> None:
    tab = await open_map()
    await tab.stream.frames(tab.change("n1", 2000))
    tab.change("n2", 5000, "one")
    tab.change("n5", 500)
    await tab.stream.send(("reset", tab.cluster.version, {}))
    await tab.stream.frames(tab.change("n3", 3500, "two"))
    await tab.is_as_the_cluster()
    asked = tab.asked
    assert asked > 1
    await tab.stream.frames(tab.change("n2", 5500, "two"))
    await tab.is_as_the_cluster()
    assert tab.asked == asked


async def test_a_frame_that_does_not_fit_leads_to_a_question(open_map: Opener) -> None:
    tab = await open_map()
    tab.change("n1", 2000)
    await tab.stream.frames(tab.change("n2", 2500))
    await tab.is_as_the_cluster()
    assert tab.asked == 2


@pytest.mark.parametrize("remembers", [True, False])
async def test_after_a_lost_stream_the_map_goes_on_from_its_version(
    open_map: Opener, *, remembers: bool
) -> None:
    """The server remembers the frames that were missed, or says that one has to begin anew."""
    tab = await open_map()
    await tab.stream.frames(tab.change("n1", 2000), tab.change("n1", 2500))
    last = tab.cluster.version
    await tab.stream.end()
    missed = [tab.change("n2", 4000, "one"), tab.change("n3", None), tab.change("n4", 100)]
    assert (await tab.stream.opened(streams=2))[-1] == last
    if remembers:
        await tab.stream.frames(*missed)
    else:
        await tab.stream.send(("reset", tab.cluster.version, {}))
    await tab.is_as_the_cluster()
    assert tab.asked == (1 if remembers else 2)
    await tab.stream.frames(tab.change("n4", 200))
    await tab.is_as_the_cluster()
