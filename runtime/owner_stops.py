"""What the nodes plane asks before it evicts: that those who would create the pods again stop.

A managed Job whose pods are deleted creates them again, and counts each one against its backoffLimit. It is suspended
first, and its Workload is evicted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

__all__ = ["OwnerStops", "PodOwner"]


class PodOwner(NamedTuple):
    """The controller of pods that are about to be evicted."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class OwnerStops(Protocol):
    """Whoever runs the owners of pods."""

    async def stop(self, owners: Collection[PodOwner], message: str) -> None:
        """Return when none of these creates pods any longer. Those that are not managed here are passed over.

        `message`: why their pods go. Raises ApiError if the API server does not answer: nobody is evicted then, and it
        is asked again.
        """
