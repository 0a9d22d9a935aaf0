"""Reads manifests that somebody posts."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from aiohttp import web

from serving.connections import begin
from web.errors import Refused, bad_request

__all__ = ["MANIFESTS", "posted_text"]

MANIFESTS: Final = "application/yaml"
TYPES: Final = frozenset({MANIFESTS, "application/json", "application/x-yaml", "text/yaml", "text/plain"})
MOST_BYTES: Final = 1024 * 1024


async def posted_text(request: web.Request, seconds: float) -> bytes:
    """The whole body, which is UTF-8. `seconds`: in which it has to arrive. Raises Refused."""
    begin(request)
    if request.content_type not in TYPES:
        raise _refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {MANIFESTS} or JSON")
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise _refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "compressed bodies are not accepted")
    if (request.content_length or 0) > MOST_BYTES:
        raise _too_large()
    try:
        async with asyncio.timeout(seconds):
            body = await request.clone(client_max_size=MOST_BYTES).read()
    except TimeoutError:
        raise _refused(HTTPStatus.REQUEST_TIMEOUT, f"the body did not arrive within {seconds} s") from None
    except web.HTTPRequestEntityTooLarge:
        raise _too_large() from None
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise bad_request(f"the body is not UTF-8 (byte {error.start + 1})") from None
    return body


def _too_large() -> Refused:
    return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {MOST_BYTES} bytes")


def _refused(status: HTTPStatus, message: str) -> Refused:
    return Refused(status, status.phrase.replace(" ", ""), message)
