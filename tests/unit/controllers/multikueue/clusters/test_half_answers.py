"""Workers that answer in part: some requests are refused, watches expire, a connection is never answered. The cluster
is inactive then, and says why; or it is not, because nothing is missing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web

from api.clock import SYSTEM_CLOCK
from controllers.multikueue.clusters import seeing
from controllers.multikueue.clusters.addresses import AddressGuard
from controllers.multikueue.clusters.client import WorkerClient, opened
from controllers.multikueue.clusters.kubeconfigs import Access
from kube import client as kube_client
from kube.errors import ApiError
from tests.kit.waiting import until
from tests.unit.controllers.multikueue.connections_stage import Here, labelled, quick, workers

__all__ = ["quick", "workers"]  # fixtures

pytestmark = pytest.mark.usefixtures("quick")

Refuse = Callable[[web.Request], web.Response | None]


SPOILED: list[dict[str, Any]] = [
    {"spec": []},
    {"spec": {"priority": "x"}},
    {"status": "x"},
    {"status": {"conditions": {"type": "Admitted"}}},
    {"status": {"preemptionGates": [None]}},
    {
        "metadata": {
            "annotations": [],
            "labels": {"kueue.x-k8s.io/multikueue-origin": "multikueue"},
        }
    },
]


def _is_watch(request: web.Request) -> bool:
    return request.query.get("watch") == "true"


def answers(code: int, which: Callable[[web.Request], bool], **headers: str) -> Refuse:
    """Some requests get this code."""
    status = {"kind": "Status", "code": code, "reason": "Expired" if code == 410 else "", "message": "stolen"}

    def refuse(request: web.Request) -> web.Response | None:
        if not which(request):
            return None
        return web.Response(status=code, body=orjson.dumps(status), headers=headers)

    return refuse


def expires(request: web.Request) -> web.Response | None:
    """The watch begins, and brings only that its version is too old."""
    if not _is_watch(request):
        return None
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "stolen"}
    return web.Response(body=orjson.dumps({"type": "ERROR", "object": status}) + b"\n")


@pytest.mark.parametrize(
    ("refuse", "said"),
    [
        (answers(401, _is_watch), "workloads: HTTP 401 Unauthorized"),
        (
            answers(403, lambda request: "/jobs" in request.path and _is_watch(request)),
            "jobs: HTTP 403 Forbidden",
        ),
        (answers(410, _is_watch), "workloads: no watch for"),
        (answers(429, _is_watch, **{"Retry-After": "3600"}), "workloads: no watch for"),
        (expires, "workloads: no watch for"),
        (answers(401, lambda request: request.method == "PATCH"), "HTTP 401 Unauthorized"),
        (
            answers(429, lambda request: request.method == "GET", **{"Retry-After": "9" * 400}),
            "HTTP 429 Too Many",
        ),
    ],
)
async def test_a_cluster_that_refuses_in_part_says_what(
    workers: Any, monkeypatch: pytest.MonkeyPatch, refuse: Refuse, said: str
) -> None:
    """A token that expires is refused for some requests first."""
    monkeypatch.setattr(seeing, "INTERRUPTED_SECONDS", 0.3)
    one, two, here = await workers("a"), await workers("b"), Here()
    one.refuse = refuse
    here.join("a", one)
    here.join("b", two)
    async with here.running():
        await until(lambda: str(here.condition("a").get("message")).startswith(said))
        assert "stolen" not in str(here.condition("a"))
        await here.reaches("b", "Connected")
        one.refuse = two.refuse
        await here.reaches("a", "Connected")


async def test_a_lie_about_an_object_does_not_end_the_session(workers: Any) -> None:
    """JSON of other kinds, texts for numbers, and lists for objects."""
    worker, here = await workers("a"), Here()
    here.join("a", worker)
    async with here.running():
        await here.reaches("a", "Connected")
        client = here.of("a").client
        for number, parts in enumerate(SPOILED):
            await worker.put("workloads", labelled(f"x{number}", **parts))
            await worker.put("jobs", labelled(f"x{number}", **parts))
        long = {"type": "QuotaReserved", "status": "False", "reason": "r" * 5000, "message": "m" * (1 << 20)}
        await worker.put("workloads", labelled("long", status={"conditions": [long]}))
        await worker.put("workloads", labelled("good"))
        await until(lambda: here.of("a").copy("n/good") is not None)
        copy = here.of("a").copy("n/long")
        assert copy is not None
        assert len(copy.conditions["QuotaReserved"].message) == 1024
        assert here.of("a").client is client
        assert here.of("a").reach == "Connected"


@asynccontextmanager
async def silent_server() -> AsyncIterator[int]:
    """Takes connections, and never says a word: no handshake ends."""
    ends = asyncio.Event()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ends.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        ends.set()


async def test_a_handshake_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube_client, "CONNECT_SECONDS", 0.2)
    async with silent_server() as port:
        access = Access(f"https://127.0.0.1:{port}", token="t")
        async with opened(access, AddressGuard(["127.0.0.0/8"]), SYSTEM_CLOCK) as line:
            client = WorkerClient(line, "w")
            with pytest.raises(ApiError) as caught:
                await client.request("GET", "/api", seconds=60)
            assert caught.value.message == "no answer in time"
            with pytest.raises(ApiError, match="no answer in time"):
                async with client.stream("/api", query={}, read_seconds=60):
                    pass


async def test_a_flood_of_events_delays_no_other_cluster(workers: Any) -> None:
    """11206: the other one is seen while the flood goes on."""
    one, two, here = await workers("a"), await workers("b"), Here()
    here.join("a", one)
    here.join("b", two)
    poured = 0

    async def pour(request: web.Request) -> web.StreamResponse | None:
        nonlocal poured
        if not _is_watch(request) or not request.path.endswith("/workloads"):
            return None
        response = web.StreamResponse()
        await response.prepare(request)
        while not one.stop.is_set() and poured < 200_000:
            events = b""
            for number in range(poured, poured + 200):
                item = labelled(f"w{number % 50}", spec={"priority": number})
                item["metadata"] |= {"uid": "u", "resourceVersion": str(1000 + number)}
                events += orjson.dumps({"type": "MODIFIED", "object": item}) + b"\n"
            poured += 200
            await response.write(events)
        return response

    one.pour = pour
    async with here.running():
        await here.reaches("a", "Connected")
        await here.reaches("b", "Connected")
        await until(lambda: poured > 2000)
        began, before = time.monotonic(), poured
        await two.put("workloads", labelled("w"))
        await until(lambda: here.of("b").copy("n/w") is not None)
        assert poured < 200_000, time.monotonic() - began
        assert poured >= before
        one.stop.set()
