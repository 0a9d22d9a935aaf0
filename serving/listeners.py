"""Listens on a port while a context lasts."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog
from aiohttp import web
from aiohttp.log import server_logger

from serving.connections import Connections
from serving.sections import GuardedListener, Listener

__all__ = ["CONNECTIONS", "serving"]

log = structlog.get_logger(__name__)

KEEPALIVE_SECONDS: Final = 120.0
"""Go's transport drops an idle connection after 90 s. We wait longer, so the client closes first and no request is
lost."""
HANDSHAKE_SECONDS: Final = 5.0
GOODBYE_SECONDS: Final = 2.0
"""How long the other side may take to end TLS."""
BACKLOG: Final = 1024
CONNECTIONS: Final = web.AppKey("connections", Connections)
"""Of an application, while it is served."""


@asynccontextmanager
async def serving(
    app: web.Application,
    listener: Listener,
    tls: ssl.SSLContext | None = None,
    *,
    drain_seconds: float = 0,
    logger: logging.Logger = server_logger,
) -> AsyncIterator[int]:
    """Listen while the context lasts. Yields the port, which the system chooses if the configuration says 0.

    After that, the listener still answers requests for at most `drain_seconds`. Each answer closes its connection.
    `logger` gets what aiohttp says of requests that it cannot read, with parts of their heads.
    """
    runner = web.AppRunner(
        app,
        access_log=None,
        keepalive_timeout=KEEPALIVE_SECONDS,
        shutdown_timeout=3.0,
        auto_decompress=False,
        handler_cancellation=False,
        logger=logger,
    )
    guarded = listener if isinstance(listener, GuardedListener) else GuardedListener(port=listener.port)
    connections = Connections(
        lambda: _protocol(runner), guarded.max_connections, guarded.read_timeout_seconds
    )
    app[CONNECTIONS] = connections
    app.on_response_prepare.append(connections.answered)
    await runner.setup()
    watch = asyncio.create_task(connections.watch(), name="connections")
    try:
        server = await asyncio.get_running_loop().create_server(
            connections, listener.bind_address, listener.port, backlog=BACKLOG, **_tls(tls)
        )
        try:
            port = int(server.sockets[0].getsockname()[1])
            log.info("listening", address=listener.bind_address, port=port, tls=tls is not None)
            yield port
            await connections.drain(drain_seconds)
        finally:
            server.close()
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await runner.cleanup()


def _protocol(runner: web.AppRunner) -> asyncio.Protocol:
    server = runner.server
    if server is None:
        raise ConnectionAbortedError("the listener ends")
    return server()


def _tls(context: ssl.SSLContext | None) -> dict[str, Any]:
    if context is None:
        return {}
    return {
        "ssl": context,
        "ssl_handshake_timeout": HANDSHAKE_SECONDS,
        "ssl_shutdown_timeout": GOODBYE_SECONDS,
    }
