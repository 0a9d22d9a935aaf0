"""A page over real sockets, beside an API server that knows tokens and rights and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from aiohttp import web

from answers.details import Details
from answers.doctor.seen import Seen as Looked
from answers.errors import UnreadError
from answers.names import Names
from answers.picture import Picture
from answers.scheduler_marks import Mark
from answers.submission import Known
from api.clock import SYSTEM_CLOCK, Clock
from kube.access import PATH as ACCESS
from kube.client import ApiClient
from kube.identity import PATH as IDENTITY
from web.about import Place
from web.configuration import PageConfiguration
from web.readers.door import Door, cluster_door, laptop_door
from web.readers.logins import Everybody
from web.service import PageService
from web.sources.files import Files
from web.sources.source import Ask, Changes, Seen
from web.statics import Static

__all__ = ["HOST", "Api", "Page", "StandingSource", "api_server", "cluster_page", "files_page"]

HOST: Final = "127.0.0.1"
STATICS: Final = {
    "index.html": Static(b"<!DOCTYPE html><title>reprieve</title>", "text/html; charset=utf-8"),
    "app-1.js": Static(b"'use strict'", "text/javascript; charset=utf-8"),
}
SECONDS: Final = 30.0


class StandingSource:
    """A `Source` whose version a test sets."""

    def __init__(self, *, is_live: bool = False) -> None:
        self.is_live = is_live
        self.version = "v1"
        self.lease: Mapping[str, str] = {}
        self.trouble = ""
        self._changed = asyncio.Event()

    def picture(self) -> Seen:
        raise UnreadError("there is no picture in this test")

    def now(self) -> int:
        return 1_700_000_000_000_000

    async def about(self, namespace: str, ask: Ask) -> tuple[Picture, Details]:
        raise UnreadError("there is no picture in this test")

    async def known(self, namespaces: Collection[str], ask: Ask) -> Known:
        raise UnreadError("there is no picture in this test")

    async def looked(self, ask: Ask) -> Looked:
        raise UnreadError("there is no picture in this test")

    async def marks(self, namespace: str, name: str, names: Names, ask: Ask) -> Sequence[Mark]:
        raise UnreadError("there is no picture in this test")

    def changes(self) -> Changes:
        return lambda: None

    async def changed(self) -> None:
        await self._changed.wait()
        self._changed.clear()

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def wait_synced(self) -> None:
        return

    def show(self, version: str) -> None:
        """Have something else to show."""
        self.version = version
        self._changed.set()


@dataclass
class Api:
    """What the API server knows. Rights are `list pods` or `list pods in team-a`."""

    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    """User info by token."""
    rights: dict[str, set[str]] = field(default_factory=dict)
    """By user name."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """User name and right, in the order of the questions."""
    seen: list[str] = field(default_factory=list)
    """All tokens that came."""
    is_down: bool = False

    def add(self, token: str, name: str, *rights: str, **info: Any) -> None:
        """Somebody with a token."""
        self.tokens[token] = {"username": name, "uid": "u", "groups": ["system:authenticated"], **info}
        self.rights[name] = set(rights)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """To any request."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if self.is_down:
            return web.json_response({"kind": "Status", "code": 503, "message": "down"}, status=503)
        user = self.tokens.get(token)
        if user is None:
            return web.json_response({"kind": "Status", "code": 401, "reason": "Unauthorized"}, status=401)
        if request.path == IDENTITY:
            return web.json_response({"status": {"userInfo": user}}, status=201)
        assert request.path == ACCESS
        asked = (await request.json())["spec"]["resourceAttributes"]
        right = f"{asked['verb']} {asked['resource']}"
        right += f" in {asked['namespace']}" if "namespace" in asked else ""
        self.asked.append((user["username"], right))
        allowed = right in self.rights[user["username"]]
        return web.json_response({"status": {"allowed": allowed}}, status=201)


@dataclass
class Page:
    """A page that listens."""

    service: PageService
    door: Door
    source: StandingSource
    session: aiohttp.ClientSession
    code: str = ""
    """A code that works, for a page of files."""

    @property
    def port(self) -> int:
        return self.service.port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def ask(
        self,
        path: str,
        secret: str = "",
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Status, body (JSON, if it is) and headers of an answer of the API."""
        sent = {**({"Authorization": f"Bearer {secret}"} if secret else {}), **(headers or {})}
        async with self.session.request(
            method, f"{self.url}/api/v1/{path}", headers=sent, allow_redirects=False, **more
        ) as answer:
            body = await answer.read()
            with suppress(ValueError):
                return answer.status, json.loads(body), answer.headers
            return answer.status, body, answer.headers

    async def log_in(self, **given: str) -> str:
        """The secret of a new session."""
        status, body, _ = await self.ask("session", method="POST", json=given)
        assert status == 201, body
        return str(body["session"])


@asynccontextmanager
async def api_server(api: Api) -> AsyncIterator[ApiClient]:
    """A client of it, with credentials of its own that the API server does not know."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            yield ApiClient(session, f"http://{HOST}:{runner.addresses[0][1]}")
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _listening(
    door: Door,
    source: StandingSource,
    settings: PageConfiguration,
    clock: Clock,
    code: str,
    files: Files | None,
) -> AsyncIterator[Page]:
    service = PageService(settings, files or source, door, Place("files", "-f x.yaml"), STATICS, clock)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session, service.listening():
        tasks = [asyncio.create_task(each) for each in service.tasks().values()]
        try:
            yield Page(service, door, source, session, code)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def files_page(
    *,
    clock: Clock = SYSTEM_CLOCK,
    settings: PageConfiguration | None = None,
    files: Files | None = None,
) -> AsyncIterator[Page]:
    """A page as on a laptop, of files: `files`, else none that can be shown."""
    door, codes = laptop_door(Everybody(), clock, recheck_seconds=SECONDS, session_seconds=3600)
    async with _listening(
        door, StandingSource(), settings or PageConfiguration(port=0), clock, codes.new(), files
    ) as page:
        yield page


@asynccontextmanager
async def cluster_page(
    api: Api,
    *,
    clock: Clock = SYSTEM_CLOCK,
    settings: PageConfiguration | None = None,
    files: Files | None = None,
    **more: Any,
) -> AsyncIterator[Page]:
    """A page as in a cluster. `files`: what it shows, else nothing."""
    settings = settings or PageConfiguration(port=0, **more)
    async with api_server(api) as client:
        door = cluster_door(
            client, clock, recheck_seconds=settings.recheck_seconds, session_seconds=settings.session_seconds
        )
        async with _listening(door, StandingSource(is_live=True), settings, clock, "", files) as page:
            yield page
