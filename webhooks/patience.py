"""A PriorityClass and a PodGroup in one file: the group is a moment ahead of the mirror, and is waited with.

Nothing is asked of an API server. A class that does not come is judged as what it is: not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Middleware

from cluster.mirror import Mirror
from webhooks.mirrored import MirroredFacts

__all__ = ["patience"]

SECONDS: Final = 0.5
"""Two reviews of a group, of the few seconds that API servers give each. A watch takes some milliseconds."""
WAITING: Final = 64
"""At once; for more there is no patience."""


class Spec(msgspec.Struct, rename="camel"):
    """Of a PodGroup, in part."""

    priority_class_name: str = ""


class Group(msgspec.Struct):
    """PodGroup, in part."""

    spec: Spec


class Request(msgspec.Struct):
    """admission/v1 AdmissionRequest, in part."""

    operation: str
    object: Group


class Review(msgspec.Struct):
    """admission/v1 AdmissionReview, in part."""

    request: Request


_decoder: Final = msgspec.json.Decoder(Review)


def patience(mirror: Mirror, seconds: float = SECONDS) -> Middleware:
    """Answers a review of a new PodGroup again if its class, which was not known, becomes known in `seconds`."""
    facts = MirroredFacts(mirror)
    changed = asyncio.Event()
    waiting = 0

    def wake() -> None:
        nonlocal changed
        changed.set()
        changed = asyncio.Event()

    mirror.on_change(wake)

    async def comes(name: str) -> bool:
        nonlocal waiting
        waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while facts.priority_class(name) is None:
                        await changed.wait()
                    return True
        finally:
            waiting -= 1
        return False

    @web.middleware
    async def middleware(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        response = await handler(request)
        if not request.path.endswith("/podgroup") or response.status != 200 or waiting >= WAITING:
            return response
        name = _class_of(await request.read())  # which the handler has read
        if not name or facts.priority_class(name) is not None or not await comes(name):
            return response
        return await handler(request)

    return middleware


def _class_of(body: bytes) -> str:
    """The class that a new group names."""
    try:
        request = _decoder.decode(body).request
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return request.object.spec.priority_class_name if request.operation == "CREATE" else ""
