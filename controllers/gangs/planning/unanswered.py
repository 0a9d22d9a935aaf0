"""When schedulers may have got no answer of this process, although they asked.

A scheduler goes on without an answer that does not come in time. So a pod that it binds then has not passed us by. See
docs/decisions/0102.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Final

from api.clock import Clock
from api.core import Pod
from controllers.gangs.promised.grants import GRANT_SECONDS

__all__ = ["BINDING_SECONDS", "GAP_SECONDS", "Unanswered"]

BEAT_SECONDS: Final = 0.2
GAP_SECONDS: Final = 0.5
"""A process that stands still for less time answers all the same: our manifests give a filter call one second
(`httpTimeout`)."""
BINDING_SECONDS: Final = GRANT_SECONDS
"""How long after its filter call a pod may be bound."""


class Unanswered:
    """Remembers when this process, which leads, answered nobody. Made for one term."""

    def __init__(self, has_called: Callable[[str], bool], clock: Clock) -> None:
        """`has_called`: whether the scheduler of this name has asked us about any pod in this term."""
        self._has_called, self._clock = has_called, clock
        self._beat = inf
        """When the event loop was last known to run, in monotonic seconds; infinite before it is watched."""
        self._began = self._missed = -inf
        """When the term began to answer, and when calls were last missed."""

    async def run(self) -> None:
        """Watch the event loop, until cancelled."""
        while True:
            self.beat()
            await asyncio.sleep(BEAT_SECONDS)

    def beat(self) -> None:
        """The event loop runs."""
        now = self._clock.monotonic()
        if now - self._beat >= GAP_SECONDS:
            self._missed = now
        self._beat = now

    def take_over(self) -> None:
        """From now on this process answers for all. It does not know what others have answered, or have not."""
        self._began = self._clock.monotonic()

    def miss(self) -> None:
        """Another process has answered calls by itself, because this one did not."""
        self._missed = self._clock.monotonic()

    def may_concern(self, pod: Pod) -> bool:
        """Whether the pod, which has just been bound, may have asked when this process did not answer.

        Earlier answers do not matter: its last attempt may have had none.
        """
        if not _by_scheduler(pod):
            return False
        if self._beat != inf:
            self.beat()  # after a stop, what was watched meanwhile is handled before anything else
        now = self._clock.monotonic()
        if now - self._began < BINDING_SECONDS:
            return True  # nobody knows yet which schedulers call
        return now - self._missed < BINDING_SECONDS and self._has_called(pod.spec.scheduler_name)


def _by_scheduler(pod: Pod) -> bool:
    """Whether a scheduler has bound the pod. Then the API server has written this condition with the binding.

    A pod that was created with its node does not have it at first.
    """
    conditions = pod.status.conditions or ()
    return any(each.type == "PodScheduled" and each.status == "True" for each in conditions)
