"""Looks at Workloads that something has happened to, and starts the writes that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog

from api.backoff import Backoff
from api.workloads import EVICTED, QUOTA_RESERVED, Workload
from controllers.quota.life.around import Limits
from controllers.quota.life.draft import Event, Step
from controllers.quota.life.life import next_step
from controllers.quota.life.saying import Waiting
from controllers.quota.metrics import count
from controllers.quota.workloads.facts import Facts
from controllers.quota.workloads.following import Following
from controllers.quota.workloads.writer import Outcome, WorkloadWriter
from kube.breath import Breath
from kube.recorder import EventRecorder, Reference
from runtime.work.queue import KeyedQueue
from runtime.work.ranked_slots import Rank

__all__ = ["BACKOFF", "Looking"]

log = structlog.get_logger(__name__)

BACKOFF: Final = Backoff(1.0, 60.0)
CHANGES: Final[Rank] = (1,)
"""Rank of a write that gives quota back, or ends something."""
REASONS: Final[Rank] = (2,)
"""Rank of a write that only says why a Workload waits."""
REFUSED: Final = "PendingEvaluation"


class Looking:
    """One loop, in one term. Times are microseconds since 1970."""

    def __init__(
        self,
        facts: Facts,
        following: Following,
        recorder: EventRecorder,
        limits: Limits,
        look: KeyedQueue[str],
        now: Callable[[], int],
        not_evicted: Callable[[str, str, str], None],
    ) -> None:
        """`not_evicted`: tell a plan that a write to a Workload (key, UID) failed, and what the API server said."""
        self._facts, self._following, self._recorder = facts, following, recorder
        self._limits, self._look, self._now = limits, look, now
        self._not_evicted = not_evicted
        self._refusals: dict[str, tuple[str, int]] = {}
        """By key: the version of a Workload whose write was refused, and until when nothing is written to it."""

    async def run(self, writer: WorkloadWriter) -> None:
        """Look until cancelled."""
        while True:
            key = await self._look.get()
            breath = Breath()
            try:
                self._at(key, writer)
            except Exception:
                log.exception("a Workload is passed over for now", workload=key)
                self._look.retry(key)
            finally:
                self._look.done(key)
            if breath.is_due:
                await breath.take()

    def _at(self, key: str, writer: WorkloadWriter) -> None:
        workload, now = self._facts.workload(key), self._now()
        if workload is None:
            self._look.forget(key)
            self._refusals.pop(key, None)
            self._following.let_in(key)
            return
        if writer.is_busy(key):
            return  # it is looked at once it is written
        if self._is_refused(key, workload, now):
            return
        self._following.let_in(key)
        around = self._facts.around(workload)
        step = next_step(workload, around, self._limits, now)
        if step.again is not None:
            self._look.add_after(key, max(0.001, (step.again - now) / 1_000_000))
        if step.writes_status or step.deactivates:
            is_urgent = around.preempting is not None and around.preempting.is_due
            writer.start(step, REASONS if _only_says(workload, step) and not is_urgent else CHANGES)

    def _is_refused(self, key: str, workload: Workload, now: int) -> bool:
        """Whether a write was refused a moment ago, and the Workload is as it was."""
        version, until = self._refusals.get(key, ("", 0))
        if now < until and version == workload.metadata.resource_version:
            self._look.add_after(key, (until - now) / 1_000_000)
            return True
        self._refusals.pop(key, None)
        return False

    def done(self, key: str, step: Step, outcome: Outcome) -> None:
        """A write has ended."""
        if outcome.written:
            self._look.forget(key)
            self._facts.wrote(key, self._now())
            self._tell(step)
            self._look.add(key)
        elif outcome.error:
            if step.workload.status.admission is not None:
                self._refused(key, step, outcome.error)
            self._not_evicted(key, step.workload.metadata.uid, outcome.answer)
            wait = round(self._look.retry(key) * 1_000_000)
            self._refusals[key] = step.workload.metadata.resource_version, self._now() + wait
        else:
            self._look.add_after(key, outcome.wait)

    def _refused(self, key: str, step: Step, error: str) -> None:
        """An admission was refused. Another try follows, and not at once."""
        if any(each.what == "QuotaReserved" for each in step.counted):
            self._following.hold_back(key)
            self._facts.says(key, Waiting(REFUSED, f"the API server refused the admission: {error}"))

    def _tell(self, step: Step) -> None:
        for counted in step.counted:
            count(counted)
        for event in step.events:
            reference = _reference(event.about or step.workload)
            self._recorder.event(
                reference, event.type, event.reason, _action(event), event.note, series=event.series
            )


def _only_says(before: Workload, step: Step) -> bool:
    """Whether the write changes only why a Workload waits."""
    return not step.deactivates and set(step.status) <= {"conditions"} and not _evicts(before, step)


def _evicts(before: Workload, step: Step) -> bool:
    return _states(before) != _states(step.workload)


def _states(workload: Workload) -> dict[str, str]:
    """The conditions that decide about quota, without those that are missing or False."""
    kinds = (QUOTA_RESERVED, EVICTED, "Admitted", "Requeued", "DeactivationTarget")
    return {
        each.type: each.status
        for each in workload.status.conditions or ()
        if each.type in kinds and each.status == "True"
    }


def _reference(workload: Workload) -> Reference:
    return Reference.of(workload.api_version, workload.kind, workload.metadata)


def _action(event: Event) -> str:
    return "Admission" if event.type == "Normal" else "Waiting"
