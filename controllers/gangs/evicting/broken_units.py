"""Units that kube-scheduler has broken: it evicted some of the pods, and no plan of ours evicts them.

Filter and preempt prevent it. So it happens only while we do not answer, or where the scheduler knows of a pod before
we do. See docs/decisions/0104.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from api.clock import Clock
from controllers.gangs.keys import GroupKey
from controllers.gangs.lifecycle.modes import Modes
from controllers.gangs.metrics import UNITS_BROKEN
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.scheduler_marks import SchedulerMarks
from nodes.groups.forms import is_native
from nodes.state.columns.flags import TERMINATING

__all__ = ["BrokenUnits"]

GRACE_SECONDS: Final = 2.0
"""The scheduler evicts the pods of one preemption one after the other. A unit that it evicts whole is not broken."""

Say = Callable[[GroupKey, list[str], int], None]
"""Called with the unit, the names of the pods that the scheduler has evicted, and the number of those that run."""


class BrokenUnits:
    """Says it once for each unit in a term."""

    def __init__(
        self,
        shown: SchedulerMarks,
        roster: Roster,
        is_victim: Callable[[str], bool],
        say: Say,
        clock: Clock,
        modes: Modes,
    ) -> None:
        """`is_victim`: whether a plan goes on, or ends at this moment, that evicts the pod (UID). `modes`: units of
        observed namespaces are not protected."""
        self._shown, self._roster, self._is_victim = shown, roster, is_victim
        self._say, self._clock, self._modes = say, clock, modes
        self._pods: dict[str, tuple[GroupKey, str]] = {}
        """By UID, pods of units that the scheduler has marked: the unit, and the name. They are not gone yet."""
        self._evicted: dict[GroupKey, list[str]] = {}
        """By unit, names of the pods that the scheduler has evicted."""
        self._due: dict[GroupKey, float] = {}
        """When to look at the unit, in monotonic seconds."""
        self._said: set[str] = set()
        """UIDs of the units."""

    def begin(self) -> None:
        """The term begins: look at all that the scheduler evicts."""
        for uid in self._shown:
            self.pod_changed(uid)

    def pod_changed(self, uid: str) -> None:
        """The mirror has a new state of a pod, or it is gone."""
        pod = self._roster.view(uid) if uid in self._shown else None
        known = self._pods.get(uid)
        if pod is not None and known is None:
            unit = self._roster.all_mode_group(uid)
            if unit is None or is_native(self._roster.group(unit)) or self._is_victim(uid):
                return
            if self._modes.observes(unit[0]):
                return
            known = self._pods[uid] = unit, pod.name
        if known is None or (pod is not None and not pod.flags & TERMINATING):
            return
        if pod is None:
            del self._pods[uid]
        if pod is None and self._roster.is_known(uid):
            return  # the mark was withdrawn
        unit, name = known
        evicted = self._evicted.setdefault(unit, [])
        if name not in evicted:
            evicted.append(name)
            self._due[unit] = self._clock.monotonic() + GRACE_SECONDS

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        return max(0.0, min(self._due.values(), default=inf) - self._clock.monotonic())

    def tick(self, *, trusted: bool) -> bool:
        """Say what is broken."""
        if trusted:
            now = self._clock.monotonic()
            for unit in [unit for unit, due in self._due.items() if due <= now]:
                del self._due[unit]
                self._look(unit, self._evicted.pop(unit))
        return False

    def _look(self, unit: GroupKey, evicted: list[str]) -> None:
        group = self._roster.group(unit)
        running = sum(uid not in self._shown for uid in self._roster.running_members(unit))
        if group is None or not running or group.metadata.uid in self._said:
            return
        self._said.add(group.metadata.uid)
        UNITS_BROKEN.inc()
        self._say(unit, sorted(evicted), running)
