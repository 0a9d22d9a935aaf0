"""What every process knows of the manager's own cluster."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from api.dispatch import DispatchPlan
from api.jobs import TemplatedJob
from api.workloads import Workload
from controllers.multikueue.acting.stored_turns import StoredTurns
from runtime.mirror.changes import Changes
from runtime.mirror.objects import Objects
from runtime.mirror.resources import DISPATCH_PLANS, JOBS, WORKLOADS
from runtime.mirror.views import View, Views

__all__ = ["Mirrors"]


class Mirrors:
    """Live views. Everything runs on the event loop."""

    def __init__(self, views: Views) -> None:
        self.workloads: Final[Objects[Workload]] = Objects()
        self.jobs: Final[Objects[TemplatedJob]] = Objects()
        self.turns: Final = StoredTurns()
        self.workload_view: Final[View[Workload]] = views.watch(WORKLOADS, self.workloads)
        self.job_view: Final[View[TemplatedJob]] = views.watch(JOBS, self.jobs)
        self.turn_view: Final[View[DispatchPlan]] = views.watch(DISPATCH_PLANS, self.turns)
        self.views: Final[tuple[View[Any], ...]] = (self.workload_view, self.job_view, self.turn_view)
        self.changes: Final = Changes()
        for resource in (WORKLOADS, JOBS):
            self.changes.follow(views, resource)

    async def wait_synced(self) -> None:
        """Wait until all objects have been listed."""
        await asyncio.gather(*(view.wait_synced() for view in self.views))

    def workload(self, key: str) -> Workload | None:
        """The Workload of this key (`namespace/name`)."""
        namespace, _, name = key.partition("/")
        return self.workloads.get(namespace, name)

    def job_of(self, workload: Workload) -> TemplatedJob | None:
        """The Job that owns the Workload, if it exists and is not being deleted."""
        for owner in workload.metadata.owner_references or ():
            if owner.controller and owner.kind == "Job" and owner.api_version.startswith("batch/"):
                job = self.jobs.get(workload.metadata.namespace, owner.name)
                if job is not None and job.metadata.uid == owner.uid:
                    return job if job.metadata.deletion_timestamp is None else None
        return None
