"""Whether this process may still write to pods: the rights may have gone before the mode went back."""

from __future__ import annotations

from typing import Final

import structlog

from api.clock import Clock
from kube.access import Access, lacking
from kube.client import ApiClient
from kube.errors import ApiError

__all__ = ["Rights"]

log = structlog.get_logger(__name__)

AGAIN_SECONDS: Final = 30.0
"""How long an answer counts."""
DELETE: Final = Access("", "pods", "delete")
WRITES: Final = (Access("", "pods", "patch"), Access("", "pods/status", "patch"), DELETE)


class Rights:
    """Asks the API server."""

    def __init__(self, client: ApiClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._lacking: frozenset[Access] = frozenset()
        self._until = float("-inf")

    async def granted(self, *, evicts: bool) -> bool:
        """Whether pods may be patched in all namespaces, and deleted if `evicts`. True if nobody says: then the writes
        show it."""
        if self._clock.monotonic() >= self._until:
            await self._ask()
        return not self._lacking if evicts else self._lacking <= {DELETE}

    def refused(self) -> None:
        """A write was refused: ask again before the next one."""
        self._until = float("-inf")

    async def _ask(self) -> None:
        try:
            self._lacking = frozenset(await lacking(self._client, WRITES))
        except ApiError as error:
            log.warning("the API server does not say which rights there are", error=str(error))
            self._lacking = frozenset()
        if self._lacking:
            named = sorted(map(str, self._lacking))
            log.error("pods are held that reprieve has no right to release", lacking=named)
        self._until = self._clock.monotonic() + AGAIN_SECONDS
