"""RayClusters, and what makes them.

Sources: ray-operator/controllers/ray of ray-project/kuberay: GetWorkerGroupDesiredReplicas in utils/util.go, the
containers that common/pod.go and common/job.go add, and rayjob_controller.go. Its settings count as they are by
default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from api.foreign_owners import RayCluster, RayClusterSpec, WorkerGroup
from api.meta import ObjectMeta, OwnerReference
from api.pod_owners import RayJob, RayService
from nodes.groups.kinds.batch import job_labels
from nodes.groups.kinds.kind import (
    SUSPENDED,
    Awaited,
    Grouping,
    Kind,
    Part,
    Queueing,
    count_or,
    reference,
    suspended,
)

__all__ = ["RAY_CLUSTER", "RAY_JOB", "RAY_SERVICE"]

VERSION: Final = "ray.io/v1"


def _container(name: str, requests: Mapping[str, str], limits: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": dict(requests), "limits": dict(limits)}}


SMALL: Final = {"cpu": "200m", "memory": "256Mi"}
WAITING: Final = _container("wait-gcs-ready", SMALL, SMALL)
"""The init container of workers that waits for the head."""
SCALING: Final = {"cpu": "500m", "memory": "512Mi"}
AUTOSCALER: Final = _container("autoscaler", SCALING, SCALING)
SUBMITTER: Final = _container(
    "ray-job-submitter", {"cpu": "500m", "memory": "200Mi"}, {"cpu": "1", "memory": "1Gi"}
)


def _cluster(
    meta: ObjectMeta,
    spec: RayClusterSpec,
    path: str,
    owner: OwnerReference,
    beside_head: tuple[dict[str, Any], ...],
) -> Iterator[Part]:
    """The head and the workers. With the autoscaler, a gang needs the workers that it starts with at least.

    `beside_head`: containers that are added to the head.
    """
    head, scales = spec.head_group_spec, bool(spec.enable_in_tree_autoscaling)
    yield Part(
        "head",
        1,
        f"{path}.headGroupSpec.template",
        head.template if head is not None else None,
        owner,
        f"{meta.name}-head",
        _labels(owner, "head", "headgroup"),
        sidecars=beside_head,
        injected={"containers": [_autoscaler(spec)]} if scales else {},
    )
    for at, each in enumerate(spec.worker_group_specs or ()):
        hosts = count_or(each.num_of_hosts, 1)
        yield Part(
            each.group_name.lower(),
            _workers(each) * hosts,
            f"{path}.workerGroupSpecs[{at}].template",
            each.template,
            owner,
            f"{meta.name}-{each.group_name}",
            _labels(owner, "worker", each.group_name),
            together=_workers(each, scales=scales) * hosts,
            injected={"initContainers": [WAITING]},
        )


def _labels(owner: OwnerReference, role: str, group: str) -> dict[str, str]:
    return {"ray.io/cluster": owner.name, "ray.io/node-type": role, "ray.io/group": group}


def _workers(group: WorkerGroup, *, scales: bool = False) -> int:
    """The replicas that its operator creates, within their bounds. The upper bound counts more than the lower one."""
    if group.suspend:
        return 0
    least = group.min_replicas or 0
    wanted = least if scales else max(least, group.replicas or 0)
    return wanted if group.max_replicas is None else min(wanted, group.max_replicas)


def _autoscaler(spec: RayClusterSpec) -> dict[str, Any]:
    options = spec.autoscaler_options
    own = options.resources if options is not None else None
    return {**AUTOSCALER, "resources": own} if own is not None else AUTOSCALER


# ---- RayCluster


def _ray_cluster(item: RayCluster, _: int) -> Iterator[Part]:
    meta = item.metadata
    yield from _cluster(meta, item.spec, "spec", reference(VERSION, "RayCluster", meta.name, meta), ())


RAY_CLUSTER: Final = Kind(
    kind="RayCluster",
    api_version=VERSION,
    type=RayCluster,
    parts=_ray_cluster,
    queueing=Queueing.WHOLE,
    held=suspended,
    grouping=Grouping.ASKED,
    plural="rayclusters",
)


# ---- RayJob


def _ray_job(item: RayJob, _: int) -> Iterator[Part]:
    """The pods of its cluster, and one that submits the job to it."""
    meta, spec = item.metadata, item.spec
    owner = reference(VERSION, "RayCluster", meta.name, meta, "cluster")
    if spec.ray_cluster_spec is not None and not spec.cluster_selector:
        beside = (SUBMITTER,) if spec.submission_mode == "SidecarMode" else ()
        yield from _cluster(meta, spec.ray_cluster_spec, "spec.rayClusterSpec", owner, beside)
    if spec.submission_mode == "K8sJobMode":
        template = spec.submitter_pod_template
        yield Part(
            "submitter",
            1,
            "spec.submitterPodTemplate",
            template,
            reference("batch/v1", "Job", meta.name, meta, "submitter"),
            f"{meta.name}-submitter",
            job_labels(meta.name),
            apart=True,
            after=Awaited("its cluster is ready"),
            default={"spec": {"containers": [SUBMITTER]}},
        )


RAY_JOB: Final = Kind(
    kind="RayJob",
    api_version=VERSION,
    type=RayJob,
    parts=_ray_job,
    queueing=Queueing.WHOLE,
    held=suspended,
)


# ---- RayService


def _ray_service(item: RayService, _: int) -> Iterator[Part]:
    """The pods of one cluster. While it is upgraded there may be two."""
    meta = item.metadata
    owner = reference(VERSION, "RayCluster", meta.name, meta, "cluster")
    yield from _cluster(meta, item.spec.ray_cluster_config, "spec.rayClusterConfig", owner, ())


RAY_SERVICE: Final = Kind(
    kind="RayService",
    api_version=VERSION,
    type=RayService,
    parts=_ray_service,
    queueing=Queueing.WHOLE,
    held=lambda item: SUSPENDED if item.spec.ray_cluster_config.suspend else None,
)
