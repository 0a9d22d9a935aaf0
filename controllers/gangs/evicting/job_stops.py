"""Jobs whose gang is evicted must not create its pods again: they are stopped before the first pod is evicted."""

from __future__ import annotations

from api.plans import Victim
from controllers.gangs.mirror.roster import Roster
from runtime.exchange.owner_stops import OwnerStops, PodOwner

__all__ = ["Stopping"]


class Stopping:
    """What is done before a unit is marked."""

    def __init__(self, roster: Roster, stops: OwnerStops) -> None:
        self._roster, self._stops = roster, stops

    async def before(self, victim: Victim, message: str) -> None:
        """Stop the owners of a whole PodGroup's pods. A pod that is evicted alone is left to its owner.

        Raises NotStoppedError: the unit must not begin.
        """
        if owners := self._owners(victim):
            await self._stops.stop(owners, message)

    def stops_somebody(self, victim: Victim) -> bool:
        """Whether `before` may stop an owner."""
        return self._stops.is_expected and bool(self._owners(victim))

    def _owners(self, victim: Victim) -> set[PodOwner]:
        if victim.kind != "PodGroup":
            return set()
        return self._roster.owners.controllers(pod.uid for pod in victim.pods)
