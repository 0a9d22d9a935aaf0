"""A listener in a process of its own that decodes a verb's body and always gives the same answer.

    python -m bench.verb_listener CERTIFICATE KEY CLIENT_CA ANSWER

TLS, loop and aiohttp are those of `reprieve serve`. It prints its port and ends when its input is closed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import orjson
import structlog
import uvloop
from aiohttp import web

from extender.configuration import ExtenderConfiguration, TLSConfiguration
from extender.tls import ExtenderTLS
from serving.garbage import collect_seldom
from serving.listeners import serving

MAX_BODY_BYTES: Final = 16 * 1024 * 1024


def _app(answer: bytes) -> web.Application:
    async def handle(request: web.Request) -> web.Response:
        orjson.loads(await request.read())
        return web.Response(body=answer, content_type="application/json")

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.router.add_post("/v1/{verb}", handle)
    return app


async def _serve(certificate: str, key: str, client_ca: str, answer: bytes) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    collect_seldom()
    tls = ExtenderTLS(TLSConfiguration(cert_file=certificate, key_file=key, client_ca_file=client_ca))
    await tls.load()
    configuration = ExtenderConfiguration(bind_address="127.0.0.1", port=0, plain_http=True)
    async with serving(_app(answer), configuration, tls.context) as port:
        print(port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    certificate, key, client_ca, file = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(certificate, key, client_ca, Path(file).read_bytes()))
