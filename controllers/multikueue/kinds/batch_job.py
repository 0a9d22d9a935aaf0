"""Jobs (batch/v1), single ones and those whose pods are a gang."""

from __future__ import annotations

from typing import Any, Final

from api.jobs import TemplatedJob
from api.multikueue import CONTROLLER_NAME
from api.workloads import Workload
from controllers.multikueue.kinds.bodies import job_body
from controllers.multikueue.kinds.job_status import mirrored_status, status_patch
from controllers.multikueue.kinds.kind import Json
from controllers.multikueue.life.seen import Mark
from quota.cycle.unsupported import ELASTIC_JOB

__all__ = ["BATCH_JOB", "BatchJob"]


class BatchJob:
    """See `Kind`."""

    api_version: Final = "batch/v1"
    name: Final = "Job"

    def why_not(self, workload: Workload, job: TemplatedJob) -> str:
        """See `Kind.why_not`."""
        by = job.spec.managed_by or ""
        if by != CONTROLLER_NAME:
            wanted = f'Expecting spec.managedBy to be "{CONTROLLER_NAME}" not "{by}"'
            return f"The owner is not managed by Kueue: {wanted}"
        for each in (workload, job):
            if (each.metadata.annotations or {}).get(ELASTIC_JOB) == "true":
                return f"metadata.annotations[{ELASTIC_JOB}]: elastic Jobs are not sent to other clusters"
        return ""

    def body(self, job: Json, workload: Json, mark: Mark, origin: str) -> dict[str, Any]:
        """See `Kind.body`."""
        return job_body(job, workload, mark, origin)

    def mirrored(self, job: Json, remote: Json | None) -> dict[str, Any] | None:
        """See `Kind.mirrored`."""
        status = mirrored_status(job, remote)
        return status_patch(job, status) if status is not None else None


BATCH_JOB: Final = BatchJob()
