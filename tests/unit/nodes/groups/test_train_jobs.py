"""The JobSets that TrainJobs become."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from api.meta import ObjectMeta
from api.validation import FieldError
from nodes.groups.kinds.batch import JOB_SET
from nodes.groups.made_pods import Written, made_pods
from nodes.groups.train_jobs import RuntimeName, TrainingRuntime, job_set_of, runtime_of

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
ASKED = {"requests": {"cpu": "7"}}


def replicated(name: str, step: str = "", container: str = "node", **fields: Any) -> dict[str, Any]:
    spec = fields.pop("spec", {})
    pods = {
        "spec": {
            "containers": [{"name": container, "resources": {"requests": {"cpu": "1"}}}, {"name": "more"}]
        }
    }
    labels = {"labels": {STEP: step}} if step else {}
    return {"name": name, "template": {"metadata": labels, "spec": {**spec, "template": pods}}, **fields}


def runtime(*jobs: dict[str, Any], policy: dict[str, Any] | None = None, **template: Any) -> TrainingRuntime:
    spec: dict[str, Any] = {"template": {"spec": {"replicatedJobs": list(jobs)}, **template}}
    if policy is not None:
        spec["mlPolicy"] = policy
    return TrainingRuntime(metadata=ObjectMeta(name="r"), spec=spec)


def job(**spec: Any) -> Written:
    meta = ObjectMeta(name="t", namespace="ns", uid="u")
    return Written(kind="TrainJob", metadata=meta, spec={"runtimeRef": {"name": "r"}, **spec})


def counts(its: Written, of: TrainingRuntime) -> dict[str, int]:
    return {each.pod_set: each.count for each in made_pods(JOB_SET, job_set_of(its, of))}


def asks(its: Written, of: TrainingRuntime) -> dict[str, list[Any]]:
    """The CPUs that each container of a pod asks for."""
    made = {each.pod_set: each.pod.spec.containers or [] for each in made_pods(JOB_SET, job_set_of(its, of))}
    return {
        name: [
            each.resources.requests["cpu"] if each.resources and each.resources.requests else None
            for each in containers
        ]
        for name, containers in made.items()
    }


TORCH = runtime(
    replicated("dataset", "dataset-initializer", container="init", replicas=4),
    replicated("node", "trainer", replicas=3, spec={"parallelism": 9, "completions": 9}),
    policy={"numNodes": 2, "torch": {}},
)
BARE = runtime(replicated("node", "trainer", spec={"parallelism": 9}), replicated("beside", replicas=2))


@pytest.mark.parametrize(
    ("of", "trainer", "pods"),
    [
        (TORCH, {}, {"dataset": 1, "node": 2}),
        (TORCH, {"numNodes": 5, "numProcPerNode": "auto"}, {"dataset": 1, "node": 5}),
        (BARE, {}, {"node": 9, "beside": 2}),
        (BARE, {"numNodes": 3}, {"node": 3, "beside": 2}),
    ],
)
def test_the_number_of_nodes(of: TrainingRuntime, trainer: dict[str, Any], pods: dict[str, int]) -> None:
    assert counts(job(trainer=trainer), of) == pods


@pytest.mark.parametrize(
    ("launcher_is_node", "nodes", "pods"),
    [
        (False, None, {"launcher": 1, "node": 1}),
        (False, 4, {"launcher": 1, "node": 4}),
        (True, 4, {"launcher": 1, "node": 3}),
        (True, 1, {"launcher": 1, "node": 1}),
    ],
)
def test_a_launcher_may_be_a_node(launcher_is_node: bool, nodes: int | None, pods: dict[str, int]) -> None:
    policy = {"numNodes": 1, "mpi": {"runLauncherAsNode": launcher_is_node}}
    of = runtime(replicated("launcher", "trainer", container="launcher"), replicated("node"), policy=policy)
    trainer = {"numNodes": nodes, "resourcesPerNode": ASKED}
    assert counts(job(trainer=trainer), of) == pods
    asked = {name: cpus[0] for name, cpus in asks(job(trainer=trainer), of).items()}
    assert asked == {"launcher": "7" if launcher_is_node else "1", "node": "7"}


def test_only_the_container_of_the_node_asks_for_something_else() -> None:
    asked = asks(job(trainer={"resourcesPerNode": ASKED}), TORCH)
    assert asked == {"dataset": ["1", None], "node": ["7", None]}


def test_the_job_set_has_its_name_and_the_labels_of_both() -> None:
    of = runtime(
        replicated("node", "trainer"), metadata={"labels": {"a": "1"}, "annotations": {"x": "1", "y": "1"}}
    )
    made = job_set_of(job(annotations={"y": "2"}, suspend=True), of)
    meta = made.metadata
    assert (made.kind, meta.namespace, meta.name) == ("JobSet", "ns", "t")
    assert (meta.labels, meta.annotations) == ({"a": "1"}, {"x": "1", "y": "2"})
    assert made.spec is not None
    assert made.spec["suspend"] is True


@pytest.mark.parametrize(
    ("ref", "name", "text"),
    [
        ({"name": "r"}, RuntimeName("ClusterTrainingRuntime", "", "r"), "ClusterTrainingRuntime r"),
        (
            {"name": "r", "kind": "TrainingRuntime", "apiGroup": "trainer.kubeflow.org"},
            RuntimeName("TrainingRuntime", "ns", "r"),
            "TrainingRuntime ns/r",
        ),
    ],
)
def test_the_runtime_that_it_names(ref: dict[str, str], name: RuntimeName, text: str) -> None:
    found = runtime_of(job(runtimeRef=ref))
    assert (found, str(found)) == (name, text)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"runtimeRef": {}}, "spec.runtimeRef.name"),
        ({"runtimeRef": {"name": "r", "kind": "Other"}}, "spec.runtimeRef"),
        ({"runtimeRef": {"name": "r", "apiGroup": "x.io"}}, "spec.runtimeRef"),
        ({"podTemplateOverrides": [{}]}, "spec.podTemplateOverrides"),
        ({"trainer": {"numNodes": "two"}}, "spec.trainer.numNodes"),
        ({"trainer": [1]}, "spec.trainer"),
    ],
)
def test_a_field_that_is_wrong_is_named(spec: dict[str, Any], path: str) -> None:
    reads = runtime_of if path.startswith("spec.runtimeRef") else partial(job_set_of, runtime=TORCH)
    with pytest.raises(FieldError) as error:
        reads(job(**spec))
    assert error.value.path == path
