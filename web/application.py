"""The application: who may ask at all, what each answer has in its head, and how a fault is answered."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec
import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from serving.connections import begin
from web.configuration import PageConfiguration
from web.errors import Refused
from web.guard import HEADERS, check
from web.metrics import REQUESTS
from web.openapi import document
from web.route import JSON, PREFIX, Route
from web.statics import INDEX, Static
from web.wire.base import Fault

__all__ = ["page_app"]

log = structlog.get_logger(__name__)

OTHER: Final = "other"
DESCRIPTION: Final = "/openapi.json"
STATIC: Final = "/static/{name}"


def page_app(
    settings: PageConfiguration, table: Sequence[Route], statics: Mapping[str, Static]
) -> web.Application:
    """The application for one listener."""

    @web.middleware
    async def answered(request: web.Request, handler: Handler) -> web.StreamResponse:
        """The answer of the handler, or a fault as JSON. Nothing of the request is logged: it may have a secret."""
        begin(request)
        is_data = request.path.startswith(f"{PREFIX}/")
        if (fault := check(request.method, request.headers, settings.hosts, is_data=is_data)) is not None:
            return _counted(request, _fault(fault))
        try:
            response = await handler(request)
        except Refused as error:
            response = _fault(error)
        except web.HTTPException as error:
            response = _of_library(error)
        except ConnectionError:
            raise
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            log.error("a request failed", error=type(error).__name__, file=where.filename, line=where.lineno)  # noqa: TRY400 - the message of an error may have a secret
            response = _fault(
                Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", "the answer could not be made")
            )
        return _counted(request, response)

    app = web.Application(middlewares=[answered], client_max_size=settings.max_body_bytes)
    app.on_response_prepare.append(_put_headers)
    for route in table:
        app.router.add_route(route.method, PREFIX + route.pattern, route.handler)
    app.router.add_get(PREFIX + DESCRIPTION, _fixed(Static(document(table), JSON)))
    app.router.add_get("/", _fixed(statics[INDEX]))

    async def static(request: web.Request) -> web.StreamResponse:
        found = statics.get(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound
        return _static(found)

    app.router.add_get(STATIC, static)
    return app


def _fixed(content: Static) -> Handler:
    async def handler(_: web.Request) -> web.StreamResponse:
        return _static(content)

    return handler


def _static(content: Static) -> web.Response:
    return web.Response(body=content.body, headers={"Content-Type": content.content_type})


async def _put_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _fault(error: Refused) -> web.Response:
    headers = {"Retry-After": str(error.after)} if error.after is not None else {}
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    body = msgspec.json.encode(Fault(error.reason, error.message, error.right))
    return web.Response(body=body, status=error.status, content_type=JSON, headers=headers)


def _of_library(error: web.HTTPException) -> web.Response:
    """What aiohttp says of an address that does not exist, or that takes other methods."""
    status = HTTPStatus(error.status)
    response = _fault(
        Refused(status, status.phrase.title().replace(" ", ""), status.description or status.phrase)
    )
    if "Allow" in error.headers:
        response.headers["Allow"] = error.headers["Allow"]
    return response


def _counted(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    resource = request.match_info.route.resource
    REQUESTS.labels(resource.canonical if resource is not None else OTHER, str(response.status)).inc()
    return response
