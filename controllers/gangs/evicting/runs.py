"""One walk of the evictor through the victims of a plan, and what it asks before it acts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from api.plans import Victim, VictimPod
from controllers.gangs.lifecycle.life import ActivePlan
from runtime.work.ranked_slots import Rank, RankedSlots

__all__ = ["AT_ONCE", "Permission", "Run", "Unit"]

AT_ONCE: Final = 16
"""Pods of one plan that are evicted at a time, to begin with: enough to hide the API server's latency. The pace of the
evictor says how many there are later (`runtime.work.pace`)."""


class Permission(Protocol):
    """What the evictor asks before it acts, and where it reports the result."""

    @property
    def insists(self) -> bool:
        """Whether a right that is missing is waited for: the plan has ended, and its begun units are finished."""

    def may_begin(self, victim: Victim) -> bool:
        """Whether the unit may begin. Asked right before its first pod."""

    def is_paused(self) -> bool:
        """Whether nobody may be evicted for the plan now. Asked right before each deletion is sent."""

    def why_stays(self, pod: VictimPod) -> str:
        """Why the pod of a unit that has begun must stay; empty if it may be evicted. Asked right before each pod."""

    async def begin(self, victims: Sequence[Victim]) -> None:
        """Store that these units have begun, or are about to. Raises an error if it cannot be stored."""

    def refused(self, pod: VictimPod, why: str) -> None:
        """The API server refuses the deletion of the pod."""

    def over_budget(self, why: str) -> None:
        """A budget that is respected does not allow any longer what the plan has left to evict."""

    async def stopped(self, victim: Victim, left: Sequence[VictimPod], why: str) -> None:
        """The unit stops here. `left`: its pods that stay, all of them if none was evicted."""


@dataclass(slots=True)
class Unit:
    victim: Victim
    begun: bool = False
    why: str = ""
    """Why it has stopped: the first of its pods that stays."""
    was_marked: bool = False
    """Whether a pod may have had our mark before the preparation."""
    preparation: asyncio.Task[bool] | None = None
    """It stores that the unit has begun, and marks its pods. Returns whether the unit may begin."""

    @property
    def is_ahead(self) -> bool:
        """Whether its pods may be marked, and none of them is evicted yet."""
        return self.preparation is not None and not (self.begun or self.why)

    def stop(self, why: str) -> None:
        """One of its pods stays."""
        self.why = self.why or why


@dataclass(slots=True)
class Run:
    """One walk through victims."""

    plan: ActivePlan
    permission: Permission
    rank: Rank
    """Of the plan, among those that evict at the same time."""
    unlisted: deque[Victim]
    """Units of several pods that are not stored as begun, in order."""
    listed: set[str] = field(default_factory=set)
    """Units (UIDs) that are stored as begun, and have no pod that was touched."""
    complete: bool = True
    """Every deletion has been asked for."""
    stopped: bool = False
    """No unit begins any longer."""
    paused: bool = False
    """A pause has stopped it. No pod of a unit that has begun is evicted any longer, either."""
    listing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while units are stored as begun."""
    slots: RankedSlots = field(default_factory=lambda: RankedSlots(AT_ONCE))
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    coming: deque[Unit] = field(default_factory=deque)
    """Those that have not begun, in order."""
    prepared: list[Unit] = field(default_factory=list)
    """Units of several pods that have a preparation, in order."""
    units: list[Unit] = field(default_factory=list)
    """Those that have begun."""
    evicted: set[str] = field(default_factory=set)
    """Pods (UIDs) whose deletion was asked for."""

    def all_tasks(self) -> list[asyncio.Task[Any]]:
        """Of deletions and preparations."""
        return [*self.tasks, *(unit.preparation for unit in self.prepared if unit.preparation is not None)]

    def stop(self) -> None:
        """A pod stays, or evictions are paused: begin no other unit."""
        self.complete, self.stopped = False, True

    def may_begin(self, victim: Victim) -> bool:
        """Whether the unit may begin. Asked again after each write."""
        return not self.stopped and self.permission.may_begin(victim)
