"""A worker cluster that was taken over and answers with more than an API server does: its connection ends, and says
why. Nothing of its answers is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest
from aiohttp import web

from controllers.multikueue.clusters import client as client_module
from controllers.multikueue.clusters import seeing
from tests.kit.waiting import until
from tests.unit.controllers.multikueue.connections_stage import Here, labelled, quick, workers

__all__ = ["quick", "workers"]  # fixtures

pytestmark = pytest.mark.usefixtures("quick")

Json = dict[str, Any]
Pour = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
SECRET = b"stolen"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can exceed."""
    monkeypatch.setattr(client_module, "MOST_BYTES", 2 << 20)
    monkeypatch.setattr(client_module, "MOST_LISTED", 4 << 20)


def pours(method: str, part: str, *, watch: bool = False) -> Pour:
    """Requests of that method whose path has `part` get an answer without end."""

    async def pour(request: web.Request) -> web.StreamResponse | None:
        is_watch = request.query.get("watch") == "true"
        if request.method != method or part not in request.path or is_watch is not watch:
            return None
        response = web.StreamResponse()
        response.enable_compression(web.ContentCoding.gzip)
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(SECRET * (1 << 13))
        return response

    return pour


@pytest.mark.parametrize(
    ("pour", "said"),
    [
        (pours("GET", "/workloads"), "workloads: an answer has more than 4 MiB"),
        (pours("GET", "/jobs"), "jobs: an answer has more than 4 MiB"),
        (pours("GET", "/workloads", watch=True), "workloads: a line of a watch has more than 2 MiB"),
        (pours("GET", "/leases"), "an answer has more than 2 MiB"),
        (pours("PATCH", "/leases"), "an answer has more than 2 MiB"),
        (pours("POST", "/workloads"), "an answer has more than 2 MiB"),
    ],
)
async def test_an_answer_without_end_makes_the_cluster_inactive(workers: Any, pour: Pour, said: str) -> None:
    one, two, here = await workers("a"), await workers("b"), Here()
    one.pour = pour
    here.join("a", one)
    here.join("b", two)
    async with here.running():
        await here.reaches("b", "Connected")
        await until(lambda: str(here.condition("a").get("message")).startswith(said))
        assert here.condition("a")["reason"] == "ClientConnectionFailed"
        assert SECRET.decode() not in str(here.api.of("/apis/kueue.x-k8s.io/v1beta2/multikueueclusters/x"))
        await here.reaches("b", "Connected")  # on a busy machine it may be away meanwhile
        one.pour = two.pour
        await here.reaches("a", "Connected")


async def test_without_end_only_costs_are_unknown(workers: Any) -> None:
    """Plans are many and large, also in a cluster that means no harm."""
    worker, here = await workers("a"), Here()
    worker.pour = pours("GET", "/preemptionplans")
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        assert here.of("a").cost("n/w") is None


async def test_pages_without_end_make_the_cluster_inactive(
    workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeing, "MOST_OBJECTS", 20)
    worker, here, numbers = await workers("a"), Here(), iter(range(1_000_000))

    async def pour(request: web.Request) -> web.StreamResponse | None:
        if request.method != "GET" or not request.path.endswith("/workloads") or "watch" in request.query:
            return None
        await asyncio.sleep(0.005)
        item = labelled(f"w{next(numbers)}")
        return web.Response(body=orjson.dumps({"metadata": {"continue": "more"}, "items": [item]}))

    worker.pour = pour
    here.join("a", worker)
    async with here.running():
        await until(
            lambda: str(here.condition("a").get("message")).startswith("workloads: it has more than 20;")
        )


@pytest.mark.parametrize(
    ("limit", "most", "value", "said"),
    [
        ("MOST_UNREAD", 3, {"spec": {"priority": "high"}}, "workloads: more than 3 cannot be read"),
        ("MOST_UNREAD", 3, {"metadata": {"uid": "u" * 300}}, "workloads: more than 3 cannot be read"),
        ("MOST_STATUSES", 1 << 20, {"status": {"x": "y" * (1 << 19)}}, "jobs: their statuses have more than"),
    ],
)
async def test_too_much_that_is_kept_makes_the_cluster_inactive(
    workers: Any, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, value: Json, said: str
) -> None:
    monkeypatch.setattr(seeing, limit, most)
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        plural = said.partition(":")[0]
        for number in range(4):
            given = {key: dict(each) for key, each in value.items()}
            await worker.put(plural, labelled(f"x{number}", **given))
        await until(lambda: str(here.condition("a").get("message")).startswith(said))
        for number in range(4):
            await worker.remove(plural, "n", f"x{number}")
        await here.reaches("a", "Connected")


async def test_a_name_that_no_object_has_is_in_no_path(workers: Any) -> None:
    """Behind the same address there may be other clusters, which the same token opens."""
    worker, here = await workers("a"), Here()
    path = "../../../../other/apis/batch/v1/namespaces/n/jobs/x"
    for kind in ("workloads", "jobs"):
        for name in (path, "a?x", "a#b", "a b", "a\r\nX: y", "", "A", "x"):
            await worker.put(kind, labelled(name))
        await worker.put(kind, labelled("y", metadata={"namespace": path}))
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        connection = here.of("a")
        assert [each.name for each in connection.copies()] == ["x"]
        assert [each.name for each in connection.jobs()] == ["x"]
