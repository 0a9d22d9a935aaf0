"""Which values are the same to Go's API machinery."""

from __future__ import annotations

from typing import Any

import pytest

from webhooks.rules.equality import same

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
