"""All that one process knows of pods that wait, whoever leads."""

from __future__ import annotations

from collections.abc import Iterator

from api.clock import Clock
from api.core import Pod
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.modes import Modes
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.pending import PendingPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.waking.parked import ParkedPods, TurnedDown, Why

__all__ = ["Waiters"]


class Waiters:
    """Those that wait at all, that are parked, that have our gate, and that a new term must hear of."""

    def __init__(self, roster: Roster, clock: Clock, modes: Modes) -> None:
        self.waiting = WaitingPods(clock, lambda namespace: not modes.observes(namespace))
        self.gated = GatedPods(clock)
        self.parked, self.pending = ParkedPods(self.waiting), PendingPods(roster)

    def __iter__(self) -> Iterator[tuple[str, Pod]]:
        """The pods (UID) that a new term must hear of, in the order in which they came."""
        return iter(self.pending)

    # ---- pods that preempt answers with no node

    def await_room(self, pod: Pod) -> None:
        """Room is promised, or a victim leaves for a gang: the pod comes back when a plan ends."""
        self.parked.note(pod, Why.RESERVED)

    def await_leader(self, pod: Pod) -> None:
        """Whoever answered could not decide: the pod comes back when somebody can."""
        self.parked.note(pod, Why.NOT_READY)

    def await_gang(self, pod: Pod, gang: GroupKey) -> None:
        """Its gang waits: the pod comes back when it has no gang any longer, or its gang runs."""
        self.parked.note_member(pod, gang)

    def hand_over(self) -> TurnedDown | None:
        """The pods that await a leader; None if there are none. They are forgotten."""
        turned_down = self.parked.hand_over(Why.NOT_READY)
        return turned_down if turned_down.crowds or turned_down.alone else None

    def put_back(self, turned_down: TurnedDown) -> None:
        """No leader learned of these."""
        self.parked.put_back(turned_down)
