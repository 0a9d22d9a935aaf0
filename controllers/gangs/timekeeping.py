"""What waits for the clock alone: things that end with time, and looks that must not wait for an event."""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import partial
from typing import Final

from controllers.gangs.gangs import Gangs
from controllers.gangs.lifecycle.observations import Relented
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.performing import Hands
from controllers.gangs.planning.exclusions import Exclusions
from controllers.gangs.planning.partial_gangs import PartialGangs
from controllers.gangs.planning.refusals import Refusals
from controllers.gangs.planning.sparing import Sparing
from controllers.gangs.planning.stopped_gangs import StoppedGangs
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.waking.parked import Why
from controllers.gangs.writing.writes import Key

__all__ = ["TICK_SECONDS", "Timekeeper"]

TICK_SECONDS: Final = 1.0
"""How often to look while something waits for the clock."""

HOUSEKEEPING: Final[Key] = ("", "housekeeping")
NOMINATIONS: Final[Key] = ("", "nominations")
"""Work of our own, which is not about one object. No namespace has an empty name."""


class Timekeeper:
    """Called about once a second. It walks over what waits for time, and over nothing else."""

    def __init__(
        self,
        hands: Hands,
        gangs: Gangs,
        reservations: Reservations,
        evidence: Evidence,
        waiting: WaitingPods,
        refusals: Refusals,
        exclusions: Exclusions,
        sparing: Sparing,
        partial_gangs: PartialGangs,
        stopped_gangs: StoppedGangs,
        now: Callable[[], float],
    ) -> None:
        """`now`: monotonic seconds."""
        self._hands, self._gangs, self._reservations = hands, gangs, reservations
        self._evidence, self._waiting = evidence, waiting
        self._refusals, self._exclusions, self._sparing = refusals, exclusions, sparing
        self._partial_gangs, self._stopped_gangs, self._now = partial_gangs, stopped_gangs, now

    def next_tick(self) -> float:
        """Seconds until the next call is worth while on a quiet cluster."""
        kept: tuple[Sized, ...] = (
            self._reservations,
            self._waiting.nominated,
            self._refusals,
            self._exclusions,
            self._sparing,
            self._gangs.barred,
            self._hands.singles,
            self._partial_gangs,
            self._stopped_gangs,
        )
        asking = self._hands.asking
        waits = self._hands.waker.behind or asking.parks(Why.NOT_READY) or asking.parked_gangs
        if waits or any(map(len, kept)):
            return TICK_SECONDS
        return max(TICK_SECONDS, self._hands.housekeeping.next_sweep())

    def tick(self, *, trusted: bool) -> bool:
        """Returns whether something has ended that kept gangs off nodes."""
        self._evidence.expire()
        expired = (self._refusals.expire(self._now()), self._exclusions.expire(), self._sparing.expire())
        for key in list(self._gangs.barred):
            gang = self._gangs.get(key)
            if gang is not None and self._hands.verdicts.relents(key, gang.life):
                self._gangs.observe(gang, Relented())
        for key in self._hands.singles.expire():
            self._gangs.stir(key)
        self._hands.waker.retry(self._hands.writes)
        if trusted:
            self._let_go()
            self._put_in_order()
            self._stopped_gangs.look()
            for gang in self._partial_gangs.due():
                self._hands.writes.put(gang.key, partial(self._partial_gangs.resolve, gang))
        return any(expired)

    def _let_go(self) -> None:
        """Wake pods that were turned down and would pass now, although no plan has ended because of which they
        would be woken: they came when the mirror could not be trusted, or the group changed between two looks.
        """
        waker = self._hands.waker
        self._hands.asking.reason_passed(Why.NOT_READY)
        for key in waker.kept:
            if key is not None and self._gangs.lets_pass(key):
                wake = partial(waker.wake, key, "Released", "nothing holds it back any longer")
                self._hands.writes.put(key, wake)
        for key in self._hands.asking.parked_gangs:
            if self._gangs.lets_pass(key):
                self._hands.asking.let_go(key)

    def _put_in_order(self) -> None:
        """Nominations that nobody uses, and stored plans. A round that is still being written is not begun again."""
        hands = self._hands
        if hands.writes.is_idle(NOMINATIONS):
            hands.writes.put(
                NOMINATIONS, partial(hands.nominations.withdraw_left, self._gangs.keeps_nominations)
            )
        if hands.housekeeping.next_sweep() <= 0.0 and hands.writes.is_idle(HOUSEKEEPING):
            hands.writes.put(HOUSEKEEPING, self._sweep)

    async def _sweep(self) -> None:
        gangs = (self._gangs.get(key) for key in self._gangs.planned)
        plans = (gang.life.plan for gang in gangs if gang is not None)
        carried_out = {(plan.namespace, plan.name) for plan in plans if plan is not None}
        await self._hands.housekeeping.sweep(carried_out, self._hands.evictions.at_work)
