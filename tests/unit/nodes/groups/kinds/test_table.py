"""What is said of objects whose pods are not known, and what the rows have in common."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nodes.groups.kinds.kind import Grouping, Kind
from nodes.groups.kinds.table import KINDS, OWNERS, kind_of, why_unread

TEMPLATE = {"spec": {"containers": [{"name": "c"}]}}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "says"),
    [
        ("apps/v1", "DaemonSet", {}, "it has one on each node"),
        ("tekton.dev/v1", "TaskRun", None, r"how a TaskRun of tekton.dev/v1 makes them is not modelled\.$"),
        ("x.io/v1", "Gadget", {"template": TEMPLATE}, "a template of pods in spec.template,"),
        ("x.io/v1", "Gadget", {"parts": [TEMPLATE]}, r"a template of pods in spec.parts\[0\].spec,"),
        ("x.io/v1", "Gadget", {"worker": TEMPLATE["spec"]}, "a template of pods in spec.worker,"),
        ("x.io/v1", "Gadget", {"a": [{}, {"b": {"template": TEMPLATE}}]}, r"in spec\.a\[1\]\.b\.template,"),
    ],
)
def test_what_is_said_of_an_object_whose_pods_are_not_known(
    api_version: str, kind: str, spec: Any, says: str
) -> None:
    said = why_unread(api_version, kind, spec)
    assert said.startswith("Its pods are not known: ")
    assert re.search(says, said)


@pytest.mark.parametrize(
    ("api_version", "kind", "spec"),
    [
        ("v1", "Service", {"ports": [{"port": 80}]}),
        ("v1", "ConfigMap", None),
        ("x.io/v1", "Gadget", {"template": {"spec": {"containers": []}}}),
        ("x.io/v1", "Gadget", {"template": {"spec": "text"}, "containers": [1]}),
        ("trainer.kubeflow.org/v2", "TrainingRuntime", {"template": TEMPLATE}),
    ],
)
def test_nothing_is_said_of_an_object_without_pods(api_version: str, kind: str, spec: Any) -> None:
    assert why_unread(api_version, kind, spec) == ""


def test_a_template_that_is_very_deep_is_not_looked_for() -> None:
    spec: dict[str, Any] = {"template": TEMPLATE}
    for _ in range(5_000):
        spec = {"a": spec}
    assert why_unread("x.io/v1", "Gadget", spec) == ""


@pytest.mark.parametrize("row", KINDS, ids=lambda each: each.title)
def test_a_kind_is_watched_if_its_pods_may_be_a_group_without_their_own_annotation(row: Kind) -> None:
    assert (row.type in OWNERS) == bool(row.plural) == (row.grouping is not Grouping.NO)
    assert kind_of(row.api_version, row.kind) is row
