"""Classes that are computed once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Pod
from nodes.state.columns import known_classes
from nodes.state.columns.classes import pod_class
from nodes.state.columns.known_classes import KnownClasses
from tests.kit.objects import pod


def of_a_deployment(number: int, **fields: Any) -> Any:
    """One of its pods: names differ, and so does the volume that every pod gets for its token."""
    token = {"name": f"kube-api-access-{number}", "projected": {"sources": []}}
    return pod(f"web-{number}", node=f"n{number}", requests={"cpu": "1"}, volumes=[token], **fields)


def test_pods_of_one_template_share_a_class() -> None:
    known = KnownClasses({})
    assert known.of(of_a_deployment(1)) is known.of(of_a_deployment(2, priority=7))
    assert known.of(of_a_deployment(3, nodeSelector={"disk": "ssd"})) is not known.of(of_a_deployment(4))


@pytest.mark.parametrize("strange", [{"runtimeClassName": "\ud800"}, {"overhead": {"cpu": 10**30}}])
def test_a_pod_that_cannot_be_a_key_has_a_class(strange: dict[str, Any]) -> None:
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}], **strange}
    asking = msgspec.convert({"metadata": {}, "spec": spec}, Pod)
    its_class = KnownClasses({}).of(asking)
    assert (its_class, its_class.requests) == (pod_class(asking), pod_class(asking).requests)


def test_all_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_classes, "REMEMBERED", 2)
    known = KnownClasses({})
    pods = [pod("p", requests={"cpu": str(number)}) for number in range(1, 6)]
    assert [known.of(each) for each in pods] == [pod_class(each) for each in pods]
    assert len(known._known) <= 2
