"""Handles a PriorityClass and a PodGroup that are applied from one file: the group may come before its class is known.

The server does not ask an API server, because a watch brings the class. If the class does not come, the group is
judged without it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from webhooks.watched import WatchedFacts

__all__ = ["LateClasses"]

SECONDS: Final = 0.5
"""The time to wait, in each of the two reviews of a group. API servers wait a few seconds. A watch
takes milliseconds."""
MAX_WAITING: Final = 64
"""The most reviews that wait at the same time. Further ones are answered without waiting."""


class Spec(msgspec.Struct, rename="camel"):
    """PodGroupSpec: the fields that are used here."""

    priority_class_name: str = ""


class Group(msgspec.Struct):
    """PodGroup: the fields that are used here."""

    spec: Spec


class Request(msgspec.Struct):
    """admission/v1 AdmissionRequest: the fields that are used here."""

    operation: str
    object: Group


class Review(msgspec.Struct):
    """admission/v1 AdmissionReview: the fields that are used here."""

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
        """Return when the class of this review's PodGroup is known, or after `seconds`.

        Returns at once if there is nothing to wait for: the review creates no group, the group names no class, or
        classes are not known yet.
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
    """The class that a new group names; "" for any other review, and for a body that is not a review."""
    try:
        request = _decoder.decode(body).request
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return request.object.spec.priority_class_name if request.operation == "CREATE" else ""
