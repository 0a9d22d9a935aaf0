"""Requests against k8s.io/component-helpers v0.37.1, whose answers are recorded beside this file."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Node, Pod
from api.quantity import QuantityError
from api.requests import allocatable, pod_requests
from tests.unit.api.golden import golden


def requests_of(manifest: dict[str, Any]) -> dict[str, int] | None:
    try:
        return pod_requests(msgspec.convert(manifest, Pod))
    except QuantityError:
        return None


def scheduler_counts(manifest: dict[str, Any], answer: dict[str, int] | None) -> dict[str, int] | None:
    """The recorded sums, as NodeResourcesFit (unbound pods) and NodeInfo (bound ones) take them."""
    if answer is None:
        return None
    bound = "nodeName" in manifest["spec"]
    return {name: n for name, n in answer.items() if name != "pods" and (n if bound else n > 0)}


def test_equals_component_helpers() -> None:
    recorded = golden("requests")
    assert len(recorded) > 1000
    wrong = [
        (manifest, answer)
        for manifest, answer in recorded
        if requests_of(manifest) != scheduler_counts(manifest, answer)
    ]
    assert not wrong, f"{len(wrong)} of {len(recorded)}: {wrong[:2]}"


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


def container(name: str, **requests: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests}}


def test_containers_sidecars_and_overhead() -> None:
    manifest = pod(
        containers=[container("a", cpu="500u"), container("b", cpu="500u", memory="1Gi")],
        initContainers=[
            container("sidecar", memory="1Gi") | {"restartPolicy": "Always"},
            container("init", memory="3Gi"),
        ],
        overhead={"cpu": "10m"},
    )
    assert requests_of(manifest) == {"cpu": 11, "memory": 4 * 2**30}


def test_pod_level_requests_replace_the_sum() -> None:
    manifest = pod(
        containers=[container("a", cpu="1", **{"example.com/gpu": "1"})],
        resources={"requests": {"cpu": "3", "example.com/gpu": "7"}},
    )
    assert requests_of(manifest) == {"cpu": 3000, "example.com/gpu": 1}


def test_a_resize_counts_for_bound_pods_alone() -> None:
    manifest = pod(containers=[container("a", cpu="1")])
    manifest["status"] = {"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "2"}}]}
    assert requests_of(manifest) == {"cpu": 1000}
    manifest["spec"]["nodeName"] = "n"
    assert requests_of(manifest) == {"cpu": 2000}


def test_allocatable() -> None:
    node = msgspec.convert(
        {
            "metadata": {"name": "n"},
            "status": {"allocatable": {"cpu": "3999500u", "memory": 1024, "pods": "110", "unknown": "1"}},
        },
        Node,
    )
    assert allocatable(node) == {"cpu": 4000, "memory": 1024, "pods": 110}


def test_errors_name_the_field() -> None:
    with pytest.raises(QuantityError, match=r"containers\[main\]\.resources, cpu: not a quantity.*'1x'"):
        pod_requests(msgspec.convert(pod(containers=[container("main", cpu="1x")]), Pod))
    with pytest.raises(QuantityError, match=r"spec\.overhead, memory"):
        pod_requests(msgspec.convert(pod(containers=[], overhead={"memory": "lots"}), Pod))
