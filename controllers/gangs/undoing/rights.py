"""Whether this process may still write to pods: the rights may have gone before the mode went back."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
import structlog

from api.clock import Clock
from kube.client import ApiClient
from kube.errors import ApiError

__all__ = ["Rights"]

log = structlog.get_logger(__name__)

REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
AGAIN_SECONDS: Final = 30.0
"""How long an answer counts."""


class _Wanted(NamedTuple):
    verb: str
    subresource: str = ""


WRITES: Final = (_Wanted("patch"), _Wanted("patch", "status"))
EVICTS: Final = _Wanted("delete")


class _Status(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


class Rights:
    """Asks the API server (SelfSubjectAccessReview)."""

    def __init__(self, client: ApiClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._known: dict[_Wanted, tuple[bool, float]] = {}

    async def granted(self, *, evicts: bool) -> bool:
        """Whether pods may be patched in all namespaces, and deleted if `evicts`. True if nobody says: then the writes
        show it."""
        wanted = (*WRITES, EVICTS) if evicts else WRITES
        return all([await self._may(each) for each in wanted])

    def refused(self) -> None:
        """A write was refused: ask again before the next one."""
        self._known.clear()

    async def _may(self, wanted: _Wanted) -> bool:
        now = self._clock.monotonic()
        may, until = self._known.get(wanted, (True, float("-inf")))
        if now < until:
            return may
        attributes = {"verb": wanted.verb, "resource": "pods", "subresource": wanted.subresource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        try:
            body = await self._client.request("POST", REVIEWS, body=msgspec.json.encode(review))
            may = msgspec.json.decode(body, type=_Review).status.allowed
        except (ApiError, msgspec.DecodeError) as error:
            log.warning("the API server does not say what we may do", error=str(error))
            return True
        if not may:
            log.error("pods are held that reprieve has no right to release", verb=wanted.verb)
        self._known[wanted] = may, now + AGAIN_SECONDS
        return may
