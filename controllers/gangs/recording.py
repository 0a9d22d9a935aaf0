"""Carries out what a gang's life asks for where nothing is done for gangs: plans and PodGroups are written."""

from __future__ import annotations

from functools import partial

import structlog

from controllers.gangs.gangs import Gang
from controllers.gangs.lifecycle.effects import (
    CannotSchedule,
    CountObserved,
    Effect,
    Judge,
    Record,
    SayAstray,
    SayKept,
    SayScheduled,
    Wake,
)
from controllers.gangs.metrics import OBSERVED
from controllers.gangs.plan_acts import Records
from controllers.gangs.planning.singles import Singles
from controllers.gangs.telling.events import Reporter
from controllers.gangs.writing.writes import Work, Writes

__all__ = ["Recording"]

log = structlog.get_logger(__name__)


class Recording:
    """There are no events, and no pod is held that would be brought back."""

    def __init__(self, records: Records, reporter: Reporter, singles: Singles, writes: Writes) -> None:
        """`singles`: single pods that want a plan. One decision is enough for them."""
        self._records, self._reporter, self._singles, self._writes = records, reporter, singles, writes

    def perform(self, gang: Gang) -> None:
        """Carry out everything that is to do for the gang."""
        while gang.todo:
            work = self._begin(gang, gang.todo.pop(0))
            if work is not None:
                self._writes.put(gang.key, work)

    def _begin(self, gang: Gang, effect: Effect) -> Work | None:
        match effect:
            case Record():
                self._singles.planned(gang.key)
                return partial(self._records.record, gang, effect)
            case CountObserved(outcome, state):
                OBSERVED.labels(outcome, state).inc()
                self._singles.planned(gang.key)
            case SayScheduled():
                return partial(self._reporter.scheduled, gang.key)
            case CannotSchedule() | Judge() | SayAstray() | SayKept() | Wake():
                pass  # they are events, or bring back pods that were held
            case _:
                log.error(
                    "a life asks for more than to observe", group=gang.key, effect=type(effect).__name__
                )
        return None
