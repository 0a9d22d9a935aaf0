"""What every process knows of the manager's own cluster."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from api.dispatch import DispatchPlan
from api.jobs import TemplatedJob
from api.meta import controller_reference
from api.workloads import Workload
from controllers.multikueue.acting.stored_turns import StoredTurns
from quota.state.workloads import key_of
from runtime.mirror.changes import Changes
from runtime.mirror.objects import Objects
from runtime.mirror.resources import DISPATCH_PLANS, JOBS, WORKLOADS
from runtime.mirror.views import View, Views

__all__ = ["Mirrors"]


class _Workloads(Objects[Workload]):
    """Workloads, and which of them each Job owns."""

    def __init__(self) -> None:
        super().__init__()
        self._owner: dict[str, str] = {}
        self._owned: dict[str, set[str]] = {}

    def upsert(self, item: Workload) -> bool:
        """See `Store`."""
        key = key_of(item)
        owner = controller_reference(item.metadata)
        self._set(key, f"{item.metadata.namespace}/{owner.name}" if owner is not None else "")
        return super().upsert(item)

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        self._set(f"{namespace}/{name}", "")
        return super().delete(namespace, name)

    def owned_by(self, job: str) -> tuple[str, ...]:
        """Keys of the Workloads of the Job of this key."""
        return tuple(sorted(self._owned.get(job, ())))

    def _set(self, key: str, owner: str) -> None:
        before = self._owner.get(key, "")
        if before == owner:
            return
        if before:
            self._owned[before].discard(key)
            if not self._owned[before]:
                del self._owned[before]
            del self._owner[key]
        if owner:
            self._owner[key] = owner
            self._owned.setdefault(owner, set()).add(key)


class Mirrors:
    """Live views. Everything runs on the event loop."""

    def __init__(self, views: Views) -> None:
        self.workloads: Final = _Workloads()
        self.jobs: Final[Objects[TemplatedJob]] = Objects()
        self.turns: Final = StoredTurns()
        self.workload_view: Final[View[Workload]] = views.watch(WORKLOADS, self.workloads)
        self.job_view: Final[View[TemplatedJob]] = views.watch(JOBS, self.jobs)
        self.turn_view: Final[View[DispatchPlan]] = views.watch(DISPATCH_PLANS, self.turns)
        self.views: Final[tuple[View[Any], ...]] = (self.workload_view, self.job_view, self.turn_view)
        self.changes: Final = Changes()
        self.changes.follow(views, WORKLOADS)
        self.changes.follow(views, JOBS)

    async def wait_synced(self) -> None:
        """Wait until all objects have been listed."""
        await asyncio.gather(*(view.wait_synced() for view in self.views))

    def workload(self, key: str) -> Workload | None:
        """The Workload of this key (`namespace/name`)."""
        namespace, _, name = key.partition("/")
        return self.workloads.get(namespace, name)

    def workloads_of(self, job: str) -> tuple[str, ...]:
        """Keys of the Workloads that the Job of this key owns."""
        return self.workloads.owned_by(job)

    def job_of(self, workload: Workload) -> TemplatedJob | None:
        """The Job that owns the Workload, if it exists and is not being deleted."""
        owner = controller_reference(workload.metadata)
        if owner is None or owner.kind != "Job" or not owner.api_version.startswith("batch/"):
            return None
        job = self.jobs.get(workload.metadata.namespace, owner.name)
        if job is None or job.metadata.uid != owner.uid:
            return None
        return job if job.metadata.deletion_timestamp is None else None
