"""What `reprieve release` says of several clusters: it frees one cluster, and neither a manager nor its workers alone
can undo what they have made together."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from api.meta import ObjectMeta, Struct
from api.multikueue import CONTROLLER_NAME, ORIGIN_LABEL
from api.words import counted
from cli.leaving.sweep import all_of
from kube.client import ApiClient
from runtime.mirror.resources import WORKLOADS

__all__ = ["warnings"]

JOBS: Final = "/apis/batch/v1/jobs"
PAGE: Final = "See docs/leaving.md, Several clusters."


class SentStatus(Struct):
    """The part of a Workload's status that matters here."""

    cluster_name: str | None = None


class SentWorkload(Struct):
    """The part of a Workload that matters here."""

    metadata: ObjectMeta
    status: SentStatus = msgspec.field(default_factory=SentStatus)


class SentJobSpec(Struct):
    """The part of a JobSpec that matters here."""

    managed_by: str | None = None


class SentJob(Struct):
    """The part of a Job that matters here."""

    metadata: ObjectMeta
    spec: SentJobSpec = msgspec.field(default_factory=SentJobSpec)


async def warnings(client: ApiClient, successor: str) -> list[str]:
    """Lines about Workloads that run in worker clusters, Jobs that nobody runs here, and copies of other managers.

    `successor`: Kubernetes or Kueue. Kueue goes on with all of them. Raises ApiError.
    """
    if successor == "Kueue":
        return []
    clusters, origins, jobs = Counter[str](), Counter[str](), 0
    async for workloads in all_of(client, WORKLOADS.path, SentWorkload):
        for each in workloads:
            clusters.update([each.status.cluster_name] if each.status.cluster_name else [])
            origins.update(_origin(each.metadata))
    async for page in all_of(client, JOBS, SentJob):
        jobs += sum(each.spec.managed_by == CONTROLLER_NAME for each in page)
    said = []
    if clusters:
        text = f"{counted(clusters.total(), 'Workload')} may run in worker clusters ({_by_name(clusters)})"
        said.append(f"Warning: {text}. Their Jobs there go on, and nobody shows their status here. {PAGE}")
    if jobs:
        text = f"{counted(jobs, 'Job')} of spec.managedBy {CONTROLLER_NAME}"
        said.append(f"Warning: {text} stay as they are: Kubernetes does not run them. {PAGE}")
    if origins:
        text = f"{counted(origins.total(), 'Workload')} of managers in other clusters (origin {_by_name(origins)})"
        said.append(f"Warning: {text} stay, with their Jobs: only their manager may delete them. {PAGE}")
    return said


def _origin(meta: ObjectMeta) -> list[str]:
    origin = (meta.labels or {}).get(ORIGIN_LABEL)
    return [origin] if origin is not None else []


def _by_name(counts: Counter[str]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
