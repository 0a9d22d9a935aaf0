"""The listener for API servers: limits for a review, clients that may ask, and paths."""

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
"""Gets a review's body, and returns when the review may be answered."""

MAX_TEXT: Final = 300
"""The most characters in a refusal. It may contain a part of what was sent."""


def refuse(status: int, text: str) -> web.Response:
    """A refusal with its reason. The API server then follows the webhook's failurePolicy."""
    REFUSED.labels(str(status)).inc()
    return web.Response(status=status, text=text[:MAX_TEXT] + "\n")


def review_app(
    reviewer: Reviewer, configuration: WebhooksConfiguration, waits: Mapping[str, Wait] | None = None
) -> web.Application:
    """The app for POST /validate/<kind> and /mutate/<kind>, with the kind in lower case. A body that is no review gets
    400.

    `waits`: by kind, what a review waits for before it is answered.
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
    """Whether the verified client certificate has one of these common names."""
    certificate = request.get_extra_info("peercert") or {}
    subject = certificate.get("subject", ())
    return any(key == "commonName" and value in names for part in subject for key, value in part)
