"""The table of kinds that make pods: those whose pods are known, and those that are only known by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from api.foreign_owners import OwnerObject
from nodes.groups.kinds.batch import CRON_JOB, JOB, JOB_SET, TRAIN_JOB
from nodes.groups.kinds.kind import Kind
from nodes.groups.kinds.ray import RAY_CLUSTER, RAY_JOB, RAY_SERVICE
from nodes.groups.kinds.services import (
    DEPLOYMENT,
    LEADER_WORKER_SET,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    WORKLOAD,
)
from nodes.groups.kinds.training import TRAINING_JOBS

__all__ = ["KINDS", "OWNERS", "UNREAD", "kind_of", "why_unread"]

KINDS: Final = (
    POD,
    JOB,
    CRON_JOB,
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    JOB_SET,
    LEADER_WORKER_SET,
    *TRAINING_JOBS,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    TRAIN_JOB,
    WORKLOAD,
)
"""The kinds whose pods are known."""

OWNERS: Final[Mapping[type[OwnerObject], Kind]] = {each.type: each for each in KINDS if each.plural}
"""Those whose objects are watched, because their pods may be a group, by their type."""

UNREAD: Final[Mapping[tuple[str, str], str]] = {
    ("apps", "DaemonSet"): "it has one on each node that its template allows, so the nodes decide how many",
    ("argoproj.io", "CronWorkflow"): "",
    ("argoproj.io", "Rollout"): "",
    ("argoproj.io", "Workflow"): "its steps come one after the other",
    ("batch.volcano.sh", "Job"): "Volcano makes them, and its own scheduler looks for their nodes",
    ("flink.apache.org", "FlinkDeployment"): "",
    ("flow.volcano.sh", "JobFlow"): "",
    ("grove.io", "PodCliqueSet"): "",
    ("kubeflow.org", "Experiment"): "",
    ("kubeflow.org", "Notebook"): "",
    ("kubeflow.org", "Trial"): "",
    ("kubernetes.dask.org", "DaskCluster"): "",
    ("kubernetes.dask.org", "DaskJob"): "",
    ("kubevirt.io", "VirtualMachine"): "",
    ("kubevirt.io", "VirtualMachineInstance"): "",
    ("kubevirt.io", "VirtualMachineInstanceReplicaSet"): "",
    ("nvidia.com", "DynamoGraphDeployment"): "",
    ("ray.io", "RayCronJob"): "they come at its next time",
    ("serving.knative.dev", "Configuration"): "its requests decide how many there are",
    ("serving.knative.dev", "Revision"): "its requests decide how many there are",
    ("serving.knative.dev", "Service"): "its requests decide how many there are",
    ("serving.kserve.io", "InferenceService"): "",
    ("serving.kserve.io", "LLMInferenceService"): "",
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): "they come at its next time",
    ("sparkoperator.k8s.io", "SparkApplication"): "its driver makes the executors",
    ("tekton.dev", "PipelineRun"): "its tasks come one after the other",
    ("tekton.dev", "TaskRun"): "",
    ("workload.codeflare.dev", "AppWrapper"): "submit the objects in it",
}
"""Kinds that make pods in a way that is not known here, by API group and kind, with what should be said of it."""
WITHOUT_PODS: Final = frozenset(
    {
        ("kueue.x-k8s.io", "Workload"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
        ("trainer.kubeflow.org", "TrainingRuntime"),
    }
)
"""Kinds that have templates of pods which somebody else makes."""
DEEPEST: Final = 30
"""Levels of an object that are searched for a template."""

BY_NAME: Final = {(each.api_version, each.kind): each for each in KINDS}


def kind_of(api_version: str, kind: str) -> Kind | None:
    """The row of a kind; None if its pods are not known."""
    return BY_NAME.get((api_version, kind))


def why_unread(api_version: str, kind: str, spec: Any) -> str:
    """A sentence about an object of another kind that makes pods; empty if it makes none.

    `spec`: what it has there. An object of an unknown kind makes pods if its spec has the template of some.
    """
    group = api_version.rpartition("/")[0]
    title = f"{kind} of {api_version}"
    if (group, kind) in UNREAD:
        said = UNREAD[group, kind]
        return (
            f"Its pods are not known: how a {title} makes them is not modelled{f' ({said})' if said else ''}."
        )
    if (group, kind) in WITHOUT_PODS:
        return ""
    path = next(_templates(spec, "spec", DEEPEST), "")
    if not path:
        return ""
    return f"Its pods are not known: it has a template of pods in {path}, and {title} is not a known kind."


def _templates(value: Any, path: str, depth: int) -> Iterator[str]:
    """Paths of templates of pods, and of specs of pods that stand in no template."""
    if not depth:
        return
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from _templates(each, f"{path}[{at}]", depth - 1)
    elif isinstance(value, dict):
        if _has_containers(value):
            yield path.removesuffix(".spec") if path.endswith("emplate.spec") else path
        for name, each in value.items():
            yield from _templates(each, f"{path}.{name}", depth - 1)


def _has_containers(spec: dict[Any, Any]) -> bool:
    containers = spec.get("containers")
    return isinstance(containers, list) and any(isinstance(each, dict) for each in containers)
