"""Which gang is searched for next, and what the search tells about it.

`PlanningQueue` knows whose turn it is, `Decider` runs the search. What it has found is reported to the gang's life.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from math import inf
from typing import Final

import structlog

from api.clock import Clock
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.limits import namespaces_of
from controllers.gangs.lifecycle.observations import Decided, Failed, NotDecided, Relented
from controllers.gangs.mirror.pausing import namespaces
from controllers.gangs.planning.candidates import Candidates
from controllers.gangs.planning.decide import Decider
from controllers.gangs.planning.planning_queue import PlanningQueue, Turn
from controllers.gangs.planning.singles import Singles
from controllers.gangs.planning.verdicts import Verdicts

__all__ = ["Turns", "Waits"]

log = structlog.get_logger(__name__)

BACKS_OFF: Final = "it waits before its next attempt to evict"


class Turns:
    """The gangs that want a plan take turns."""

    def __init__(
        self,
        queue: PlanningQueue,
        candidates: Candidates,
        decider: Decider,
        verdicts: Verdicts,
        singles: Singles,
        gangs: Gangs,
        clock: Clock,
    ) -> None:
        self._queue, self._candidates, self._decider = queue, candidates, decider
        self._verdicts, self._singles = verdicts, singles
        self._gangs, self._clock = gangs, clock
        self._stopped: set[GroupKey] = set()
        """Gangs that budgets have stopped: they are searched for again when a budget changes."""

    # ---- who waits for a turn

    def enlist(self, gang: Gang) -> None:
        """The gang has come to this state. If it has no plan and wants one, it waits for its turn."""
        candidate = self._candidates.of(gang) if gang.life.plan is None else None
        if candidate is None:
            self._queue.remove(gang.key)
        else:
            self._queue.put(candidate)

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        self._queue.remove(key)
        self._stopped.discard(key)
        self._verdicts.forget(key)
        self._singles.forget(key)

    # ---- what may help those that wait

    def follow(self) -> None:
        """Follow the tables: room that has grown may help."""
        self._queue.follow()

    def freed(self, nodes: Collection[str] | None) -> None:
        """Something else that kept gangs off these nodes is over, such as a promise of room. None: off any node."""
        self._queue.freed(nodes)

    def budgets_changed(self) -> None:
        """A PodDisruptionBudget has changed."""
        self._queue.helped(self._stopped)

    def due_in(self) -> float:
        """Seconds until a gang becomes due; infinite if no gang waits for that."""
        seconds = self._queue.due_in()
        return inf if seconds is None else seconds

    # ---- a turn

    def next(self) -> Turn | None:
        """Whose turn it is; None if it is nobody's."""
        return self._queue.next()

    async def take(self, turn: Turn) -> None:
        """Search for the gang whose turn it is, and report what was found."""
        gang = self._gangs.get(turn.key)
        if gang is None:
            self._queue.remove(turn.key)
            return
        began = self._clock.monotonic()
        try:
            decided = await self._decide(gang, turn)
        except Exception:
            log.exception("a gang is passed over for now", group=gang.key)
            self._gangs.observe(gang, Failed())
            self._queue.told(turn, shared=False)
        else:
            self._note_stopped(gang.key, decided)
            self._gangs.observe(gang, decided)
            if gang.life.plan is None:
                self._queue.told(turn, shared=self._decider.is_shared(gang.key, decided))
        self._queue.spent(turn, self._clock.monotonic() - began)

    def _note_stopped(self, key: GroupKey, decided: Decided | NotDecided) -> None:
        if isinstance(decided, Decided) and decided.spec.stopped_by_pod_disruption_budgets:
            self._stopped.add(key)
        else:
            self._stopped.discard(key)

    async def _decide(self, gang: Gang, turn: Turn) -> Decided | NotDecided:
        former = gang.life.former
        barred = self._verdicts.why_barred(gang.key, gang.life) or ("" if turn.may_evict else BACKS_OFF)
        decide = partial(self._decider.decide, gang.key, barred=barred, in_vain=gang.life.vain > 0)
        decided = await decide()
        while not self._is_of_mode(gang.key, decided):
            decided = await decide()
        if isinstance(decided, NotDecided):
            return decided
        room = self._verdicts.room(gang.key, former) if former is not None else None
        limited = None
        if decided.spec.victims and not decided.observed:
            limited = self._gangs.limits.of(gang.key, namespaces_of(decided.spec))
        return replace(decided, room=room, only_free=not turn.may_evict, limited=limited)

    def _is_of_mode(self, key: GroupKey, decided: Decided | NotDecided) -> bool:
        """Whether the namespaces that it concerns have the modes that it was made for. Labels may have changed during
        the search."""
        if isinstance(decided, NotDecided):
            return True
        observes = self._gangs.modes.observes
        if decided.observed or observes(key[0]):
            return decided.observed == observes(key[0])
        return not any(map(observes, namespaces(decided.spec)))


class Waits:
    """What ends with time for gangs that want a plan: bars after evictions in vain, and wishes of single pods."""

    def __init__(self, gangs: Gangs, verdicts: Verdicts, singles: Singles) -> None:
        self._gangs, self._verdicts, self._singles = gangs, verdicts, singles

    def due_in(self) -> float:
        """See `controllers.gangs.timekeeping.Timed`."""
        return 0.0 if self._gangs.barred or len(self._singles) else inf

    def tick(self, *, trusted: bool) -> bool:
        """Report what has ended."""
        for key in list(self._gangs.barred):
            gang = self._gangs.get(key)
            if gang is not None and self._verdicts.relents(key, gang.life):
                self._gangs.observe(gang, Relented())
        for key in self._singles.expire():
            self._gangs.stir(key)
        return False
