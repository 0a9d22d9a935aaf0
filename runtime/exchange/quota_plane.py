"""The quota plane as the nodes plane sees it."""

from __future__ import annotations

from typing import Final

from api.core import Pod
from runtime.exchange.owner_stops import OwnerStops
from runtime.exchange.queued_groups import QueuedGroups

__all__ = ["QuotaPlane"]


class QuotaPlane:
    """What it says of PodGroups, and what it is asked to do. Without one, no group waits and no owner is stopped."""

    def __init__(self, groups: QueuedGroups | None = None, stops: OwnerStops | None = None) -> None:
        """`groups`: which PodGroups wait for quota or have lost it. `stops`: whoever runs the Jobs whose pods go."""
        self.groups: Final = groups or QueuedGroups()
        self.stops: Final = stops or OwnerStops()

    def why_waits(self, pod: Pod) -> str:
        """Why a pod of a group must not be scheduled yet; empty if it may."""
        return self.groups.why_waits(pod)
