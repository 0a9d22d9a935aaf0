"""A view counts as new only when it shows everything that a list of the newest state has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import orjson
import pytest
from aiohttp import web

from api.backoff import Backoff
from api.core import Pod
from api.meta import ObjectMeta
from kube.client import METADATA_LIST, ApiClient
from kube.errors import ApiError
from kube.reflector import Resource
from runtime.mirror import freshness
from runtime.mirror.freshness import catch_up
from runtime.mirror.objects import Objects
from runtime.mirror.resources import PODS
from runtime.mirror.views import View, Views
from tests.kit.clock import PATIENCE_SECONDS, ManualClock
from tests.kit.objects import pod
from tests.kit.scripted import Script, faulty_server, page, status
from tests.kit.views import unconnected
from tests.kit.waiting import beside

NEVER = float("inf")


class Server:
    """Answers with metadata, in pages of a few objects."""

    cluster = ""

    def __init__(self, number: int, *items: tuple[str, str, int]) -> None:
        """`number`: the resource version of the list; items are (name, UID, resource version)."""
        self.number, self.items, self.page = number, list(items), 2
        self.asked: list[dict[str, str]] = []
        self.faults: list[ApiError] = []
        self.before: Callable[[], object] = lambda: None

    async def request(self, method: str, path: str, *, query: dict[str, str], **options: Any) -> bytes:
        await asyncio.sleep(0)
        assert (method, path, options["accept"]) == ("GET", "/api/v1/pods", METADATA_LIST)
        assert "resourceVersion" not in query
        self.asked.append(query)
        self.before()
        if self.faults:
            raise self.faults.pop(0)
        start = int(query.get("continue", "0"))
        more = str(start + self.page) if len(self.items) > start + self.page else ""
        items = [
            {"metadata": {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version)}}
            for name, uid, version in self.items[start : start + self.page]
        ]
        meta = {"resourceVersion": str(self.number), "continue": more}
        return orjson.dumps({"metadata": meta, "items": items or None})


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(freshness, "BACKOFF", Backoff(0.0, 0.0))


@pytest.fixture
def views() -> Views:
    return unconnected()


@pytest.fixture
def view(views: Views) -> View[Pod]:
    return views.watch(PODS, Objects())


def has(view: View[Pod], name: str, version: int, uid: str = "") -> None:
    view.upsert(pod(name, uid=uid or f"uid-{name}", version=version), listed=False)


async def begin(server: Server, view: View[Pod], *, since: float = NEVER) -> asyncio.Task[None]:
    """The wait, once it has seen everything that is there now."""
    client = cast(ApiClient, server)
    task = asyncio.create_task(catch_up(client, [view], since, ManualClock()))
    for _ in range(50):
        await asyncio.sleep(0)
    return task


async def test_a_view_that_shows_the_list_is_new(view: View[Pod]) -> None:
    has(view, "a", 5)
    has(view, "b", 9)
    has(view, "younger", 12)
    task = await begin(Server(10, ("a", "uid-a", 5), ("b", "uid-b", 7)), view)
    assert task.done()
    await task


async def test_an_empty_list_is_an_answer(view: View[Pod]) -> None:
    task = await begin(Server(10), view)
    assert task.done()
    await task


@pytest.mark.parametrize(
    ("shown", "comes"),
    [
        pytest.param([], lambda view: has(view, "b", 7), id="an object is missing"),
        pytest.param([("b", 6, "")], lambda view: has(view, "b", 8), id="an object is old"),
        pytest.param([("b", 6, "former")], lambda view: has(view, "b", 7), id="another one has its name"),
        pytest.param(
            [("b", 7, ""), ("c", 8, "")],
            lambda view: view.delete(ObjectMeta("c", "default", "uid-c", "9")),
            id="an object is gone",
        ),
        pytest.param(
            [],
            lambda view: view.delete(ObjectMeta("b", "default", "uid-b", "11")),
            id="a missing object goes",
        ),
        pytest.param(
            [], lambda view: setattr(view._reflector, "resource_version", "10"), id="a bookmark passes"
        ),
    ],
)
async def test_the_watch_is_waited_for(
    view: View[Pod], shown: list[tuple[str, int, str]], comes: Callable[[View[Pod]], object]
) -> None:
    has(view, "a", 5)
    for each in shown:
        has(view, *each)
    task = await begin(Server(10, ("a", "uid-a", 5), ("b", "uid-b", 7)), view)
    assert not task.done()
    comes(view)
    await asyncio.wait_for(task, 5)


async def test_pages_are_not_asked_for_once_the_watch_has_passed(view: View[Pod]) -> None:
    server = Server(10, *((name, f"uid-{name}", 5) for name in "abcdef"))
    server.before = lambda: setattr(
        view._reflector, "resource_version", "10" if len(server.asked) == 2 else "1"
    )
    task = await begin(server, view)
    assert task.done()
    assert len(server.asked) == 2


async def test_faults_are_outlasted_and_the_list_begins_anew(view: View[Pod]) -> None:
    server = Server(10, *((name, f"uid-{name}", 5) for name in "abc"))
    for name in "abc":
        has(view, name, 5)
    server.before = lambda: server.faults.extend([ApiError(410, "Expired", "")] * (len(server.asked) == 2))
    task = await begin(server, view)
    assert task.done()
    assert [query.get("continue", "") for query in server.asked] == ["", "2", "", "2"]


async def test_a_new_list_is_made_if_the_watch_does_not_come(
    view: View[Pod], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object is gone by now, and the view has never had it."""
    monkeypatch.setattr(freshness, "PATIENCE_SECONDS", -1.0)
    server = Server(10, ("b", "uid-b", 7))
    task = await begin(server, view)
    assert not task.done()
    server.items.clear()
    await asyncio.wait_for(task, 5)


async def test_a_view_that_was_listed_since_is_new_without_a_list(view: View[Pod]) -> None:
    view._reflector.listed_from = 100.0
    server = Server(10, ("b", "uid-b", 7))
    task = await begin(server, view, since=100.0)
    assert task.done()
    await task
    assert server.asked == []
    task = await begin(server, view, since=100.5)
    assert not task.done()
    task.cancel()


async def test_versions_that_are_no_numbers_are_never_behind(view: View[Pod]) -> None:
    opaque = pod("b", uid="uid-b")
    opaque.metadata.resource_version = "v-x"
    view.upsert(opaque, listed=False)
    task = await begin(Server(10, ("b", "uid-b", 7)), view)
    assert task.done()
    await task


async def test_the_version_that_is_served_is_asked_for() -> None:
    """A path that is not served would be asked for again and again, and no term would begin."""
    script, newest, older = Script(), "/apis/example.com/v1/things", "/apis/example.com/v1beta1/things"
    asked = list[str]()

    async def route(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        there = request.path == older
        return await script.json(
            page([], 10) if there else status(404, "NotFound"), code=200 if there else 404
        )(request)

    script.lists = [route] * 3
    async with faulty_server(script) as client:
        views = Views(client)
        view = views.watch(Resource("things", newest, Pod, optional=True, older=(older,)), Objects())
        async with beside(views.run()):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await view.wait_synced()
                await catch_up(client, [view], NEVER, ManualClock())
    assert asked == [newest, older, older]
