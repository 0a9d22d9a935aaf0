"""Pods that a scheduler asks about, and that the mirror does not know.

Most of them are about to come: the scheduler has seen them a little earlier. Others are gone already. No event says so
any more, so what is kept of them is forgotten after a while.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from math import inf
from typing import Final

from api.clock import Clock

__all__ = ["UnknownPods"]

PATIENCE_SECONDS: Final = 60.0
"""How long such a pod may take to come."""


class UnknownPods:
    """Remembers when they were first asked about. Made for one term."""

    def __init__(self, is_known: Callable[[str], bool], forget: Callable[[str], None], clock: Clock) -> None:
        """`is_known`: whether the mirror has the pod (UID). `forget` is called for those that did not come."""
        self._is_known, self._forget, self._clock = is_known, forget, clock
        self._since: OrderedDict[str, float] = OrderedDict()

    def asked(self, uid: str) -> None:
        """A scheduler asks about the pod."""
        if not self._is_known(uid):
            self._since.setdefault(uid, self._clock.monotonic())

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        if not self._since:
            return inf
        oldest = next(iter(self._since.values()))
        return max(0.0, oldest + PATIENCE_SECONDS - self._clock.monotonic())

    def tick(self, *, trusted: bool) -> bool:
        """Forget those that should have come by now. They may still come if the mirror is not to be trusted."""
        while trusted and self.due_in() <= 0.0:
            uid, _ = self._since.popitem(last=False)
            if not self._is_known(uid):
                self._forget(uid)
        return False
