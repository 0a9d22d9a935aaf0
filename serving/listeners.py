"""Listening, for as long as a context lasts."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog
from aiohttp import web

from serving.sections import Listener

__all__ = ["serving"]

log = structlog.get_logger(__name__)

KEEPALIVE_SECONDS: Final = 120.0
"""Above the 90 s after which Go's transport drops an idle connection: the client closes first, no request is lost."""


@asynccontextmanager
async def serving(
    app: web.Application, listener: Listener, tls: ssl.SSLContext | None = None
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
        site = web.TCPSite(runner, listener.bind_address, listener.port, ssl_context=tls)
        await site.start()
        port = int(runner.addresses[0][1])
        log.info("listening", address=listener.bind_address, port=port, tls=tls is not None)
        yield port
    finally:
        await runner.cleanup()
