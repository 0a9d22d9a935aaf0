"""A listener in a process of its own, as `reprieve serve` has it: ours, or one that allows everything.

    python -m bench.webhook_listener (ours|empty) CERTIFICATE_AND_KEY

Both have the same TLS, the same loop and the same aiohttp; it prints its port and ends when its input is closed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final, Literal

import msgspec
import structlog
import uvloop
from aiohttp import web

from api.core import PriorityClass
from api.meta import ObjectMeta
from serving.certificates.live_context import LiveContext
from serving.garbage import collect_seldom
from serving.listeners import serving
from webhooks.configuration import WebhooksConfiguration
from webhooks.facts import KnownFacts
from webhooks.review import Reviewer
from webhooks.server import review_app
from webhooks.settings import Settings

__all__ = ["Kind"]

Kind = Literal["ours", "empty"]
JSON: Final = "application/json"


class _Request(msgspec.Struct):
    uid: str


class _Review(msgspec.Struct):
    request: _Request


def _ours(configuration: WebhooksConfiguration) -> web.Application:
    facts = KnownFacts([PriorityClass(metadata=ObjectMeta(name="high"), value=1000)])
    return review_app(Reviewer(facts, Settings(), max_depth=configuration.max_depth), configuration)


def _empty(configuration: WebhooksConfiguration) -> web.Application:
    """The smallest answer that API servers accept. It reads only the uid of the review."""
    decoder = msgspec.json.Decoder(_Review)

    async def allow(request: web.Request) -> web.Response:
        uid = decoder.decode(await request.read()).request.uid
        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": uid, "allowed": True},
        }
        return web.Response(body=msgspec.json.encode(answer), content_type=JSON)

    app = web.Application(client_max_size=configuration.max_body_bytes)
    app.router.add_post("/validate/{kind}", allow)
    return app


async def _serve(kind: Kind, certificate: bytes) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    collect_seldom()
    configuration = WebhooksConfiguration(bind_address="127.0.0.1", port=0)
    live = LiveContext()
    live.use(certificate)
    app = _ours(configuration) if kind == "ours" else _empty(configuration)
    async with serving(app, configuration, live.context) as port:
        print(port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve("ours" if sys.argv[1] == "ours" else "empty", Path(sys.argv[2]).read_bytes()))
