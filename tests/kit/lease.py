"""One Lease that is written as an API server writes it, and requests that are lost or late. For the algorithm alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from api.times import instant
from kube.errors import ApiError
from kube.lease import LeaseTimes
from tests.kit.clock import ManualClock

__all__ = ["TIMES", "Fault", "Server"]

TIMES = LeaseTimes()


@dataclass
class Fault:
    """What happens to one request."""

    before: float = 0.0
    """Seconds until it is carried out."""
    after: float = 0.0
    """Seconds from then until the answer."""
    lost: bool = False
    """It never arrives."""
    between: Callable[[], None] | None = None
    """Another process acts before the answer comes."""


@dataclass
class Server:
    """One Lease, written only in the version that the writer has read. Nobody holds it at first."""

    clock: ManualClock
    stored: dict[str, Any] | None = field(
        default_factory=lambda: {"metadata": {"name": "reprieve", "resourceVersion": "0"}}
    )
    version: int = 0
    faults: list[Fault] = field(default_factory=list)
    """Of the next requests."""

    async def request(
        self, method: str, path: str, *, body: bytes | None = None, seconds: float, **_: object
    ) -> bytes:
        fault = self.faults.pop(0) if self.faults else Fault()
        if fault.lost:
            self.clock.advance(seconds)
            raise ApiError(0, "Timeout", "no answer in time")
        self.clock.advance(fault.before)
        answer = self._apply(method, orjson.loads(body) if body else {})
        if fault.between is not None:
            fault.between()
        self.clock.advance(fault.after)
        if fault.before + fault.after > seconds:
            raise ApiError(0, "Timeout", "no answer in time")
        if isinstance(answer, ApiError):
            raise answer
        return orjson.dumps(answer)

    def _apply(self, method: str, body: Mapping[str, Any]) -> dict[str, Any] | ApiError:
        for field_ in ("acquireTime", "renewTime"):
            if method != "GET" and instant(body["spec"][field_]) is None:
                return ApiError(400, "BadRequest", f"{field_} is no time")
        if method == "POST" and self.stored is not None:
            return ApiError(409, "AlreadyExists", "")
        if method != "POST" and self.stored is None:
            return ApiError(404, "NotFound", "")
        if method == "GET":
            assert self.stored is not None
            return self.stored
        if method == "PATCH":
            assert self.stored is not None
            if body["metadata"]["resourceVersion"] != self.stored["metadata"]["resourceVersion"]:
                return ApiError(409, "Conflict", "")
        self.version += 1
        self.stored = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        return self.stored
