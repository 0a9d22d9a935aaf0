"""Withdraws and finishes what Enforce has left, and wakes whom it held."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec
import structlog

from api.clock import Clock
from api.core import Pod
from api.holds import Holds
from api.meta import Condition
from controllers.gangs.evicting.evictions import Evictions
from controllers.gangs.evicting.marking import Marking
from controllers.gangs.lifecycle.endings import MODE_CHANGED
from controllers.gangs.mirror.waiting import held_condition
from controllers.gangs.undoing.leftovers import Left, Leftovers
from controllers.gangs.undoing.pulsing import Pulsing
from controllers.gangs.undoing.rights import Rights
from controllers.gangs.waking.parked import TurnedDown
from controllers.gangs.writing.pod_writer import PodWriter
from kube.errors import ApiError

__all__ = ["Tools", "Undoing"]

log = structlog.get_logger(__name__)

AT_ONCE: Final = 16
TICK_SECONDS: Final = 1.0
"""How often to look while something is left."""
IDLE_SECONDS: Final = 60.0


class Tools(NamedTuple):
    """What writes to pods."""

    pods: PodWriter
    marking: Marking
    evictions: Evictions
    is_shared: bool = False
    """They serve a term that enforces other namespaces, and stay."""


class Undoing:
    """Made for one term. `make` is called when there is something to do, and what it made goes when that is done."""

    def __init__(
        self, left: Leftovers, make: Callable[[], Tools], pulsing: Pulsing, rights: Rights, clock: Clock
    ) -> None:
        self.left, self._make, self._pulsing, self._rights, self._clock = left, make, pulsing, rights, clock
        self._woken = asyncio.Event()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._serial = 0
        self.tools: Tools | None = None
        """None as long as nothing is left."""

    # ---- what happens

    def begin(self, *, was_enforced: bool) -> None:
        """Make the list. `was_enforced`: preempt may have turned pods down, which nothing shows."""
        self.left.begin()
        if was_enforced or self.is_needed():
            self._pulsing.bring_back_all()
        self._woken.set()

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The mirror has a new state of a pod; None when it is gone, or has ended."""
        if self.left.pod_changed(uid, pod) or self.left.units.has_victim(uid):
            self._woken.set()

    def told(self, turned_down: TurnedDown) -> None:
        """Another process has turned down these pods."""
        self._pulsing.told(turned_down)
        self._woken.set()

    def is_needed(self) -> bool:
        """Whether something is to be done, or is being done."""
        has_units = self.left.units.is_busy or any(True for _ in self.left.units)
        return self.left.due_in() <= 0.0 or has_units or bool(self._pulsing)

    def holds(self) -> Holds:
        """What is held, as far as it is known."""
        listed = self.left.holds()
        return msgspec.structs.replace(listed, pods=listed.pods + len(self._pulsing))

    # ---- doing it

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            self._woken.clear()
            try:
                await self.step()
            except Exception:
                log.exception("what a former mode left stays for now")
            wait = TICK_SECONDS if self.is_needed() else min(IDLE_SECONDS, self.left.due_in())
            try:
                async with asyncio.timeout(max(TICK_SECONDS / 10, wait)):
                    await self._woken.wait()
            except TimeoutError:
                pass

    async def step(self) -> None:
        """Do what can be done now."""
        if not self.is_needed():
            await self.close()
            return
        left = self.left
        may_patch, evicts = await self._rights.granted(evicts=False), left.units.count > 0
        may_evict = may_patch and (not evicts or await self._rights.granted(evicts=True))
        left.lacks_rights = not may_evict
        if may_patch:
            self.tools = self.tools or self._make()
            if may_evict:
                self._finish(self.tools)
            await self._withdraw(self.tools)
            await self._pulsing.step(self.tools.pods)
        else:
            self._pulsing.wait()
        if not self.is_needed():
            await self.close()

    def _finish(self, tools: Tools) -> None:
        """Finish the units in pieces, beside everything else."""
        units = self.left.units
        for plan in units:
            units.begin(plan)
            tools.evictions.finish(plan)
        for uid in units.settle(tools.evictions.at_work):
            self.left.touch(uid)

    async def _withdraw(self, tools: Tools) -> None:
        due = self.left.due()
        answers = await asyncio.gather(*(self._undo(tools, left) for left in due))
        refused = tools.marking.refused()
        if refused:
            self._rights.refused()
        for left, is_accepted in zip(due, answers, strict=True):
            if is_accepted is not None:
                self.left.settle(left, accepted=is_accepted and left.uid not in refused)

    async def close(self) -> None:
        """Stop, wherever that is."""
        tools, self.tools = self.tools, None
        if tools is not None and not tools.is_shared:
            await tools.evictions.close()

    async def _undo(self, tools: Tools, left: Left) -> bool | None:
        """Whether the API server has accepted all; None if it did not answer.

        The gate is the last one: without it, the scheduler tries the pod.
        """
        where = left.namespace, left.name, left.uid
        async with self._slots:
            with self.left.writing(left.uid):
                try:
                    is_answered = not left.marked or await tools.marking.withdraw(*where)
                    if left.nominated:
                        await tools.pods.withdraw_nomination(*where, node=left.nominated)
                    if left.held:
                        await tools.pods.patch_pod_status(*where, conditions=[self._released()])
                    if left.gated:
                        await tools.pods.remove_gate(*where)
                except ApiError as error:
                    return self._failed(left, error)
        return True if is_answered else None

    def _failed(self, left: Left, error: ApiError) -> bool | None:
        where = f"{left.namespace}/{left.name}"
        log.warning("what a former mode left on a pod is still there", pod=where, error=str(error))
        if error.status == HTTPStatus.FORBIDDEN:
            self._rights.refused()
        return None if error.is_retriable else False

    def _released(self) -> Condition:
        self._serial += 1  # only a change wakes
        said = f"{MODE_CHANGED.message} [{self._serial}]"
        return held_condition("False", MODE_CHANGED.reason, said, self._clock.wall())
