"""Why a request gets no answer: the HTTP status, and what the answer says."""

from __future__ import annotations

import math
from http import HTTPStatus

__all__ = [
    "Refused",
    "bad_request",
    "forbidden",
    "misdirected",
    "not_found",
    "too_many",
    "unauthorized",
    "unavailable",
]


class Refused(Exception):
    """A request is refused. `reason` is one word in CamelCase. `right`: what the reader would need; empty if no right
    helps. `after`: seconds after which the same request may be answered; None if time does not help."""

    def __init__(
        self, status: HTTPStatus, reason: str, message: str, right: str = "", after: float | None = None
    ) -> None:
        super().__init__(f"{reason}: {message}")
        self.status, self.reason, self.message, self.right = status, reason, message, right
        self.after = None if after is None else max(1, math.ceil(after))


def bad_request(message: str) -> Refused:
    """The request itself is wrong."""
    return Refused(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def unauthorized(message: str) -> Refused:
    """Nobody is logged in."""
    return Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized", message)


def forbidden(right: str) -> Refused:
    """The reader lacks a right, such as `list pods in team-b`."""
    return Refused(HTTPStatus.FORBIDDEN, "Forbidden", f"a right is missing: {right}", right)


def misdirected(message: str) -> Refused:
    """The request comes from another page, or to a name that is not ours."""
    return Refused(HTTPStatus.FORBIDDEN, "Misdirected", message)


def not_found(message: str) -> Refused:
    """There is no such object, or no such address."""
    return Refused(HTTPStatus.NOT_FOUND, "NotFound", message)


def too_many(message: str, after: float) -> Refused:
    """A limit is reached. `after`: in seconds."""
    return Refused(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", message, after=after)


def unavailable(message: str, after: float = 2.0) -> Refused:
    """It is not known what the reader may see, or there is nothing to see yet."""
    return Refused(HTTPStatus.SERVICE_UNAVAILABLE, "Unavailable", message, after=after)
