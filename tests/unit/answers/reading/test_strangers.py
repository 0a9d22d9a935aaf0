"""Objects that look like those that a command reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answers.errors import InputError
from answers.reading.documents import JsonDocument
from answers.reading.node_objects import NodeObjects
from answers.reading.planes import Planes
from answers.reading.strangers import ReportedStatus, is_table, misspelled, other_version, plural, said

KNOWN = (
    ("v1", "Pod"),
    ("v1", "Event"),
    ("apps/v1", "Deployment"),
    ("policy/v1", "PodDisruptionBudget"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("reprieve.dev/v1alpha1", "PodGroup"),
    ("kueue.x-k8s.io/v1beta2", "Workload"),
)


@pytest.mark.parametrize(
    ("version", "kind", "of"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "policy/v1"),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", "scheduling.k8s.io/v1"),
        ("kueue.x-k8s.io/v1beta1", "Workload", "kueue.x-k8s.io/v1beta2"),
        ("kueue.x-k8s.io/v2", "Workload", "kueue.x-k8s.io/v1beta2"),
        ("extensions/v1beta1", "Deployment", "apps/v1"),
        ("apps/v1beta2", "Deployment", "apps/v1"),
        ("events.k8s.io/v1", "Event", "v1"),
        ("v1", "Deployment", "apps/v1"),
    ],
)
def test_other_versions(version: str, kind: str, of: str) -> None:
    assert other_version((version, kind), KNOWN) == (of, kind)


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("scheduling.volcano.sh/v1beta1", "PodGroup"),
        ("scheduling.k8s.io/v1alpha1", "Workload"),
        ("metrics.k8s.io/v1beta1", "Pod"),
        ("example.com/v1", "Deployment"),
        ("policy/v1beta1", "PodSecurityPolicy"),
        ("v1", "PodGroup"),
    ],
)
def test_other_kinds(version: str, kind: str) -> None:
    assert other_version((version, kind), KNOWN) is None


@pytest.mark.parametrize("kind", ["pod", "POD", "pods", "Pods"])
def test_misspelled_kinds(kind: str) -> None:
    assert misspelled(("v1", kind), KNOWN) == "Pod"
    assert misspelled(("apps/v1", kind), KNOWN) == ""


def test_plurals() -> None:
    assert [plural(each[1]) for each in KNOWN[:6:2]] == ["pods", "deployments", "priorityclasses"]
    assert plural("NetworkPolicy") == "networkpolicies"


def test_what_an_api_server_says() -> None:
    assert said(ReportedStatus("Failure", "no", "Forbidden")).endswith("no object: no")
    assert said(ReportedStatus("Failure", "", "Forbidden")).endswith("no object: Forbidden")
    assert said(ReportedStatus("Success")) == "this is a Status of the API server, and no object"
    assert is_table(("meta.k8s.io/v1", "Table"))
    assert not is_table(("example.com/v1", "Table"))


def thing(version: str, kind: str) -> JsonDocument:
    value: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
    return JsonDocument(json.dumps(value).encode())


def test_one_sentence_for_each_version() -> None:
    planes = Planes(0)
    for kind in ("ClusterQueue", "LocalQueue", "Workload", "Workload"):
        planes.add(thing("kueue.x-k8s.io/v1beta1", kind), "f.json")
    [note] = planes.refused_notes()
    assert note.startswith(
        "Not read: f.json: kueue.x-k8s.io/v1beta1 is not read, only kueue.x-k8s.io/v1beta2: "
    )
    assert planes.picture().without_quota == note.removeprefix("Not read: ")
    assert planes.picture().without_nodes == ""


def test_owners_in_another_version_are_done_without_once() -> None:
    objects = NodeObjects()
    for _ in range(2):
        objects.add(thing("apps/v1beta1", "StatefulSet"), "f.json")
    [note] = objects.notes
    assert note.startswith(
        "Not read: f.json: apps/v1beta1 is not read, only apps/v1: kubectl get statefulsets.v1.apps"
    )


def test_others_are_an_error() -> None:
    with pytest.raises(
        InputError, match=r"f\.json: apiVersion: policy/v1beta1 is not read, only policy/v1: "
    ):
        NodeObjects().add(thing("policy/v1beta1", "PodDisruptionBudget"), "f.json")
    with pytest.raises(InputError, match=r"f\.json: kind: v1 has no pod; is Pod meant"):
        NodeObjects().add(thing("v1", "pod"), "f.json")
