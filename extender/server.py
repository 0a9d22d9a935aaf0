"""The listeners: the extender's verbs behind mutual TLS, and the operators' endpoints (livez, readyz, metrics)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import msgspec
import structlog
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from extender.configuration import ExtenderConfiguration, OpsConfiguration, TLSConfiguration
from extender.metrics import VERB_REFUSED, VERB_SECONDS
from extender.verbs import Verbs
from extender.wire import filter_decoder, preemption_decoder

__all__ = ["extender_app", "ops_app", "serving"]

log = structlog.get_logger(__name__)

Check = Callable[[], str | None]
"""A readiness check: None when it passes, else what is wrong."""

KEEPALIVE_SECONDS: Final = 120.0
"""Above the 90 s after which Go's transport drops an idle connection: the client closes first, no request is lost."""


def refuse(status: int, text: str) -> web.Response:
    """A refusal that says why; the scheduler treats every status but 200 as an error of ours and evicts nothing."""
    VERB_REFUSED.labels(str(status)).inc()
    return web.Response(status=status, text=text + "\n")


class _Limits:
    """What a request may cost before anything is done for it."""

    def __init__(self, configuration: ExtenderConfiguration) -> None:
        self._seconds = configuration.read_timeout_seconds
        self._slots = configuration.max_concurrent_requests

    async def body(self, request: web.Request) -> bytes | web.Response:
        """The whole body, or the refusal."""
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return refuse(415, "compressed bodies are not accepted")
        if self._slots <= 0:
            return refuse(503, "too many requests at once")
        self._slots -= 1
        try:
            async with asyncio.timeout(self._seconds):
                return await request.read()
        except TimeoutError:
            return refuse(408, f"the body did not arrive within {self._seconds} s")
        except web.HTTPRequestEntityTooLarge as error:
            return refuse(413, f"the body is larger than {error.text or 'the limit'}")
        finally:
            self._slots += 1


def extender_app(
    verbs: Verbs, configuration: ExtenderConfiguration, failpoint: Callable[[str], Awaitable[None]]
) -> web.Application:
    """POST /v1/filter and /v1/preempt. A body that is no request of the scheduler's gets 400, never an answer."""
    limits = _Limits(configuration)

    def verb(
        name: str, answer: Callable[[bytes], bytes]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        seconds = VERB_SECONDS.labels(name)

        async def handle(request: web.Request) -> web.StreamResponse:
            await failpoint(f"verb.{name}")
            body = await limits.body(request)
            if isinstance(body, web.Response):
                return body
            with seconds.time():
                try:
                    answered = answer(body)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
                    return refuse(400, f"{name}: {error}")
            return web.Response(body=answered, content_type="application/json")

        return handle

    app = web.Application(client_max_size=configuration.max_body_bytes)
    app.router.add_post("/v1/filter", verb("filter", lambda body: verbs.filter(filter_decoder.decode(body))))
    app.router.add_post(
        "/v1/preempt", verb("preempt", lambda body: verbs.preempt(preemption_decoder.decode(body)))
    )
    return app


def ops_app(checks: Mapping[str, Check]) -> web.Application:
    """GET /livez (the loop answers), /readyz (every check passes; ?verbose lists them) and /metrics."""

    async def livez(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        faults = {name: check() for name, check in checks.items()}
        lines = [f"[{'-' if fault else '+'}]{name} {fault or 'ok'}" for name, fault in faults.items()]
        ready = not any(faults.values())
        text = "\n".join(lines) if "verbose" in request.query or not ready else "ok"
        return web.Response(status=200 if ready else 503, text=text + "\n")

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application(client_max_size=64 * 1024)
    app.router.add_get("/livez", livez)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", metrics)
    return app


def tls_context(tls: TLSConfiguration) -> ssl.SSLContext:
    """Mutual TLS: whoever has no certificate of the client CA gets no further than the handshake."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tls.client_ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(tls.cert_file, tls.key_file)
    return context


@asynccontextmanager
async def serving(
    app: web.Application,
    configuration: ExtenderConfiguration | OpsConfiguration,
    tls: TLSConfiguration | None = None,
) -> AsyncIterator[int]:
    """Listen while the context lasts; yields the port (the system's choice where the configuration says 0)."""
    runner = web.AppRunner(
        app,
        access_log=None,
        keepalive_timeout=KEEPALIVE_SECONDS,
        shutdown_timeout=3.0,
        auto_decompress=False,
        handler_cancellation=False,
    )
    await runner.setup()
    try:
        context = tls_context(tls) if tls else None
        site = web.TCPSite(runner, configuration.bind_address, configuration.port, ssl_context=context)
        await site.start()
        port = int(runner.addresses[0][1])
        log.info("listening", address=configuration.bind_address, port=port, tls=context is not None)
        yield port
    finally:
        await runner.cleanup()
