"""A server between the manager and a worker that speaks TLS with a certificate of its own. It passes on what it is
asked, and answers some requests itself: it plays a worker that was taken over."""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import aiohttp
import yaml
from aiohttp import web

from hack.controlplane.client import Json
from hack.controlplane.fleet import secret_of
from hack.controlplane.pki import Authority
from tests.multicluster.trio import MANAGER, Trio

__all__ = ["STOLEN", "Answer", "Liar", "liar_before", "poured"]

STOLEN: Final = "stolen-text"
"""In every answer that it makes up. Nothing of it may be on the manager."""
HOST: Final = "127.0.0.1"
JOIN_SECONDS: Final = 10.0
HEADERS: Final = ("Authorization", "Content-Type", "Accept")

Answer = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
"""None: the request is passed on."""


class Liar:
    """One server, with a thread of its own."""

    def __init__(self, folder: Path, target: str) -> None:
        """`target`: the URL of the worker's API server."""
        self.answer: Answer | None = None
        self.asked: list[str] = []
        """Method and path of each request."""
        self._target = target
        self._authority = Authority(folder, "liar")
        self._pair = self._authority.server(
            "worker", [HOST]
        )  # one with its issuer's name would be self-signed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready, self._stop = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self.port = 0

    def start(self) -> None:
        """Return when it listens."""
        self._thread.start()
        if not self._ready.wait(JOIN_SECONDS):
            raise OSError("the server does not listen")

    def stop(self) -> None:
        """End all connections."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(JOIN_SECONDS)

    def kubeconfig(self, given: Json) -> Json:
        """The kubeconfig of the worker, with this server in its place."""
        cluster = given["clusters"][0]["cluster"]
        cluster["server"] = f"https://{HOST}:{self.port}"
        authority = self._authority.pair.certificate.read_bytes()
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
        return given

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._pair.certificate, self._pair.key)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        runner = web.AppRunner(app, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, HOST, 0, ssl_context=context).start()
        self.port = runner.addresses[0][1]
        connector = aiohttp.TCPConnector(ssl=False, limit=0)  # loopback, and only for tests
        async with aiohttp.ClientSession(self._target, connector=connector) as self._session:
            self._ready.set()
            await self._stop.wait()
            await runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path}")
        if self.answer is not None and (made_up := await self.answer(request)) is not None:
            return made_up
        headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
        timeout = aiohttp.ClientTimeout(total=None)
        body = await request.read()
        async with self._session.request(
            request.method, request.path_qs, data=body or None, headers=headers, timeout=timeout
        ) as behind:
            response = web.StreamResponse(status=behind.status)
            response.content_type = behind.content_type
            await response.prepare(request)
            with suppress(ConnectionError, aiohttp.ClientError):
                async for piece in behind.content.iter_any():
                    await response.write(piece)
            return response


@contextmanager
def liar_before(trio: Trio, worker: str, folder: Path, answer: Answer | None = None) -> Iterator[Liar]:
    """The manager reaches the worker through a Liar inside. `answer`: what it makes up from the first request on."""
    secret = secret_of(trio.plane(worker), worker)
    config = yaml.safe_load(secret["stringData"]["kubeconfig"])
    liar = Liar(folder, config["clusters"][0]["cluster"]["server"])
    liar.answer = answer
    liar.start()
    try:
        trio.fleet.write_secret(worker, {"kubeconfig": yaml.safe_dump(liar.kubeconfig(config))})
        yield liar
    finally:
        trio.client(MANAGER).apply(secret)
        liar.stop()


async def poured(request: web.Request) -> web.StreamResponse:
    """An answer without end."""
    response = web.StreamResponse()
    response.enable_compression(web.ContentCoding.gzip)
    await response.prepare(request)
    with suppress(ConnectionError):
        while True:
            await response.write(STOLEN.encode() * 10_000)
    return response
