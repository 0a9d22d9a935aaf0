"""A worker cluster's API server that is a few dictionaries behind TLS, for tests of connections: real planes are in
tests/multicluster."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import orjson
from aiohttp import web

from hack.controlplane.pki import Authority
from tests.kit.multikueue_kubeconfigs import SECRET, encoded, kubeconfig, text_of

__all__ = ["WorkerApi", "worker_api"]

Json = dict[str, Any]

PATH: Final = re.compile(r"/apis?/(?:[^/]+/)?v[^/]+(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?(?:/status)?")
LABEL: Final = re.compile(r"([^=]+)=(.*)")


class WorkerApi:
    """Lists, watches, creations, patches of metadata and spec, and deletions."""

    def __init__(self, authority: Path) -> None:
        self.authority = authority.read_bytes()
        self.port = 0
        self.tokens = {SECRET}
        """What is let in."""
        self.refuse: Callable[[web.Request], web.Response | None] = lambda _: None
        """What a request gets in place of an answer."""
        self.pour: Callable[[web.Request], Awaitable[web.StreamResponse | None]] = _nothing
        """As `refuse`, for an answer that takes its time."""
        self.honours_gates = True
        self.has_gates = True
        """Whether the field of gates is known."""
        self.requests: list[str] = []
        """`METHOD plural`, or `WATCH plural`."""
        self.open = asyncio.Event()
        """While it is not set, no request is answered, and no watch brings anything."""
        self.open.set()
        self.stop = asyncio.Event()
        self._objects: dict[str, dict[tuple[str, str], Json]] = {}
        self._log: list[tuple[str, str, Json]] = []
        """Plural, type and object of each event. The resource version is the number of events."""
        self._changed = asyncio.Condition()
        self._cuts = 0

    def kubeconfig(self, **user: Any) -> bytes:
        """The text of a kubeconfig for it."""
        cluster = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority-data": encoded(self.authority),
        }
        return text_of(kubeconfig(cluster=cluster, user=user))

    def of(self, plural: str) -> dict[tuple[str, str], Json]:
        """The objects of a kind, which is served from now on."""
        return self._objects.setdefault(plural, {})

    async def put(self, plural: str, value: Json) -> Json:
        """Create or replace an object."""
        meta = value["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        kind = "MODIFIED" if key in self.of(plural) else "ADDED"
        meta.setdefault("uid", f"uid-{self.port}-{meta['name']}-{len(self._log)}")
        self.of(plural)[key] = value
        return await self._tell(plural, kind, value)

    async def remove(self, plural: str, namespace: str, name: str) -> None:
        """Delete an object."""
        await self._tell(plural, "DELETED", self.of(plural).pop((namespace, name)))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        match = PATH.fullmatch(request.path)
        namespace, plural, name = match.groups() if match else ("", "?", "")
        is_watch = request.query.get("watch") == "true"
        self.requests.append(f"{'WATCH' if is_watch else request.method} {plural}")
        await self.open.wait()
        if (refusal := self.refuse(request)) is not None:
            return refusal
        if (poured := await self.pour(request)) is not None:
            return poured
        if request.headers.get("Authorization", "") not in {f"Bearer {each}" for each in self.tokens}:
            return _status(401, "Unauthorized")
        if plural not in self._objects:
            return _status(404, "NotFound")
        if is_watch:
            return await self._watch(request, plural)
        if request.method == "GET" and not name:
            items = [each for each in self.of(plural).values() if _selects(request, each)]
            return _json({"metadata": {"resourceVersion": str(len(self._log))}, "items": items})
        return await self._object(request, plural, (namespace or "", name or ""))

    async def _object(self, request: web.Request, plural: str, key: tuple[str, str]) -> web.Response:
        body: Json = orjson.loads(await request.read() or b"{}")
        if request.method == "POST":
            key = (key[0], body["metadata"]["name"])
            if key in self.of(plural):
                return _status(409, "AlreadyExists")
            body["metadata"]["namespace"] = key[0]
            return _json(await self.put(plural, self._as_stored(body)), 201)
        found = self.of(plural).get(key)
        if found is None:
            return _status(404, "NotFound")
        if request.method == "DELETE":
            await self.remove(plural, *key)
            return _json({"kind": "Status", "status": "Success"})
        if request.method == "PATCH":
            if body["metadata"].pop("resourceVersion", None) not in (
                None,
                found["metadata"]["resourceVersion"],
            ):
                return _status(409, "Conflict")
            for part, value in body.items():
                if isinstance(value, dict):
                    found[part] = found.get(part, {}) | value
            return _json(await self.put(plural, found))
        return _json(found)

    def _as_stored(self, body: Json) -> Json:
        gates = body.get("spec", {}).get("preemptionGates")
        if gates and not self.has_gates:
            del body["spec"]["preemptionGates"]
        elif gates and self.honours_gates:
            states = [
                {**gate, "position": "Closed", "lastTransitionTime": "2026-01-01T00:00:00Z"} for gate in gates
            ]
            body["status"] = {"preemptionGates": states}
        return body

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        seen = int(request.query["resourceVersion"])
        cuts = self._cuts
        while not self.stop.is_set() and self._cuts == cuts:
            async with self._changed:
                while len(self._log) <= seen and not self.stop.is_set() and self._cuts == cuts:
                    await self._changed.wait()
            await self.open.wait()
            for kind, what, value in self._log[seen:]:
                seen += 1
                if kind == plural and _selects(request, value):
                    await response.write(orjson.dumps({"type": what, "object": value}) + b"\n")
        return response

    async def cut(self) -> None:
        """The watches that are open now end."""
        self._cuts += 1
        async with self._changed:
            self._changed.notify_all()

    async def end(self) -> None:
        """All watches end."""
        self.stop.set()
        self.open.set()
        async with self._changed:
            self._changed.notify_all()

    async def _tell(self, plural: str, kind: str, value: Json) -> Json:
        value["metadata"]["resourceVersion"] = str(len(self._log) + 1)
        copy = orjson.loads(orjson.dumps(value))
        self._log.append((plural, kind, copy))
        async with self._changed:
            self._changed.notify_all()
        return value


@asynccontextmanager
async def worker_api(folder: Path) -> AsyncIterator[WorkerApi]:
    """A server on loopback, until the end of the block."""
    authority = Authority(folder, "worker")
    pair = authority.server("server", ["127.0.0.1"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.pair.certificate))
    context.load_cert_chain(pair.certificate, pair.key)
    context.verify_mode = ssl.CERT_OPTIONAL
    api = WorkerApi(authority.pair.certificate)
    for plural in ("leases", "workloads", "jobs"):
        api.of(plural)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        api.port = runner.addresses[0][1]
        yield api
    finally:
        await api.end()
        await runner.cleanup()


async def _nothing(_: web.Request) -> None:
    return None


def _selects(request: web.Request, value: Json) -> bool:
    match = LABEL.fullmatch(request.query.get("labelSelector", ""))
    return match is None or (value["metadata"].get("labels") or {}).get(match[1]) == match[2]


def _json(value: object, code: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=code, content_type="application/json")


def _status(code: int, reason: str) -> web.Response:
    return _json(
        {"kind": "Status", "code": code, "reason": reason, "message": f"told {reason} by the worker"}, code
    )
