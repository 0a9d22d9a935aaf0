"""A PriorityClass and a PodGroup applied from one file: the group may come before we know its class.

Nothing is asked of an API server; a watch brings the class. One that does not come is judged as what it is: not there.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from webhooks.watched import WatchedFacts

__all__ = ["LateClasses"]

SECONDS: Final = 0.5
"""For each of the two reviews of a group, of the few seconds that API servers give them. A watch takes milliseconds."""
MAX_WAITING: Final = 64
"""Reviews that wait at once; any more are answered without waiting."""


class Spec(msgspec.Struct, rename="camel"):
    """PodGroupSpec, in part."""

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


class LateClasses:
    """Waits for the classes that new PodGroups name."""

    def __init__(self, facts: WatchedFacts, seconds: float = SECONDS) -> None:
        self._facts, self._seconds = facts, seconds
        self._changed = asyncio.Event()
        self._waiting = 0
        facts.on_class(self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, body: bytes) -> None:
        """Return once the class that this review's PodGroup names is known, or after `seconds`.

        At once if there is nothing to wait for: no group is created, it names no class, or no class is known yet.
        """
        name = _class_of(body)
        if not name or not self._is_missing(name) or self._waiting >= MAX_WAITING:
            return
        self._waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    while self._is_missing(name):
                        await self._changed.wait()
        finally:
            self._waiting -= 1

    def _is_missing(self, name: str) -> bool:
        return self._facts.priority_class(name) is None


def _class_of(body: bytes) -> str:
    """The class that a new group names; empty for any other review, and for what is none."""
    try:
        request = _decoder.decode(body).request
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return request.object.spec.priority_class_name if request.operation == "CREATE" else ""
