"""The listener that API servers call: what a review may cost, who may ask, and the paths."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

from aiohttp import web

from serving.limits import Limits
from webhooks.configuration import WebhooksConfiguration
from webhooks.metrics import REFUSED, REVIEW_SECONDS
from webhooks.registrations import REGISTRATIONS, Registration
from webhooks.review import MUTATE, VALIDATE, BadReviewError, Purpose, Reviewer

__all__ = ["review_app"]

JSON: Final = "application/json"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Wait = Callable[[bytes], Awaitable[None]]
"""Given a review's body, returns when it may be answered."""

MAX_TEXT: Final = 300
"""Characters of a refusal: what was sent may be part of it."""


def refuse(status: int, text: str) -> web.Response:
    """A refusal that says why; the API server does what the webhook's failurePolicy says."""
    REFUSED.labels(str(status)).inc()
    return web.Response(status=status, text=text[:MAX_TEXT] + "\n")


def review_app(
    reviewer: Reviewer, configuration: WebhooksConfiguration, waits: Mapping[str, Wait] | None = None
) -> web.Application:
    """POST /validate/<kind> and /mutate/<kind>, the kind in lower case. What is no review gets 400.

    `waits`: by kind, what its reviews wait for before they are answered.
    """
    limits = Limits(configuration, refuse)
    names = frozenset(configuration.client_names)

    def handler(purpose: Purpose, registration: Registration) -> Handler:
        seconds = REVIEW_SECONDS.labels(purpose, registration.kind)
        wait = (waits or {}).get(registration.kind)

        async def handle(request: web.Request) -> web.StreamResponse:
            if request.content_type != JSON:
                return refuse(415, f"the body must be {JSON}")
            if names and not _is_one_of(request, names):
                return refuse(403, "the client's certificate has none of the names that may ask")
            body = await limits.body(request)
            if isinstance(body, web.Response):
                return body
            with seconds.time():
                if wait is not None:
                    await wait(body)
                try:
                    answer = reviewer.answer(purpose, registration, body)
                except BadReviewError as error:
                    return refuse(400, str(error))
            return web.Response(body=answer, content_type=JSON)

        return handle

    app = web.Application(client_max_size=configuration.max_body_bytes)
    for each in REGISTRATIONS:
        for purpose, rules in ((VALIDATE, each.validating), (MUTATE, each.mutating)):
            if rules:
                app.router.add_post(f"/{purpose}/{each.kind.lower()}", handler(purpose, each))
    return app


def _is_one_of(request: web.Request, names: Collection[str]) -> bool:
    """Whether the common name of the client's certificate, verified in the handshake, is one of these."""
    certificate = request.get_extra_info("peercert") or {}
    subject = certificate.get("subject", ())
    return any(key == "commonName" and value in names for part in subject for key, value in part)
