"""`reprieve what-if` of TrainJobs: their runtimes are in the files or in the cluster, or the answer names them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import reprieve

VERSION = "trainer.kubeflow.org/v1alpha1"
Json = dict[str, Any]


def runtime(kind: str, namespace: str = "") -> Json:
    containers = [{"name": "node", "resources": {"requests": {"cpu": "1"}}}]
    body = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    spec = {
        "mlPolicy": {"numNodes": 1, "torch": {}},
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": body}]}},
    }
    meta = {"name": "torch", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": VERSION, "kind": kind, "metadata": meta, "spec": spec}


def train_job(kind: str, **spec: Any) -> Json:
    its = {"runtimeRef": {"name": "torch", "kind": kind}, "trainer": {"numNodes": 2}, **spec}
    return {
        "apiVersion": VERSION,
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": its,
    }


def node(cpu: str) -> Json:
    status = {"allocatable": {"cpu": cpu, "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}


def step(path: Path, submitted: list[Json], cluster: list[Json]) -> Json:
    for name, items in (("submitted", submitted), ("cluster", cluster)):
        (path / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    arguments = ["what-if", str(path / "submitted"), "-f", str(path / "cluster"), "-o", "json"]
    result = CliRunner().invoke(reprieve, arguments)
    assert result.exit_code in (0, 3), result.output
    [found] = json.loads(result.stdout)["steps"]
    return dict(found)


@pytest.mark.parametrize("kind", ["ClusterTrainingRuntime", "TrainingRuntime"])
@pytest.mark.parametrize("where", ["files", "cluster"])
def test_its_runtime_says_what_its_pods_are(kind: str, where: str, tmp_path: Path) -> None:
    its = [runtime(kind, "a" if kind == "TrainingRuntime" else "")]
    submitted, cluster = ([train_job(kind)], [node("5")])
    found = step(tmp_path, submitted + its * (where == "files"), cluster + its * (where == "cluster"))
    assert (found["kind"], found["name"], found["outcome"]) == ("TrainJob", "a/train", "Runs")
    assert (found["pods"], found["running"]) == (2, 2)


@pytest.mark.parametrize(
    ("kind", "there", "named"),
    [
        ("ClusterTrainingRuntime", [], "ClusterTrainingRuntime torch"),
        ("TrainingRuntime", [runtime("TrainingRuntime", "b")], "TrainingRuntime a/torch"),
        ("TrainingRuntime", [runtime("ClusterTrainingRuntime")], "TrainingRuntime a/torch"),
    ],
)
def test_a_runtime_that_is_not_there_is_named(
    kind: str, there: list[Json], named: str, tmp_path: Path
) -> None:
    found = step(tmp_path, [train_job(kind)], [node("5"), *there])
    says = f"Its pods are not known: {named} is neither in the files nor in the cluster."
    assert (found["outcome"], found["sentence"]) == ("Misconfigured", says)


def test_its_pods_are_a_gang_where_its_annotations_say_so(tmp_path: Path) -> None:
    """They come to its JobSet. Without them, one of two pods runs."""
    kind = "ClusterTrainingRuntime"
    gang = {"annotations": {"reprieve.dev/groups-by-owner": "Gangs"}}
    outcomes = [
        step(tmp_path, [train_job(kind, **more)], [node("1"), runtime(kind)])["outcome"]
        for more in ({}, gang)
    ]
    assert outcomes == ["RunsInPart", "Waits"]


def test_a_suspended_one_in_no_queue_creates_no_pods(tmp_path: Path) -> None:
    kind = "ClusterTrainingRuntime"
    assert (
        step(tmp_path, [train_job(kind, suspend=True)], [node("5"), runtime(kind)])["outcome"] == "Suspended"
    )
