"""What the nodes plane asks before it evicts: that those who would create the pods again stop.

A managed Job whose pods are deleted creates them again, and counts each one against its backoffLimit. Its Workload is
evicted first, and the Job suspended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

__all__ = ["NotStoppedError", "OwnerStops", "PodOwner", "Runner"]


class NotStoppedError(Exception):
    """An owner may still create pods. The message names it."""


class PodOwner(NamedTuple):
    """Who would create a pod again if it is evicted."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class Runner(Protocol):
    """Whoever runs the owners of pods."""

    async def stop(self, owners: Collection[PodOwner], message: str) -> None:
        """See `OwnerStops.stop`."""


class OwnerStops:
    """Where the one finds the other. Everything runs on the event loop."""

    def __init__(self) -> None:
        self._is_expected = False
        self._runner: Runner | None = None

    @property
    def is_expected(self) -> bool:
        """Whether somebody runs owners here, or will."""
        return self._is_expected or self._runner is not None

    async def stop(self, owners: Collection[PodOwner], message: str) -> None:
        """Return when none of these creates pods any longer. Those that are not managed here are passed over.

        `message`: why their pods are evicted. Raises NotStoppedError: then no pod may be evicted, and the call is
        repeated.
        """
        if self._runner is not None:
            await self._runner.stop(owners, message)
        elif self._is_expected:
            raise NotStoppedError("the jobs controller does not act yet")

    def will_be_served(self) -> None:
        """This process has a runner, although it may not act yet."""
        self._is_expected = True

    @contextmanager
    def served(self, runner: Runner) -> Iterator[None]:
        """This one is asked, until the end of the block."""
        self._runner = runner
        try:
            yield
        finally:
            self._runner = None
