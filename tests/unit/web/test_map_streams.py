"""Frames over real sockets: made once, sent with the rights of that moment, and for as long as somebody is near."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from answers.map.frame import Framing
from answers.names import Names
from api.times import parse_rfc3339
from tests.kit.answers.rooms import NOW, WORLD, pod
from tests.kit.clock import ManualClock
from tests.kit.followed import Followed, settled
from tests.unit.web.page_stage import Api, Page, cluster_page
from web.frames import Frames
from web.questions import Looked
from web.readers.authority import Authority
from web.readers.rights import Granted
from web.versions import number_of, version_for
from web.wire.frames import Frame

TOKEN = "header.payload.signature"
LOOKED = Looked("rack", "cpu")
ALL = Granted(frozenset({("nodes", ""), ("pods", ""), ("podgroups", "")}))
NODES = Granted(frozenset({("nodes", "")}))


async def followed() -> Followed:
    found = Followed(list(WORLD), ManualClock(wall=parse_rfc3339(NOW)))
    await found.fill()
    return found


def data_of(event: bytes) -> Any:
    """What a frame says. It has the fields that OpenAPI describes."""
    said = json.loads(event.decode().split("data: ")[1])
    msgspec.convert(said, Frame)
    return said


async def test_a_frame_is_made_once_for_all_who_may_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = await followed()
    frames = Frames(cluster.source, ManualClock())
    made = list[Any]()

    def noted(framing: Framing, names: Names) -> dict[str, Any] | None:
        made.append(names)
        return frame(framing, names)

    frame = Framing.frame
    monkeypatch.setattr(Framing, "frame", noted)
    with frames.reading():
        cluster.put(pod("more", "a", 1, "n1"))
        frames.look()
        (one,), (other,), (less,) = (
            frames.events(0, each, LOOKED) or () for each in (ALL, Granted(ALL.rights), NODES)
        )
    assert one is other
    assert len(made) == 2
    assert data_of(one)["nodes"]["used"] == [500]
    assert (data_of(less)["nodes"]["used"], data_of(less)["nodes"]["anonymous"]) == ([0], [500])


async def test_a_slow_reader_begins_anew() -> None:
    cluster = await followed()
    frames = Frames(cluster.source, ManualClock())
    with frames.reading():
        for at in range(65):
            cluster.put(pod(f"p{at}", "a", 0, "n1"))
            frames.look()
        assert len(frames.events(1, ALL, LOOKED) or ()) == 64
        assert frames.events(0, ALL, LOOKED) is None


async def test_events_that_come_together_are_one_frame() -> None:
    """Also if they come in several turns of the loop, as those of a long answer do."""
    cluster = await followed()
    frames, rung = Frames(cluster.source, ManualClock()), asyncio.Event()
    with frames.reading(), frames.bells.hung(rung):
        running = asyncio.create_task(frames.run())
        await asyncio.sleep(0)
        for at in range(3):
            cluster.put(pod(f"p{at}", "a", 1, "n1"))
            await asyncio.sleep(0)
        await rung.wait()
        running.cancel()
        (event,) = frames.events(0, ALL, LOOKED) or ()
    assert frames.newest == 1
    assert data_of(event)["parts"]["pods"] == [3]


async def test_a_reader_goes_on_where_it_was() -> None:
    cluster = await followed()
    frames, first = Frames(cluster.source, ManualClock()), cluster.source.version
    with frames.reading():
        cluster.put(pod("one", "a", 0, "n1"))
        frames.look()
        second = cluster.source.version
        cluster.put(pod("two", "a", 0, "n2"))
        frames.look()
        assert [frames.place(each) for each in (first, second, cluster.source.version)] == [0, 1, 2]
        for unknown in ("", "x", "other-3", f"{first}9x"):
            assert frames.place(unknown) is None
    assert number_of(first, second) < number_of(second, second)


@asynccontextmanager
async def stream(page: Page, secret: str, last: str = "") -> AsyncIterator[asyncio.Queue[tuple[str, str]]]:
    """The events of a stream of the map."""
    found = asyncio.Queue[tuple[str, str]]()
    headers = {"Authorization": f"Bearer {secret}", **({"Last-Event-ID": last} if last else {})}
    url = f"{page.url}/api/v1/events?topics=map&topologyKey=rack&resource=cpu"
    async with page.session.get(url, headers=headers) as answer:
        assert answer.status == 200

        async def read() -> None:
            name = ""
            async for line in answer.content:
                key, _, value = line.decode().rstrip("\n").partition(": ")
                if key == "event":
                    name = value
                if key == "data":
                    found.put_nowait((name, value))

        task = asyncio.create_task(read())
        try:
            yield found
        finally:
            task.cancel()


@asynccontextmanager
async def opened(api: Api) -> AsyncIterator[tuple[Page, str, Followed]]:
    cluster = await followed()
    api.add(TOKEN, "anna", "list nodes", "list pods", "list podgroups")
    async with cluster_page(api, files=cluster.source) as page:  # type: ignore[arg-type]
        yield page, await page.log_in(token=TOKEN), cluster


async def test_a_stream_has_frames_that_fit_the_map() -> None:
    async with opened(Api()) as (page, secret, cluster):
        _, found, _ = await page.ask("map?topologyKey=rack&resource=cpu", secret)
        async with stream(page, secret, found["version"]) as events:
            await settled()
            cluster.put(pod("more", "a", 1, "n1"))
            async with asyncio.timeout(10):
                name, text = await events.get()
            assert (name, json.loads(text)["since"]) == ("map", found["version"])
            assert json.loads(text)["version"] == version_for(cluster.source.version, ALL)


async def test_an_unknown_version_is_reset() -> None:
    async with opened(Api()) as (page, secret, _), stream(page, secret, "old-1-x") as events:
        async with asyncio.timeout(10):
            assert await events.get() == ("reset", "{}")


async def test_a_right_that_is_taken_away_ends_frames() -> None:
    """Rights count when a frame is sent."""
    api = Api()
    cluster = await followed()
    api.add(TOKEN, "anna", "list nodes", "list pods", "list podgroups")
    async with cluster_page(api, files=cluster.source, recheck_seconds=1.0) as page:  # type: ignore[arg-type]
        secret = await page.log_in(token=TOKEN)
        async with stream(page, secret) as events:
            api.rights["anna"] = {"list nodes"}
            async with asyncio.timeout(20):
                assert await events.get() == ("reset", "{}")
            cluster.put(pod("secret-pod", "a", 1, "n1", "secret-gang"))
            async with asyncio.timeout(10):
                name, text = await events.get()
            assert name == "map"
            assert "secret" not in text
            assert json.loads(text)["nodes"]["anonymous"] == [500]


async def test_a_stream_that_comes_back_gets_what_was_not_a_frame_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other topics may tell of a version before the map's frame of it is made."""
    monkeypatch.setattr(Frames, "look", lambda _: None)
    async with opened(Api()) as (page, secret, cluster):
        url = f"{page.url}/api/v1/events?topics=waiting,map&topologyKey=rack&resource=cpu"
        before = cluster.source.version
        async with page.session.get(url, headers={"Authorization": f"Bearer {secret}"}) as answer:
            ids = list[str]()
            async with asyncio.timeout(20):
                while len(ids) < 2:
                    line = (await answer.content.readline()).decode().strip()
                    if line.startswith("id: "):
                        ids.append(line.removeprefix("id: "))
                        cluster.put(pod("more", "a", 1, "n1"))
        assert ids == [version_for(before, ALL)] * 2


async def test_a_frame_does_not_wait_for_rights_that_still_count(monkeypatch: pytest.MonkeyPatch) -> None:
    api, asked, goes_on = Api(), asyncio.Event(), asyncio.Event()
    granted = Authority.granted

    async def slow(*given: Any, **named: Any) -> Granted:
        if clock.monotonic() > began:
            asked.set()
            await goes_on.wait()
        return await granted(*given, **named)

    monkeypatch.setattr(Authority, "granted", slow)
    clock, cluster = ManualClock(), await followed()
    began = clock.monotonic()
    api.add(TOKEN, "anna", "list nodes", "list pods", "list podgroups")
    async with cluster_page(api, clock=clock, files=cluster.source) as page:  # type: ignore[arg-type]
        secret = await page.log_in(token=TOKEN)
        async with stream(page, secret) as events:
            await settled()
            clock.advance(25)
            cluster.put(pod("more", "a", 1, "n1"))
            async with asyncio.timeout(10):
                assert (await events.get())[0] == "map"
                await asked.wait()
            goes_on.set()
