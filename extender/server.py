"""The extender's verbs behind mutual TLS.

A call that comes to a replica which does not lead is passed on to the leader. See docs/decisions/0003 and 0038.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
from aiohttp import web

from extender.configuration import ExtenderConfiguration
from extender.metrics import CALLS, VERB_REFUSED, VERB_SECONDS
from extender.peers import PASSED_ON_HEADER, TURNED_DOWN_PATH
from extender.wire import Verb
from serving.limits import Limits

__all__ = ["Answers", "Others", "extender_app"]


class Answers(Protocol):
    """Who answers calls."""

    def answer(self, verb: Verb, body: bytes) -> bytes:
        """The answer to a call.

        Raises msgspec.DecodeError, UnicodeDecodeError, RecursionError or ValueError for a body that is no request of
        the scheduler's.
        """


class Others(Protocol):
    """The other replicas."""

    async def pass_on(self, verb: Verb, body: bytes) -> bytes | None:
        """The leader's answer; None if this replica is to answer, because it leads, or because nobody else does."""

    @property
    def is_blind(self) -> bool:
        """Whether this replica neither leads nor knows what others have done: another one answers better."""

    def told(self, notice: bytes) -> bool:
        """Another replica names pods that it has turned down. Returns whether this one leads and brings them back.

        Raises msgspec.DecodeError.
        """


def refuse(status: int, text: str) -> web.Response:
    """A refusal that says why; the scheduler treats every status but 200 as an error of ours and evicts nothing."""
    VERB_REFUSED.labels(str(status)).inc()
    return web.Response(status=status, text=text + "\n")


def extender_app(
    answers: Answers,
    configuration: ExtenderConfiguration,
    failpoint: Callable[[str], Awaitable[None]],
    others: Others | None = None,
) -> web.Application:
    """POST /v1/filter and /v1/preempt. A body that is no request of the scheduler's gets 400, never an answer.

    `others`: None for a process that is alone.
    """
    limits = Limits(configuration, refuse)

    def verb(name: Verb) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        calls, seconds = CALLS.labels(name), VERB_SECONDS.labels(name)

        async def handle(request: web.Request) -> web.StreamResponse:
            await failpoint(f"verb.{name}")
            body = await limits.body(request)
            if isinstance(body, web.Response):
                return body
            if PASSED_ON_HEADER not in request.headers:
                calls.inc()
                passed = await others.pass_on(name, body) if others is not None else None
                if passed is not None:
                    return web.Response(body=passed, content_type="application/json")
            with seconds.time():
                try:
                    answered = answers.answer(name, body)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
                    return refuse(400, f"{name}: {error}")
            response = web.Response(body=answered, content_type="application/json")
            if others is not None and others.is_blind:
                response.force_close()  # the scheduler connects anew, maybe to another replica
            return response

        return handle

    async def turned_down(request: web.Request) -> web.StreamResponse:
        body = await limits.body(request)
        if isinstance(body, web.Response):
            return body
        try:
            leads = others is not None and others.told(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return refuse(400, f"turned-down: {error}")
        return web.Response() if leads else web.Response(status=409, text="this replica does not lead\n")

    app = web.Application(client_max_size=configuration.max_body_bytes)
    app.router.add_post("/v1/filter", verb("filter"))
    app.router.add_post("/v1/preempt", verb("preempt"))
    app.router.add_post(TURNED_DOWN_PATH, turned_down)
    return app
