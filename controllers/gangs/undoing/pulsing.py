"""Pods that preempt answered with no node are parked: nothing shows which ones, and only a pulse brings them back."""

from __future__ import annotations

from collections.abc import Callable

from api.clock import Clock
from controllers.gangs.waking.parked import ParkedPods, TurnedDown
from controllers.gangs.waking.pulses import Carriers, PulseBudget, PulseQueue, carry_out
from controllers.gangs.writing.pod_writer import PodWriter

__all__ = ["Pulsing"]


class Pulsing:
    """One pulse for each scheduler, when the list is made, and for the pods that other replicas name. See `Asking`."""

    def __init__(
        self, parked: ParkedPods, waiting: Carriers, carries: Callable[[str], None], clock: Clock
    ) -> None:
        """`carries` is called with the pod (UID) that carries a pulse, and with "" when it is over."""
        self._parked, self._waiting, self._carries, self._clock = parked, waiting, carries, clock
        self._queue = PulseQueue(PulseBudget())

    def __bool__(self) -> bool:
        """Whether somebody is to be brought back."""
        return len(self._queue) > 0

    def bring_back_all(self) -> None:
        """Everybody whom a scheduler has found no node for."""
        now = self._clock.monotonic()
        for wish in self._parked.take_all():
            self._queue.want(wish, now)

    def told(self, turned_down: TurnedDown) -> None:
        """Another process has turned down these pods."""
        for wish in self._parked.wishes(turned_down):
            self._queue.want(wish, self._clock.monotonic())

    async def step(self, pods: PodWriter) -> None:
        """At most one pulse."""
        pulse = self._queue.next(self._clock.monotonic(), self._waiting)
        if pulse is not None:
            self._carries(pulse.carrier.uid)
            try:
                result = await carry_out(pulse, pods)
            finally:
                self._carries("")
            self._queue.done(pulse, result, self._clock.monotonic())
        self._queue.give_up(self._clock.monotonic())
