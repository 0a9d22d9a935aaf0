"""The JobSet that a TrainJob of Kubeflow's trainer becomes: the template of its runtime, with what the TrainJob says.

Source: `trainer.kubeflow.org/v1alpha1` of kubeflow/trainer. What changes neither the number of pods nor what they ask
for is left out: commands, images, environment variables, and so `numProcPerNode`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from api.validation import FieldError
from nodes.groups.kinds.batch import JOB_SET, TRAIN_JOB
from nodes.groups.made_pods import Written, list_in, number_in, object_in

__all__ = [
    "TRAINER_VERSION",
    "ClusterTrainingRuntime",
    "RuntimeName",
    "TrainingRuntime",
    "job_set_of",
    "runtime_of",
]

TRAINER_VERSION: Final = TRAIN_JOB.api_version
STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
"""The label of the template of a replicated job that says which part of a TrainJob it is."""
TRAINER: Final = "trainer"
INITIALIZERS: Final = ("dataset-initializer", "model-initializer")
NODE: Final = "node"
LAUNCHER: Final = "launcher"
OVERRIDES: Final = ("podSpecOverrides", "podTemplateOverrides", "templateOverrides", "runtimePatches")
"""The fields in which versions of the trainer have had overrides of whole templates."""


class TrainingRuntime(Written, kw_only=True):
    """A runtime for the TrainJobs of its namespace."""


class ClusterTrainingRuntime(TrainingRuntime, kw_only=True):
    """A runtime for all TrainJobs."""


KINDS_OF_RUNTIMES: Final = ("TrainingRuntime", "ClusterTrainingRuntime")


class RuntimeName(NamedTuple):
    """A runtime, as a TrainJob refers to it."""

    kind: str
    namespace: str
    """Empty for a ClusterTrainingRuntime."""
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def runtime_of(job: Written) -> RuntimeName:
    """The runtime of a TrainJob. Raises FieldError."""
    ref = object_in(job.spec or {}, "runtimeRef", "spec")
    group, kind = (
        ref.get("apiGroup") or TRAINER_VERSION.partition("/")[0],
        ref.get("kind") or "ClusterTrainingRuntime",
    )
    if not ref.get("name"):
        raise FieldError("spec.runtimeRef.name", "is missing")
    if f"{group}/v1alpha1" != TRAINER_VERSION or kind not in KINDS_OF_RUNTIMES:
        raise FieldError("spec.runtimeRef", f"{kind}.{group} is not known as a runtime")
    return RuntimeName(kind, job.metadata.namespace if kind == "TrainingRuntime" else "", str(ref["name"]))


def job_set_of(job: Written, runtime: TrainingRuntime) -> Written:
    """The JobSet. Raises FieldError."""
    spec = job.spec or {}
    for field in OVERRIDES:
        if spec.get(field):
            raise FieldError(
                f"spec.{field}", "is not looked at here: submit the JobSet in place of the TrainJob"
            )
    its = runtime.spec or {}
    template = object_in(its, "template", "spec")
    about = object_in(template, "metadata", "spec.template")
    meta = msgspec.structs.replace(
        job.metadata,
        labels={**object_in(about, "labels", "spec.template.metadata"), **object_in(spec, "labels", "spec")},
        annotations={
            **object_in(about, "annotations", "spec.template.metadata"),
            **object_in(spec, "annotations", "spec"),
        },
    )
    body = object_in(template, "spec", "spec.template")
    replicated = list(
        _replicated_jobs(body, object_in(its, "mlPolicy", "spec"), object_in(spec, "trainer", "spec"))
    )
    return Written(
        api_version=JOB_SET.api_version,
        kind="JobSet",
        metadata=meta,
        spec={**body, "replicatedJobs": replicated, "suspend": spec.get("suspend")},
    )


def _replicated_jobs(
    body: Mapping[str, Any], policy: Mapping[str, Any], trainer: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    mpi = object_in(policy, "mpi", "spec.mlPolicy")
    launcher_is_node = mpi.get("runLauncherAsNode") is True
    resources = object_in(trainer, "resourcesPerNode", "spec.trainer")
    for at, each in enumerate(list_in(body, "replicatedJobs", "spec.template.spec")):
        path = f"spec.template.spec.replicatedJobs[{at}]"
        template = object_in(each, "template", path)
        step = object_in(object_in(template, "metadata", path), "labels", path).get(STEP)
        spec = object_in(template, "spec", f"{path}.template")
        count = number_in(spec, "parallelism", 1, f"{path}.template.spec")
        if step == TRAINER and policy:
            count = number_in(policy, "numNodes", 1, "spec.mlPolicy")
        if "mpi" in policy and each.get("name") == NODE:
            nodes = number_in(trainer, "numNodes", 0, "spec.trainer")
            count = (max(nodes - 1, 1) if launcher_is_node else nodes) if nodes else count
        elif "mpi" not in policy and step == TRAINER:
            count = number_in(trainer, "numNodes", count, "spec.trainer")
        of_nodes = (NODE, LAUNCHER) if launcher_is_node else (NODE,)
        pods = _with_resources(
            object_in(spec, "template", f"{path}.template.spec"), resources, of_nodes, path
        )
        made = {**spec, "parallelism": count, "completions": count, "template": pods}
        replicas = 1 if step in (TRAINER, *INITIALIZERS) else each.get("replicas")
        yield {**each, "replicas": replicas, "template": {**template, "spec": made}}


def _with_resources(
    template: Mapping[str, Any], resources: Mapping[str, Any], names: tuple[str, ...], path: str
) -> Mapping[str, Any]:
    """The template of pods whose containers of these names ask for this."""
    if not (resources.get("requests") or resources.get("limits")):
        return template
    its = object_in(template, "spec", f"{path}.template.spec.template")
    containers = [
        {**each, "resources": resources} if each.get("name") in names else each
        for each in list_in(its, "containers", f"{path}.template.spec.template.spec")
    ]
    return {**template, "spec": {**its, "containers": containers}}
