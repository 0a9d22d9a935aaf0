"""What the API server answers when it refuses, and what comes in place of an answer."""

from __future__ import annotations

from typing import Final

import aiohttp
import msgspec

from api.meta import ListMeta

__all__ = ["ApiError", "LargeAnswerError", "SilenceError", "Status", "error_of"]

BUDGET_CAUSE: Final = "DisruptionBudget"
"""policy/v1 DisruptionBudgetCause: why the API server answers 429 to an eviction."""
RETRIABLE: Final = frozenset({0, 429, 500, 502, 503, 504})


class StatusCause(msgspec.Struct, rename="camel"):
    """meta/v1 StatusCause, in part."""

    reason: str = ""


class StatusDetails(msgspec.Struct, rename="camel"):
    """meta/v1 StatusDetails, in part."""

    retry_after_seconds: int = 0
    causes: list[StatusCause] | None = None


class Status(msgspec.Struct, rename="camel"):
    """meta/v1 Status: the API server's answer to a request that fails."""

    reason: str = ""
    message: str = ""
    code: int = 0
    details: StatusDetails | None = None
    metadata: ListMeta | None = None


class ApiError(Exception):
    """A request failed.

    `status` is the HTTP status, or 0 if there was no answer. `reason` is the API's word for it (NotFound, Conflict,
    AlreadyExists, Expired, ...). `retry_after` is in seconds, or None if the server did not set it.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after: float | None = None,
        *,
        over_budget: bool = False,
        continue_: str = "",
    ) -> None:
        super().__init__(f"{status or 'no answer'} {reason}: {message}".replace("\n", " ")[:2000])
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.over_budget = over_budget
        """Whether a PodDisruptionBudget does not allow an eviction now."""
        self.continue_ = continue_
        """With status 410 for a page: the token to go on with at the newest version of the list."""

    @property
    def is_retriable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in RETRIABLE and not self.over_budget


class SilenceError(ApiError):
    """The answer has begun, and then no data came for as long as the caller waits for each piece."""


class LargeAnswerError(ApiError):
    """The answer, or a line of it, is larger than the caller takes. The same request would get it again."""

    @property
    def is_retriable(self) -> bool:
        """See `ApiError`."""
        return False


def error_of(response: aiohttp.ClientResponse, body: bytes) -> ApiError:
    """The error for an answer. The body is a Status, or text from a proxy between us and the API server."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        status = Status(reason=response.reason or "", message=body[:200].decode(errors="replace"))
    after: float | None = None
    header = response.headers.get("Retry-After", "")
    if header.isdecimal():
        after = float(header)
    elif status.details is not None and status.details.retry_after_seconds > 0:
        after = float(status.details.retry_after_seconds)
    causes = (status.details.causes if status.details is not None else None) or ()
    return ApiError(
        response.status,
        status.reason or response.reason or "",
        status.message,
        after,
        over_budget=any(cause.reason == BUDGET_CAUSE for cause in causes),
        continue_=status.metadata.continue_ if status.metadata is not None else "",
    )
