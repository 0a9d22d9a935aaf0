"""The extender's verbs behind mutual TLS.

See docs/decisions/0003.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from extender.configuration import ExtenderConfiguration
from extender.metrics import VERB_REFUSED, VERB_SECONDS
from extender.verbs import Verbs
from extender.wire import filter_decoder, preemption_decoder
from serving.limits import Limits

__all__ = ["extender_app"]


def refuse(status: int, text: str) -> web.Response:
    """A refusal that says why; the scheduler treats every status but 200 as an error of ours and evicts nothing."""
    VERB_REFUSED.labels(str(status)).inc()
    return web.Response(status=status, text=text + "\n")


def extender_app(
    verbs: Verbs, configuration: ExtenderConfiguration, failpoint: Callable[[str], Awaitable[None]]
) -> web.Application:
    """POST /v1/filter and /v1/preempt. A body that is no request of the scheduler's gets 400, never an answer."""
    limits = Limits(configuration, refuse)

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
