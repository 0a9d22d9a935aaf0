"""An HTTP server that plays an API server's list and watch by a script, faults included."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from kube.client import ApiClient

__all__ = ["Script", "bookmark", "event", "expired", "faulty_server", "page", "pod_json", "status"]

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Script:
    """What the server answers, one after the other, to lists and to watches; then it hangs."""

    def __init__(self) -> None:
        self.lists: list[Answer] = []
        self.watches: list[Answer] = []
        self.list_queries: list[dict[str, str]] = []
        self.watch_queries: list[dict[str, str]] = []
        self.stop = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The next answer."""
        is_watch = request.query.get("watch") == "true"
        (self.watch_queries if is_watch else self.list_queries).append(dict(request.query))
        answers = self.watches if is_watch else self.lists
        if answers:
            return await answers.pop(0)(request)
        if not is_watch:
            raise AssertionError("a list that the test did not expect")
        return await self.stream()(request)

    def stream(self, *pieces: bytes, end: str = "hang") -> Answer:
        """A watch: these bytes, then `hang`, `close` (in order) or `reset` (the connection)."""

        async def answer(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            response.enable_chunked_encoding()
            await response.prepare(request)
            for piece in pieces:
                await response.write(piece)
                await asyncio.sleep(0.01)
            if end == "hang":
                await self.stop.wait()
            if end == "reset" and request.transport is not None:
                request.transport.abort()
            return response

        return answer

    @staticmethod
    def json(value: object, *, code: int = 200, headers: dict[str, str] | None = None) -> Answer:
        """A whole answer."""

        async def answer(_: web.Request) -> web.StreamResponse:
            return web.json_response(value, status=code, headers=headers)

        return answer

    @staticmethod
    def text(text: str, *, code: int) -> Answer:
        """What a proxy in between may answer."""

        async def answer(_: web.Request) -> web.StreamResponse:
            return web.Response(text=text, status=code, content_type="text/html")

        return answer


def pod_json(name: str, version: int, *, uid: str = "", node: str = "n1") -> dict[str, Any]:
    """A pod as JSON."""
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "d",
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
        },
        "spec": {"nodeName": node, "containers": [{"name": "c"}]},
    }


def page(items: Sequence[object], version: int, token: str = "") -> dict[str, Any]:
    """A page of a list."""
    return {
        "kind": "PodList",
        "metadata": {"resourceVersion": str(version), "continue": token},
        "items": items,
    }


def event(kind: str, item: object) -> bytes:
    """A line of a watch."""
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    """As for custom resources: metadata alone."""
    return event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version)}})


def status(code: int, reason: str) -> dict[str, Any]:
    """meta/v1 Status."""
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "told so"}


def expired() -> bytes:
    """The resource version is too old."""
    return event("ERROR", status(410, "Expired"))


@asynccontextmanager
async def faulty_server(script: Script) -> AsyncIterator[ApiClient]:
    """A client of a server that follows the script; both end with the block."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", script.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        async with aiohttp.ClientSession() as session:
            yield ApiClient(session, f"http://127.0.0.1:{port}")
    finally:
        script.stop.set()
        await runner.cleanup()
