"""Pods that preempt answered with no node are parked: nothing shows which ones, and only a pulse brings them back."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final

from api.clock import Clock
from controllers.gangs.mirror.waiting import WaitingPod, WaitingPods
from controllers.gangs.waking.parked import ParkedPods, TurnedDown, crowd
from controllers.gangs.waking.pulses import PulseBudget, PulseQueue, Wish, carry_out
from controllers.gangs.writing.pod_writer import PodWriter

__all__ = ["Pulsing"]

FLUSH_SECONDS: Final = 330.0
"""After this time kube-scheduler has brought back everybody by itself: it looks twice a minute for pods that have
waited for five minutes."""


class Pulsing:
    """One pulse for each scheduler, when the list is made, and for the pods that other replicas name. See `Asking`."""

    def __init__(
        self,
        parked: ParkedPods,
        waiting: WaitingPods,
        concerns: Callable[[str], bool],
        carries: Callable[[str], None],
        clock: Clock,
    ) -> None:
        """`concerns`: whether the namespace is not enforced. `carries` is called with the pod (UID) that carries a
        pulse, and with "" when it is over."""
        self._parked, self._waiting, self._concerns = parked, waiting, concerns
        self._carries, self._clock = carries, clock
        self._queue = PulseQueue(PulseBudget())
        self._until = float("-inf")
        """When nobody who waits for a pulse needs it any longer, in monotonic seconds."""

    def __len__(self) -> int:
        """How many pods are to be brought back. Those that nothing shows count as one for each scheduler."""
        return len(self._queue)

    def bring_back_all(self) -> None:
        """Everybody whom a scheduler has found no node for. A pod that waits for host ports comes back by itself."""
        for scheduler, priority in self._waiting.turned_down(self._concerns).items():
            self._want(crowd(scheduler, priority))

    def told(self, turned_down: TurnedDown) -> None:
        """Another process has turned down these pods."""
        for wish in self._parked.wishes(turned_down):
            self._want(wish)

    def _want(self, wish: Wish) -> None:
        now = self._clock.monotonic()
        self._queue.want(wish, now)
        self._until = now + FLUSH_SECONDS

    def wait(self) -> None:
        """Pods may not be written to now. It is not waited for longer than anybody needs a pulse."""
        if self._clock.monotonic() >= self._until:
            self._queue = PulseQueue(PulseBudget())

    async def step(self, pods: PodWriter) -> None:
        """At most one pulse."""
        pulse = self._queue.next(self._clock.monotonic(), self)
        if pulse is not None:
            self._carries(pulse.carrier.uid)
            try:
                result = await carry_out(pulse, pods)
            finally:
                self._carries("")
            self._queue.done(pulse, result, self._clock.monotonic())
        self._queue.give_up(self._clock.monotonic())

    # ---- see `controllers.gangs.waking.pulses.Carriers`

    def find_writable(self, uid: str) -> WaitingPod | None:
        """A pod of a namespace that is not enforced."""
        pod = self._waiting.find(uid)
        return pod if pod is not None and self._concerns(pod.namespace) else None

    def carrier(self, scheduler: str, at_least: int, but: Container[str] = ()) -> WaitingPod | None:
        """A pod of a namespace that is not enforced."""
        return self._waiting.carrier(scheduler, at_least, but, self._concerns)

    def left_behind(self, until: float) -> WaitingPod | None:
        """Nominations that a pulse has left behind are on the list."""
        return None
