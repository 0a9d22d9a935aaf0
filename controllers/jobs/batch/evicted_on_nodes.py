"""Jobs whose gang the nodes plane evicts for another: they stop first, and their Workloads give their quota back.

The Workload is evicted, and everything else follows from that: the Job is suspended, and its pods go. So nothing has to
be remembered once the eviction is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from api.clock import Clock
from api.jobs import TemplatedJob
from api.workloads import PREEMPTED, QUOTA_RESERVED, Workload
from controllers.jobs.batch.mirrors import KIND, JobMirrors
from controllers.jobs.job_state import finished, is_suspended
from quota.state.workloads import is_evicting, is_true
from runtime.exchange.owner_stops import NotStoppedError, PodOwner
from runtime.listeners import Listenable
from runtime.mirror.changes import joined

__all__ = ["EvictedOnNodes"]

PATIENT_SECONDS: Final = 30.0
"""A Job that is not suspended after so long keeps its pods for now."""


class EvictedOnNodes(Listenable[[str]]):
    """Implements `runtime.exchange.owner_stops.Runner`, in one term. Listeners get the key of each Job that must
    stop."""

    def __init__(self, mirrors: JobMirrors, clock: Clock) -> None:
        super().__init__()
        self._mirrors, self._clock = mirrors, clock
        self._why: dict[str, str] = {}
        """By UID of a Job that must stop."""
        self._moved = asyncio.Event()

    async def stop(self, owners: Collection[PodOwner], message: str) -> None:
        """See `OwnerStops.stop`. Owners of other kinds are passed over."""
        jobs = [each for each in owners if each.kind == KIND and each.api_version.startswith("batch/")]
        for each in jobs:
            if self._runs(each):
                self._why[each.uid] = message
                self._tell(_key(each))
        deadline = self._clock.monotonic() + PATIENT_SECONDS
        while running := [each for each in jobs if self._runs(each)]:
            self._moved.clear()
            left = deadline - self._clock.monotonic()
            try:
                async with asyncio.timeout(left):
                    await self._moved.wait()
            except TimeoutError:
                names = ", ".join(f"{each.namespace}/{each.name}" for each in running)
                raise NotStoppedError(f"Jobs that are not suspended yet: {names}") from None

    def changed(self, kind: str, key: str) -> None:
        """An object has changed."""
        del key
        if kind == TemplatedJob.__name__:
            self._moved.set()

    def why(self, job: TemplatedJob, workload: Workload) -> tuple[str, str] | None:
        """Reason and message, if the Workload must be evicted for that. It is forgotten once that is so."""
        message = self._why.get(job.metadata.uid)
        if message is None:
            return None
        if is_evicting(workload) or not is_true(workload, QUOTA_RESERVED):
            del self._why[job.metadata.uid]
            return None
        return PREEMPTED, f"Preempted on nodes: {message}"

    def _runs(self, owner: PodOwner) -> bool:
        """Whether this is a Job in a queue that may create pods."""
        job = self._mirrors.job(_key(owner))
        if job is None or job.metadata.uid != owner.uid or finished(job) is not None:
            return False
        return not is_suspended(job)


def _key(owner: PodOwner) -> str:
    return joined((owner.namespace, owner.name))
