"""What every process knows of Jobs and of what they depend on."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from api.core import Namespace
from api.integration import JOB_FRAMEWORK
from api.jobs import JOB_CONTROLLER, TemplatedJob
from api.meta import ObjectMeta
from api.multikueue import CONTROLLER_NAME, prebuilt_workload
from api.selectors import selects
from api.workloads import Workload
from controllers.jobs.batch.workload_of import queue_of, workload_name
from controllers.jobs.configuration import JobsConfiguration
from controllers.jobs.supplies import Supplies
from kube.reflector import Resource
from runtime.mirror.changes import Changes
from runtime.mirror.objects import Objects
from runtime.mirror.resources import (
    JOBS,
    NAMESPACES,
    PRIORITY_CLASSES,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from runtime.mirror.views import View, Views

__all__ = ["JobMirrors", "controller_of"]

KIND: Final = "Job"
MANAGED_BY: Final = (None, JOB_CONTROLLER, CONTROLLER_NAME)
"""Who runs the pods of Jobs that are managed here. A manager of several clusters has them run in another one."""


class _Jobs(Objects[TemplatedJob]):
    """Templates are kept as bytes of their own: otherwise each would keep the whole answer that it came with."""

    def upsert(self, item: TemplatedJob) -> bool:
        """See `runtime.mirror.views.Store`."""
        item.spec.template = item.spec.template.copy()
        return super().upsert(item)


class JobMirrors:
    """Live views. Everything runs on the event loop."""

    def __init__(self, views: Views, settings: JobsConfiguration) -> None:
        self._settings = settings
        self.jobs: Final[Objects[TemplatedJob]] = _Jobs()
        self.workloads: Final[Objects[Workload]] = Objects()
        self.supplies: Final = Supplies(views)
        self._namespaces: Objects[Namespace] = Objects()
        self.job_view: Final = views.watch(JOBS, self.jobs)
        self.workload_view: Final = views.watch(WORKLOADS, self.workloads)
        self.views: Final[tuple[View[Any], ...]] = (
            self.job_view,
            self.workload_view,
            *self.supplies.views,
            views.watch(NAMESPACES, self._namespaces),
        )
        self.changes: Final = Changes()
        followed: tuple[Resource[Any], ...] = (
            JOBS,
            WORKLOADS,
            NAMESPACES,
            PRIORITY_CLASSES,
            WORKLOAD_PRIORITY_CLASSES,
        )
        for resource in followed:
            self.changes.follow(views, resource)

    async def wait_synced(self) -> None:
        """Wait until all objects have been listed."""
        await asyncio.gather(*(view.wait_synced() for view in self.views))

    def job(self, key: str) -> TemplatedJob | None:
        """The Job of this key (`namespace/name`), if it is managed."""
        namespace, _, name = key.partition("/")
        job = self.jobs.get(namespace, name)
        return job if job is not None and self._is_managed(job) else None

    def has_job(self, key: str) -> bool:
        """Whether there is a Job of this key that is not being deleted, managed or not."""
        namespace, _, name = key.partition("/")
        job = self.jobs.get(namespace, name)
        return job is not None and job.metadata.deletion_timestamp is None

    def workload(self, key: str) -> Workload | None:
        """The Workload of this key."""
        namespace, _, name = key.partition("/")
        return self.workloads.get(namespace, name)

    def workload_of(self, job: TemplatedJob) -> Workload | None:
        """The Workload that has the name of the Job's."""
        return self.workloads.get(job.metadata.namespace, workload_name(job))

    def has_user(self, workload: ObjectMeta) -> bool:
        """Whether a Job names the Workload as its prebuilt one."""
        return any(
            each.metadata.namespace == workload.namespace
            and prebuilt_workload(each.metadata) == workload.name
            for each in self.jobs
        )

    def owner_of(self, meta: ObjectMeta) -> TemplatedJob | None:
        """The Job that owns the Workload, managed or not."""
        job = self.jobs.get(meta.namespace, controller_of(meta))
        uids = {each.uid for each in meta.owner_references or ()}
        return job if job is not None and job.metadata.uid in uids else None

    def _is_managed(self, job: TemplatedJob) -> bool:
        """A Job that had a queue stays managed when it loses the label: nobody leaves a queue with its quota."""
        if JOB_FRAMEWORK not in self._settings.frameworks or job.spec.managed_by not in MANAGED_BY:
            return False
        if queue_of(job) or self.workload_of(job) is not None:
            return True
        return self._settings.manage_jobs_without_queue_name and self._is_selected(job.metadata.namespace)

    def _is_selected(self, name: str) -> bool:
        namespace = self._namespaces.get("", name)
        labels = (namespace.metadata.labels if namespace is not None else None) or {}
        return selects(self._settings.managed_jobs_namespace_selector.selector, labels)


def controller_of(meta: ObjectMeta) -> str:
    """The name of the Job that controls the object; empty if no Job does."""
    for each in meta.owner_references or ():
        if each.controller and each.kind == KIND and each.api_version.startswith("batch/"):
            return each.name
    return ""
