"""Marks on pods that no plan evicts: those that earlier terms left behind, or whose writes came late.

See docs/decisions/0036.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog

from api.clock import Clock
from controllers.gangs.evicting.marking import Marking
from controllers.gangs.mirror.marked_pods import MarkedPods

__all__ = ["Strays"]

log = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 1.0
PATIENT_SECONDS: Final = 60.0
"""Seconds after which we try again to withdraw a mark that the API server did not let us withdraw."""


class Strays:
    """Withdraws marks that belong to no known plan. The end of a plan withdraws the marks of its own victims."""

    def __init__(
        self, shown: MarkedPods, marking: Marking, is_victim: Callable[[str], bool], clock: Clock
    ) -> None:
        """`is_victim`: whether a plan goes on, or ends at this moment, that evicts the pod (UID)."""
        self._shown, self._marking, self._is_victim, self._clock = shown, marking, is_victim, clock
        self._again = clock.monotonic() + PATIENT_SECONDS
        self._due: set[str] = set()
        self._woken = asyncio.Event()

    def begin(self) -> None:
        """The term begins: look at all marks."""
        self._due.update(self._shown)
        self._woken.set()

    def pod_changed(self, uid: str) -> None:
        """The mirror has a new state of a pod."""
        if self._shown.find(uid) is not None:
            self._due.add(uid)
            self._woken.set()

    async def step(self) -> bool:
        """Withdraw what is due. Returns false if the API server did not answer for one of them."""
        if self._clock.monotonic() >= self._again:
            self._again = self._clock.monotonic() + PATIENT_SECONDS
            self._due |= self._marking.refused()
        due, self._due = self._due, set()
        for uid in due:
            mark = self._shown.find(uid)
            if mark is None or not self._marking.has(uid) or self._is_victim(uid):
                continue
            if not self._marking.may_withdraw(mark.namespace):
                continue
            if await self._marking.withdraw(mark.namespace, mark.name, uid):
                log.info("a stray mark is withdrawn", namespace=mark.namespace, pod=mark.name)
            else:
                self._due.add(uid)
        return not self._due

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENT_SECONDS):
                    await self._woken.wait()
            self._woken.clear()
            if not await self.step():
                await asyncio.sleep(RETRY_SECONDS)
                self._woken.set()
