"""The Lease in a worker cluster that says which manager the origin belongs to.

Its holder is the manager's cluster (the UID of its kube-system), so another process of the same manager goes on with
it at once. A living Lease of another holder means that two managers have the same origin.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable
from typing import Final

from api.clock import Clock
from api.multikueue import MANAGER_NAMESPACE, ORIGIN_IN_USE
from api.names import is_subdomain
from kube.client import ApiClient
from kube.errors import ApiError
from kube.lease import Held, LeaseLock, LeaseTimes, Observed
from kube.sender import Fence, FencedError

__all__ = ["IN_USE", "TIMES", "OriginInUseError", "OriginLease", "lease_name"]

TIMES: Final = LeaseTimes(duration=15.0, renew_deadline=10.0, retry_period=5.0)
IN_USE: Final = ORIGIN_IN_USE
REQUEST_SECONDS: Final = 8.0
"""Also a slow cluster gives a word before it counts as away."""
TRIES: Final = 3
HOLDER: Final = re.compile(r"[0-9A-Za-z-]{1,63}")
"""What UIDs look like. Nothing else of a worker's Lease is shown."""
CHANGED: Final = (
    "the server leads to another cluster than before, or somebody has deleted the Lease of the origin"
)


class OriginInUseError(Exception):
    """Another manager holds the Lease of the origin."""


class OriginLease:
    """The Lease in one cluster."""

    def __init__(
        self,
        client: ApiClient,
        origin: str,
        manager: str,
        fence: Fence,
        clock: Clock,
        observed: Observed | None = None,
    ) -> None:
        """`manager`: the UID of kube-system here. `observed`: what this process has seen of the Lease before."""
        self._lock = LeaseLock(
            client, MANAGER_NAMESPACE, lease_name(origin), manager, TIMES, clock, at_once=True
        )
        self._lock.observed = observed or Observed(TIMES)
        self._origin, self._fence, self._clock = origin, fence, clock
        self._held: Held | None = None

    async def take(self) -> None:
        """Take it. Raises OriginInUseError if another manager may hold it, and ApiError."""
        for _ in range(TRIES):
            await self._lock.look(self._seconds())
            self._held = await self._lock.take(self._seconds())
            if self._held is not None:
                return
            self._refuse_others()
        raise ApiError(0, "Conflict", "the Lease of the origin is written by others all the time")

    @property
    def uid(self) -> str:
        """The UID of the Lease, as it was seen last: no other cluster has it. Empty if it is not known."""
        record = self._lock.observed.record
        return record.uid if record is not None else ""

    async def keep(self, heard: Callable[[], None], missed: Callable[[], None]) -> None:
        """Renew it until cancelled. Call `heard` each time that the cluster has answered, and `missed` each time that
        no answer came.

        Raises OriginInUseError once another manager holds it, and ApiError when it is another object than before:
        another cluster may answer now. A renewal that fails is tried again.
        """
        uid = self.uid
        began = self._clock.monotonic()
        while True:
            await asyncio.sleep(max(0.0, began + TIMES.retry_period - self._clock.monotonic()))
            began = self._clock.monotonic()
            try:
                held = await self._lock.renew(self._held, self._seconds()) if self._held else None
            except ApiError as error:
                if error.status == 0:
                    missed()
                continue  # whether the cluster is silent, and the term over, is judged elsewhere
            heard()
            if held is None:
                await self.take()
            else:
                self._held = held
            if uid and self.uid != uid:
                raise ApiError(0, "Changed", CHANGED)

    async def release(self) -> None:
        """Let another manager take it at once. Raises ApiError."""
        held, self._held = self._held, None
        if held is not None:
            await self._lock.release(held, self._seconds())

    def _refuse_others(self) -> None:
        record = self._lock.holder
        if record is not None:
            name = record.holder if HOLDER.fullmatch(record.holder) else "of another name"
            raise OriginInUseError(
                f"the manager with kube-system {name} uses the origin {self._origin} in this cluster"
            )

    def _seconds(self) -> float:
        if not self._fence.allows():
            raise FencedError("the Lease of an origin")
        return min(REQUEST_SECONDS, self._fence.seconds_left())


def lease_name(origin: str) -> str:
    """The Lease's name. An origin may be a label that no object can have as its name: then a part of its hash makes
    the name unique."""
    name = f"multikueue-{origin}"
    if is_subdomain(name):
        return name
    letters = "".join(each if each.isascii() and each.isalnum() else "-" for each in origin.lower()).strip(
        "-"
    )
    return f"multikueue-{letters}-{hashlib.sha256(origin.encode()).hexdigest()[:8]}"
