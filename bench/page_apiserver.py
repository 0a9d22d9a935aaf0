"""A stub in place of the API server, for `bench.page`: lists, watches, and reviews of rights. A process of its own.

    python -m bench.page_apiserver NODES PODS

It prints its port, and ends when its input is closed. A POST to /bench/changes changes pods.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import defaultdict
from typing import Any, Final

import msgspec
import uvloop
from aiohttp import web

from bench.page_world import ADMINISTRATOR, KINDS_OF_READERS, READER, SCATTER, Size, World, namespaces_of
from kube.access import PATH as ACCESS
from kube.identity import PATH as IDENTITY
from serving.garbage import collect_seldom

__all__ = ["CHANGES", "ApiServer"]

CHANGES: Final = "/bench/changes"
PODS: Final = "/api/v1/pods"
FIRST_VERSION: Final = 1_000_000
BOOKMARK_SECONDS: Final = 20.0
"""A watch that says nothing for 90 seconds is given up."""
PAGE: Final = "500"


class ApiServer:
    """Answers the requests of a page."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._watches: defaultdict[str, set[asyncio.Queue[bytes]]] = defaultdict(set)
        self._changed = 0
        """Pods that have been changed so far."""
        self._version = FIRST_VERSION

    def app(self) -> web.Application:
        """All addresses."""
        app = web.Application()
        app.router.add_post(IDENTITY, self._who)
        app.router.add_post(ACCESS, self._may)
        app.router.add_post(CHANGES, self._change)
        app.router.add_get("/{path:.*}", self._get)
        return app

    # ---- reviews

    async def _who(self, request: web.Request) -> web.Response:
        token = _token(request)
        if not token.startswith((ADMINISTRATOR, READER)):
            return web.json_response({"kind": "Status", "code": 401, "reason": "Unauthorized"}, status=401)
        return _answer({"status": {"userInfo": {"username": token, "groups": ["readers"]}}})

    async def _may(self, request: web.Request) -> web.Response:
        asked = msgspec.json.decode(await request.read())["spec"]["resourceAttributes"]
        return _answer({"status": {"allowed": may_list(_token(request), asked)}})

    # ---- lists and watches

    async def _get(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await self._watch(request)
        if "/leases/" in request.path:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        _, _, rest = request.path.partition("/namespaces/")
        namespace, _, plural = rest.partition("/")
        if plural:
            return self._page(list(self._world.of_namespace(namespace)) if plural == "pods" else [], "")
        make, total = self._world.lists.get(request.path, (lambda _index, _version: b"", 0))
        start = int(request.query.get("continue", "0"))
        end = min(start + int(request.query.get("limit", PAGE)), total)
        return self._page([make(index, 1) for index in range(start, end)], str(end) if end < total else "")

    def _page(self, items: list[bytes], token: str) -> web.Response:
        head = msgspec.json.encode({"resourceVersion": str(FIRST_VERSION), "continue": token})
        body = b'{"metadata":' + head + b',"items":[' + b",".join(items) + b"]}"
        return web.Response(body=body, content_type="application/json")

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        queue = asyncio.Queue[bytes]()
        self._watches[request.path].add(queue)
        try:
            while True:
                try:
                    async with asyncio.timeout(BOOKMARK_SECONDS):
                        line = await queue.get()
                except TimeoutError:
                    meta = {"resourceVersion": str(self._version)}
                    line = msgspec.json.encode({"type": "BOOKMARK", "object": {"metadata": meta}}) + b"\n"
                await response.write(line)
        except ConnectionError:
            return response
        finally:
            self._watches[request.path].discard(queue)

    # ---- changes

    async def _change(self, request: web.Request) -> web.Response:
        """Move pods to another node, or back: `pods` at once, `times` times, every `seconds`. Answers when they were
        sent, in monotonic seconds and in seconds since 1970."""
        asked = request.query
        pods, times, gap = int(asked["pods"]), int(asked.get("times", "1")), float(asked.get("seconds", "0"))
        sent, began = list[tuple[float, float]](), time.monotonic()
        for number in range(times):
            lines = [self._moved() for _ in range(pods)]
            await asyncio.sleep(max(0.0, began + number * gap - time.monotonic()))
            for queue in self._watches[PODS]:
                queue.put_nowait(b"".join(lines))
            sent.append((time.monotonic(), time.time()))
        return _answer(sent)

    def _moved(self) -> bytes:
        """The event of a pod that changes its node. Each pod goes away in one round, and comes back in the next."""
        round_, place = divmod(self._changed, self._world.bound)
        self._changed += 1
        self._version += 1
        index = place * SCATTER % self._world.bound
        pod = self._world.pod(index, self._version, moved=round_ % 2 == 0)
        return b'{"type":"MODIFIED","object":' + pod + b"}\n"


def may_list(token: str, asked: dict[str, str]) -> bool:
    """Whether the user of this token may list it."""
    if token.startswith(ADMINISTRATOR):
        return True
    kind = int(token.removeprefix(READER)) % KINDS_OF_READERS
    return not kind or asked["resource"] == "nodes" or asked.get("namespace", "") in namespaces_of(kind)


def _token(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _answer(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


async def _serve(world: World) -> None:
    collect_seldom()
    runner = web.AppRunner(ApiServer(world).app(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(_serve(World(Size(int(sys.argv[1]), int(sys.argv[2]), 0))))
