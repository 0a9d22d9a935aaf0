"""What withdraws and finishes what a former Enforce has left."""

from __future__ import annotations

from collections.abc import Callable

from controllers.gangs.known import Known
from controllers.gangs.undoing.leftovers import Leftovers, Shown
from controllers.gangs.undoing.pulsing import Pulsing
from controllers.gangs.undoing.rights import Rights
from controllers.gangs.undoing.undoing import Tools, Undoing
from kube.client import ApiClient

__all__ = ["undoing"]


def undoing(known: Known, client: ApiClient, make: Callable[[Leftovers], Tools]) -> Undoing:
    """It concerns the namespaces that are not enforced. `make`: see `Undoing`."""
    waiters, roster, clock = known.waiters, known.mirror.roster, known.clock
    shown = Shown(waiters.waiting, waiters.gated, known.marked, known.promises.stored, roster)

    def concerns(namespace: str) -> bool:
        return known.modes.of(namespace) != "Enforce"

    left = Leftovers(shown, concerns, clock)
    pulsing = Pulsing(waiters.parked, waiters.waiting, concerns, left.carry, clock)
    return Undoing(left, lambda: make(left), pulsing, Rights(client, clock), clock)
