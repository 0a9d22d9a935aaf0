"""Kubeflow's training jobs.

Sources: pkg/controller.v1 of kubeflow/training-operator, pkg/controller of kubeflow/mpi-operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from api.foreign_owners import (
    JAXJob,
    MPIJob,
    MPIJobV2,
    MXJob,
    PaddleJob,
    PyTorchJob,
    ReplicaSpec,
    TFJob,
    TrainingJob,
    XGBoostJob,
)
from nodes.groups.kinds.batch import job_labels
from nodes.groups.kinds.kind import (
    SUSPENDED,
    Awaited,
    Grouping,
    Held,
    Kind,
    Part,
    Queueing,
    count_or,
    reference,
)

__all__ = ["TRAINING_JOBS"]

KUBEFLOW: Final = "kubeflow.org"
LAUNCHER: Final = "Launcher"
LABELS: Final = "training.kubeflow.org"
MASTERS: Final = ("Master", "Chief")
ORDER: Final = ("Launcher", "Chief", "Master", "Scheduler", "Server", "PS", "Worker", "Evaluator")
"""The order of Kueue's pod sets. The first one that names a PriorityClass says the priority."""


def _parts(api_version: str, kind: str, field: str, job: TrainingJob, _: int) -> Iterator[Part]:
    """The pods of each role. The launcher of the mpi-operator is a Job, so its pod belongs to that Job."""
    meta = job.metadata
    owner = reference(api_version, kind, meta.name, meta)
    late = job.spec.launcher_creation_policy == "WaitForWorkersReady"
    for role, each in sorted(_roles(job).items(), key=_place):
        name, labels, its = f"{meta.name}-{role.lower()}", _labels(job, kind, role), owner
        apart = role == LAUNCHER and isinstance(job, MPIJobV2)
        if apart:
            its = reference("batch/v1", "Job", name, meta, name)
            labels |= job_labels(name)
        after = Awaited("its workers are ready") if role == LAUNCHER and late else None
        path = f"spec.{field}.{role}.template"
        count = count_or(each.replicas, 1)
        yield Part(role.lower(), count, path, each.template, its, name, labels, apart=apart, after=after)


def _roles(job: TrainingJob) -> dict[str, ReplicaSpec]:
    spec = job.spec
    return next(filter(None, (
        spec.pytorch_replica_specs, spec.tf_replica_specs, spec.mpi_replica_specs, spec.xgb_replica_specs,
        spec.paddle_replica_specs, spec.jax_replica_specs, spec.mx_replica_specs,
    )), {})  # fmt: skip


def _labels(job: TrainingJob, kind: str, role: str) -> dict[str, str]:
    """What its operator adds to the pods of the role. The mpi-operator names roles in another way."""
    by_mpi = isinstance(job, MPIJobV2)
    labels = {
        f"{LABELS}/operator-name": "mpi-operator" if by_mpi else f"{kind.lower()}-controller",
        f"{LABELS}/job-name": job.metadata.name,
    }
    if not by_mpi:
        labels[f"{LABELS}/replica-type"] = role.lower()
    if by_mpi or isinstance(job, MPIJob):
        labels[f"{LABELS}/job-role"] = role.lower()
    elif role in MASTERS:
        labels[f"{LABELS}/job-role"] = "master"
    return labels


def _place(item: tuple[str, ReplicaSpec]) -> tuple[int, str]:
    role = item[0]
    return (ORDER.index(role) if role in ORDER else len(ORDER)), role


def _held(job: TrainingJob) -> Held | None:
    policy = job.spec.run_policy
    return SUSPENDED if policy is not None and policy.suspend else None


def _least(job: TrainingJob) -> int | None:
    policy = job.spec.run_policy.scheduling_policy if job.spec.run_policy is not None else None
    return policy.min_available if policy is not None else None


def _priority_class(job: TrainingJob) -> str:
    policy = job.spec.run_policy.scheduling_policy if job.spec.run_policy is not None else None
    return policy.priority_class if policy is not None else ""


def _kind(struct: type[TrainingJob], field: str, kind: str = "", version: str = "v1") -> Kind:
    name = kind or struct.__name__
    api_version = f"{KUBEFLOW}/{version}"
    parts: Callable[[TrainingJob, int], Iterator[Part]] = partial(_parts, api_version, name, field)
    return Kind(
        kind=name,
        api_version=api_version,
        type=struct,
        parts=parts,
        queueing=Queueing.WHOLE,
        held=_held,
        least=_least,
        priority_class=_priority_class,
        grouping=Grouping.YES,
        plural=f"{name.lower()}s",
    )


TRAINING_JOBS: Final = (
    _kind(JAXJob, "jaxReplicaSpecs"),
    _kind(MPIJob, "mpiReplicaSpecs"),
    _kind(MXJob, "mxReplicaSpecs"),
    _kind(PaddleJob, "paddleReplicaSpecs"),
    _kind(PyTorchJob, "pytorchReplicaSpecs"),
    _kind(TFJob, "tfReplicaSpecs"),
    _kind(XGBoostJob, "xgbReplicaSpecs"),
    _kind(MPIJobV2, "mpiReplicaSpecs", "MPIJob", "v2beta1"),
)
