"""All kinds that the manager sends to worker clusters."""

from __future__ import annotations

from typing import Final

from api.jobs import TemplatedJob
from api.meta import controller_reference
from api.workloads import Workload
from controllers.multikueue.kinds.batch_job import BATCH_JOB
from controllers.multikueue.kinds.kind import Kind

__all__ = ["kind_of", "why_no_adapter"]

KINDS: Final[dict[tuple[str, str], Kind]] = {(each.api_version, each.name): each for each in (BATCH_JOB,)}


def kind_of(workload: Workload) -> Kind | None:
    """The kind of the Workload's owner; None if it has none, or one that is not sent to other clusters."""
    owner = controller_reference(workload.metadata)
    return KINDS.get((owner.api_version, owner.kind)) if owner is not None else None


def why_no_adapter(workload: Workload, job: TemplatedJob | None) -> str:
    """Why no cluster can ever get the Workload, in Kueue's words; empty if one can. The check is Rejected for that.

    `job`: its owner, if it is known here. Of one that is not, only the kind decides.
    """
    owner, kind = controller_reference(workload.metadata), kind_of(workload)
    if owner is None:
        return "No multikueue adapter found"
    if kind is None:
        group, _, version = owner.api_version.rpartition("/")
        return f'No multikueue adapter found for owner kind "{group}/{version}, Kind={owner.kind}"'
    return kind.why_not(workload, job) if job is not None else ""
