"""All that one process knows of pods that wait, whoever leads."""

from __future__ import annotations

from collections.abc import Iterator

from api.clock import Clock
from api.core import Pod
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.pending import PendingPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.waking.parked import ParkedPods

__all__ = ["Waiters"]


class Waiters:
    """Those that wait at all, that are parked, that have our gate, and that a new term must hear of."""

    def __init__(self, roster: Roster, clock: Clock) -> None:
        self.waiting, self.gated = WaitingPods(clock), GatedPods(clock)
        self.parked, self.pending = ParkedPods(self.waiting), PendingPods(roster)

    def __iter__(self) -> Iterator[tuple[str, Pod]]:
        """The pods (UID) that a new term must hear of, in the order in which they came."""
        return iter(self.pending)
