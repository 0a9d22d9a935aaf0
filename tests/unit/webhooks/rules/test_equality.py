"""Which values are the same to Go's API machinery."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from webhooks.rules.decoding import Node, root_node
from webhooks.rules.equality import AMOUNT, AMOUNTS, COUNTS, FLAGS, MAPS, MEANINGFUL, VALUES, same

SAME: list[tuple[Any, Any]] = [
    ({"requests": {"cpu": "1", "memory": "1Gi"}}, {"requests": {"memory": "1024Mi", "cpu": "1000m"}}),
    ({"resourceUsage": {"cpu": 4}}, {"resourceUsage": {"cpu": "4.0"}}),
    ({"emptyDir": {"sizeLimit": "1k"}}, {"emptyDir": {"sizeLimit": "1000"}}),
    ({"requests": {"cpu": "0"}}, {"requests": {"cpu": "0m"}}),
    ({"a": None}, {}),
    ({"tolerations": []}, {}),
    ({"labels": {}, "metadata": {}, "resources": {}}, {}),
    ({"metadata": {"labels": None}}, {}),
    ({"hostNetwork": False}, {}),
    ({"iscsi": {"chapAuthSession": False}, "path": ""}, {"iscsi": {}}),
    ({"weight": 0}, {}),
    ({"value": ""}, {}),
    ({"storageClassName": None}, {}),
    ([], []),
    (1, 1.0),
]
DIFFERENT: list[tuple[Any, Any]] = [
    ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1001m"}}),
    ({"requests": {"cpu": "0"}}, {"requests": {}}),
    ({"args": ["1"]}, {"args": ["1000m"]}),
    ({"args": [""]}, {"args": []}),
    ({"labels": {"a": ""}}, {"labels": {}}),
    ({"podCertificate": {"userAnnotations": {"a": ""}}}, {"podCertificate": {"userAnnotations": {}}}),
    ({"labels": {"requests": "1"}}, {"labels": {"requests": "1000m"}}),
    ({"emptyDir": {}}, {}),
    ({"securityContext": {}}, {}),
    ({"storageClassName": ""}, {}),
    ({"runtimeClassName": ""}, {}),
    ({"topologyRequest": {"required": ""}}, {"topologyRequest": {}}),
    ({"terminationGracePeriodSeconds": 0}, {}),
    ({"hostNetwork": True}, {}),
    ({"weight": 1}, {"weight": 2}),
    ({"automountServiceAccountToken": False}, {}),
    ({"port": 80}, {"port": "80"}),
    ([1, 2], [2, 1]),
    ({"requests": {"cpu": "1e1.5"}}, {"requests": {"cpu": "1"}}),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_the_same(left: Any, right: Any) -> None:
    assert same(left, right)
    assert same(right, left)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_not_the_same(left: Any, right: Any) -> None:
    assert not same(left, right)
    assert not same(right, left)


def fields(node: Node, name: str = "") -> Iterator[tuple[str, Node]]:
    """Every field below, with its schema."""
    if name:
        yield name, node
    for below, field in node.fields.items():
        yield from fields(field, below)
    if node.items is not None:
        yield from fields(node.items)


WORKLOAD = root_node("Workload").fields
COMPARED = [
    each
    for name, node in (("spec", "podSets"), ("status", "admission"), ("status", "admissionChecks"))
    for each in fields(WORKLOAD[name].fields[node])
]


def names(kind: str) -> set[str]:
    """Of fields of this type."""
    return {name for name, node in COMPARED if node.type == kind}


def maps(kind: str) -> set[str]:
    """Of fields that are maps of values of this type."""
    return {
        name
        for name, node in COMPARED
        if node.items is not None and (node.type, node.items.type) == ("object", kind)
    }


def test_names_are_those_of_fields_that_are_compared() -> None:
    assert maps("quantity") == AMOUNTS
    assert maps("string") == MAPS
    assert names("quantity") == AMOUNT
    assert names("object") >= VALUES
    assert names("string") >= MEANINGFUL
    assert names("boolean") >= FLAGS
    assert names("integer") >= COUNTS
