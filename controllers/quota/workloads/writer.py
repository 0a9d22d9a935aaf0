"""The one writer of Workloads: one write at a time for each, on condition of the state that the rules looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.workloads import EVICTED, PREEMPTED, Workload
from controllers.quota.life.draft import Step
from controllers.quota.life.evicting import QUOTA_EXCEEDED, until_written
from kube.client import MERGE_PATCH, ApiClient, get_or_none
from kube.errors import ApiError
from kube.retry import Retry
from kube.sender import FencedError, Sender
from quota.state.workloads import is_evicting, key_of, true_condition
from runtime.failpoints import failpoint
from runtime.mirror.resources import KUEUE
from runtime.mirror.watched_quota import WatchedQuota
from runtime.work.background import stop_all
from runtime.work.ranked_slots import Rank, RankedSlots

__all__ = ["Outcome", "WorkloadWriter", "path_of"]

log = structlog.get_logger(__name__)

LOOK_BACKOFF: Final = Backoff(0.2, 5.0)
TOO_MANY: Final = 429
CONFLICT: Final = 409
GONE: Final = 404
GONE_SECONDS: Final = 1.0
"""The watch shows later that the Workload is gone. It is not looked at again before."""


class Outcome(NamedTuple):
    """The result of a write."""

    written: bool
    error: str = ""
    """Why it was refused; empty if the object has changed meanwhile, or is gone."""
    wait: float = 0.0
    """Seconds of patience that the API server asked for."""
    answer: str = ""
    """The error without names of objects, for those who may not see them."""


FAULT: Final = Outcome(False, "a fault of ours", answer="a fault of ours")
Done = Callable[[str, Step, Outcome], None]


class WorkloadWriter:
    """Writes steps in tasks of its own. A Workload counts as the step says from `start` on, except that
    quota which it gives back is free only when that is written. Made for one term."""

    def __init__(
        self,
        client: ApiClient,
        quota: WatchedQuota,
        sender: Sender,
        slots: RankedSlots,
        clock: Clock,
        done: Done,
        is_called_off: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`done` is called once a Workload may be written again. `is_called_off`: whether no plan needs the eviction of
        a Workload (key) any longer. That is asked right before the write."""
        self._client, self._quota, self._sender = client, quota, sender
        self._slots, self._clock, self._done = slots, clock, done
        self._is_called_off = is_called_off
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._starting = ""
        """Key of the Workload that is about to be written."""
        self.begun = 0
        """How many writes have begun."""

    def is_ours(self, key: str) -> bool:
        """Whether what changes about the Workload now is our own write."""
        return key in self._tasks or key == self._starting

    def is_busy(self, key: str) -> bool:
        """Whether the Workload is being written."""
        return key in self._tasks

    def __len__(self) -> int:
        """How many are being written."""
        return len(self._tasks)

    @property
    def has_room(self) -> bool:
        """Whether at least half of the slots are free."""
        return 2 * len(self._tasks) <= self._slots.size

    def start(self, step: Step, rank: Rank) -> None:
        """Write the step of a Workload that is not busy. Raises QuotaError if it cannot be counted so."""
        key = key_of(step.workload)
        if key in self._tasks:
            raise RuntimeError(f"Workload {key} is being written")
        before, self._starting = self._quota.state.workloads[key], key
        try:
            self._quota.assume(until_written(before, step.workload))
        finally:
            self._starting = ""
        self.begun += 1
        self._tasks[key] = asyncio.create_task(self._run(key, before, step, rank), name=f"write {key}")

    async def close(self) -> None:
        """Stop, wherever that is. Nothing is assumed any longer."""
        await stop_all(self._tasks.values())
        self._quota.resolve_all()

    async def _run(self, key: str, before: Workload, step: Step, rank: Rank) -> None:
        outcome = FAULT
        try:
            async with self._slots.held(rank):
                outcome = await self._write(key, before, step)
        except Exception:
            log.exception("a Workload was not written", workload=key)
        finally:
            del self._tasks[key]
            self._quota.resolve(key)
        self._done(key, step, outcome)

    async def _write(self, key: str, before: Workload, step: Step) -> Outcome:
        try:
            await failpoint("quota.before_write")
            if self._must_not_evict(before, step):
                return Outcome(False)
            if step.writes_status:
                before = await self._patch(before, "/status", {"status": step.status})
            if step.deactivates:
                await failpoint("quota.before_deactivate")
                await self._patch(before, "", {"spec": {"active": False}})
            await failpoint("quota.after_write")
        except FencedError:
            return Outcome(False)
        except ApiError as error:
            return await self._failed(step, before, error)
        return Outcome(True)

    def _must_not_evict(self, before: Workload, step: Step) -> bool:
        """Whether the step evicts the Workload for quota, and since that was decided a pause has begun, or room has
        come back."""
        if is_evicting(before) or not is_evicting(step.workload):
            return False
        conditions = step.workload.status.conditions or ()
        reason = next((each.reason for each in conditions if each.type == EVICTED), "")
        is_for_plan = (
            true_condition(step.workload, PREEMPTED) is not None
        )  # not so if its pods are preempted on nodes
        if is_for_plan and self._is_called_off(key_of(before)):
            return True
        is_paused = self._quota.pauses.any and bool(self._quota.pauses.why(before.metadata.namespace))
        return is_paused and reason in (PREEMPTED, QUOTA_EXCEEDED)

    async def _patch(self, before: Workload, subresource: str, change: Mapping[str, Any]) -> Workload:
        """Change the Workload if it still is in this state. Returns the new state. Raises ApiError."""
        meta = before.metadata
        body = msgspec.json.encode({"metadata": {"resourceVersion": meta.resource_version}, **change})
        answer = await self._sender.send(
            "workload", "PATCH", path_of(before) + subresource, body=body, content_type=MERGE_PATCH
        )
        after = msgspec.json.decode(answer, type=Workload)
        self._quota.workloads.apply(after)
        return after

    async def _failed(self, step: Step, before: Workload, error: ApiError) -> Outcome:
        """What the Workload is now: the write may have come through although no answer came back."""
        if error.status == TOO_MANY:
            self._slots.halve()
            return Outcome(False, "", error.retry_after or 1.0)
        key, found = key_of(before), await self._look(before)
        if found is not None and _shows(found, step):
            return Outcome(True)  # an attempt without an answer came through
        if error.status in (CONFLICT, GONE):
            return Outcome(False, "", 0.0 if found is not None else GONE_SECONDS)
        log.warning("a Workload was not written", workload=key, error=str(error))
        return Outcome(False, str(error), answer=f"{error.status or 'no answer'} {error.reason}")

    async def _look(self, before: Workload) -> Workload | None:
        """The Workload as it is. None if it is gone, or this term is over."""
        key, retry = key_of(before), Retry(LOOK_BACKOFF)
        while self._sender.may_send:
            try:
                found = await get_or_none(self._client, path_of(before))
            except ApiError as error:
                wait = retry.failed(error)
                log.warning("a Workload is not known", workload=key, error=str(error), wait=round(wait, 2))
                await asyncio.sleep(wait)
                continue
            if found is None:
                return None
            workload = msgspec.json.decode(found, type=Workload)
            self._quota.workloads.apply(workload)
            return workload
        return None


def _shows(workload: Workload, step: Step) -> bool:
    """Whether the Workload is as the step wants it."""
    wanted = step.workload
    if workload.metadata.uid != wanted.metadata.uid or workload.status != wanted.status:
        return False
    return not (step.deactivates and workload.spec.active)


def path_of(workload: Workload) -> str:
    """The URL path of the object."""
    return f"{KUEUE}/namespaces/{workload.metadata.namespace}/workloads/{workload.metadata.name}"
