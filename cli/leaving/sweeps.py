"""What of ours can hold up an object, and how the object is freed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

import msgspec

from api.core import PodSchedulingGate
from api.groups import POD_GROUP_LABEL, SCHEDULING_GATE
from api.integration import QUEUE_NAME_LABEL
from api.kueue import RESOURCE_IN_USE
from api.meta import ObjectMeta, Struct
from api.multikueue import is_copy
from cli.leaving.sweep import Sweep, all_of
from controllers.gangs.lifecycle.stored_plan import FINALIZER
from kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiClient
from kube.errors import ApiError
from kube.finalizers import has_finalizer, remove_finalizer
from kube.sender import Sender
from runtime.mirror.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    PLANS,
    PODS,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from runtime.work.pod_gates import gate_removal

__all__ = ["ACTIVE_PLANS", "DELETED_WORKLOADS", "QUEUE_FINALIZERS", "gates", "is_of_group", "suspended_jobs"]

JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
JOBS: Final = "/apis/batch/v1/jobs"


class Some(Struct):
    """Any object."""

    metadata: ObjectMeta


class GatedPodSpec(Struct):
    """The part of a PodSpec that matters here."""

    scheduling_gates: list[PodSchedulingGate] | None = None


class GatedPod(Struct):
    """The part of a Pod that matters here."""

    metadata: ObjectMeta
    spec: GatedPodSpec = msgspec.field(default_factory=GatedPodSpec)


class SuspendedJobSpec(Struct):
    """The part of a JobSpec that matters here."""

    suspend: bool | None = None
    managed_by: str | None = None


class SuspendedJob(Struct):
    """The part of a Job that matters here."""

    metadata: ObjectMeta
    spec: SuspendedJobSpec = msgspec.field(default_factory=SuspendedJobSpec)


# ---- pods


def gates(gate: str, concerns: Callable[[GatedPod], bool] = lambda _: True) -> Sweep[GatedPod]:
    """Remove the scheduling gate of this name from the pods that it `concerns`."""

    async def free(sender: Sender, path: str, pod: GatedPod) -> bool:
        patch = gate_removal(pod.metadata.uid, gate)
        return await _patch(sender, "pod gate", path, patch, STRATEGIC_MERGE_PATCH)

    return Sweep(
        kind="Pod",
        path=PODS.path,
        type=GatedPod,
        is_held=lambda pod: concerns(pod) and gate in {each.name for each in pod.spec.scheduling_gates or ()},
        free=free,
        done="the gate is removed" if gate == SCHEDULING_GATE else f"the gate {gate} is removed",
        left="the pod has the gate" if gate == SCHEDULING_GATE else f"the pod has the gate {gate}",
        query={"fieldSelector": "spec.nodeName="},  # a pod with gates has no node
    )


def is_of_group(pod: GatedPod) -> bool:
    """Whether the pod is a member of one of our PodGroups."""
    return POD_GROUP_LABEL in (pod.metadata.labels or {})


# ---- Jobs


async def suspended_jobs(client: ApiClient) -> Sweep[SuspendedJob]:
    """Resume every Job that waits for quota: it is suspended, and names a queue or has a Workload. Raises ApiError.

    Not those that are for worker clusters: Kubernetes does not run them. Not copies of a manager in another cluster: it
    may let the Job run elsewhere.
    """
    owners = await _owners_of_workloads(client)

    async def free(sender: Sender, path: str, job: SuspendedJob) -> bool:
        meta = {"uid": job.metadata.uid, "resourceVersion": job.metadata.resource_version}
        return await _patch(sender, "job", path, {"metadata": meta, "spec": {"suspend": False}}, MERGE_PATCH)

    return Sweep(
        kind="Job",
        path=JOBS,
        type=SuspendedJob,
        is_held=lambda job: job.spec.suspend is True and _is_run_here(job) and _is_queued(job, owners),
        free=free,
        done="resumed",
        left="the Job is suspended",
    )


async def _owners_of_workloads(client: ApiClient) -> set[str]:
    found: set[str] = set()
    async for page in all_of(client, WORKLOADS.path, Some):
        for workload in page:
            found |= {each.uid for each in workload.metadata.owner_references or () if each.controller}
    return found


def _is_run_here(job: SuspendedJob) -> bool:
    """Whether the Job controller of Kubernetes runs it, and its suspension is up to this cluster."""
    return job.spec.managed_by in (None, JOB_CONTROLLER) and not is_copy(job.metadata)


def _is_queued(job: SuspendedJob, owners: Collection[str]) -> bool:
    return QUEUE_NAME_LABEL in (job.metadata.labels or {}) or job.metadata.uid in owners


# ---- Workloads, queues and plans


def _finalized(kind: str, path: str, finalizer: str) -> Sweep[Some]:
    """Remove the finalizer."""

    async def free(sender: Sender, path: str, item: Some) -> bool:
        return await remove_finalizer(sender, path, item.metadata, finalizer)

    return Sweep(
        kind=kind,
        path=path,
        type=Some,
        is_held=lambda item: has_finalizer(item.metadata, finalizer),
        free=free,
        done="the finalizer is removed",
        left="the object has the finalizer",
    )


QUEUE_FINALIZERS: Final = tuple(
    _finalized(kind, path, RESOURCE_IN_USE)
    for kind, path in (
        ("Workload", WORKLOADS.path),
        ("ClusterQueue", CLUSTER_QUEUES.path),
        ("ResourceFlavor", RESOURCE_FLAVORS.path),
        ("AdmissionCheck", ADMISSION_CHECKS.path),
    )
)
"""In this order: what others wait for goes first."""
ACTIVE_PLANS: Final = _finalized("PreemptionPlan", PLANS.path, FINALIZER)
"""Plans that were being carried out."""


async def _delete(sender: Sender, path: str, item: Some) -> bool:
    if has_finalizer(item.metadata, RESOURCE_IN_USE):
        await remove_finalizer(sender, path, item.metadata, RESOURCE_IN_USE)
    body = msgspec.json.encode({"preconditions": {"uid": item.metadata.uid}})
    try:
        await sender.send("workload deletion", "DELETE", path, body=body)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True


DELETED_WORKLOADS: Final = Sweep(  # but for copies: their manager deletes them, or makes them anew
    kind="Workload",
    path=WORKLOADS.path,
    type=Some,
    is_held=lambda workload: not is_copy(workload.metadata),
    free=_delete,
    done="deleted",
    left="the Workload is there",
)


async def _patch(sender: Sender, what: str, path: str, patch: dict[str, Any], content_type: str) -> bool:
    try:
        await sender.send(what, "PATCH", path, body=msgspec.json.encode(patch), content_type=content_type)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True
