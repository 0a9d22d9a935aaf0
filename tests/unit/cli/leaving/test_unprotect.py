"""The command: what it removes, what it prints, and how it ends."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from kube.errors import ApiError
from tests.kit.apiserver import Api

Invoke = Callable[..., Result]

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
FINALIZER = "kueue.x-k8s.io/resource-in-use"
OTHER = "example.com/own"


def guarded(name: str, *finalizers: str, **metadata: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "finalizers": list(finalizers) or None, **metadata}
    }


@pytest.fixture
def api(cluster: Api) -> Api:
    """The API server of every kubeconfig. AdmissionChecks are not served."""
    cluster.put(
        f"{KUEUE}/clusterqueues", guarded("q", OTHER, FINALIZER), guarded("bare"), guarded("p", FINALIZER)
    )
    cluster.put(f"{KUEUE}/resourceflavors", guarded("f", FINALIZER, deletionTimestamp="2026-01-01T00:00:00Z"))
    cluster.put(f"{KUEUE}/workloads", guarded("w", FINALIZER, namespace="team-a"))
    return cluster


def test_every_object_loses_the_finalizer_and_nothing_else(api: Api, invoke: Invoke) -> None:
    queues = copy.deepcopy(api.of(f"{KUEUE}/clusterqueues"))
    result = invoke("unprotect")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    names = ["ClusterQueue p", "ClusterQueue q", "ResourceFlavor f", "Workload team-a/w"]
    assert sorted(lines[:-1]) == [f"{name}: the finalizer is removed" for name in names]
    assert lines[-1] == "The finalizer is removed from 4 objects; 0 still have it."
    left = api.of(f"{KUEUE}/clusterqueues")
    assert left["q"]["metadata"]["finalizers"] == [OTHER]
    assert left["bare"] == queues["bare"]
    assert not api.of(f"{KUEUE}/resourceflavors")
    assert invoke("unprotect").stdout == "The finalizer is removed from 0 objects; 0 still have it.\n"


def test_an_object_that_keeps_it_is_named_and_makes_it_fail(api: Api, invoke: Invoke) -> None:
    api.refuse = lambda method, path: (
        ApiError(403, "Forbidden", "x") if method == "PATCH" and path.endswith("/q") else None
    )
    result = invoke("unprotect")
    assert result.exit_code == 1
    errors = "Error: ClusterQueue q: 403 Forbidden: x\nError: ClusterQueue q: the object has the finalizer\n"
    assert errors in result.stderr
    assert "removed from 3 objects; 1 still have it" in result.stdout


def test_it_warns_where_kueue_is_installed(api: Api, invoke: Invoke) -> None:
    webhook = {"metadata": {"name": "kueue-mutating-webhook-configuration"}}
    api.put("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", webhook)
    result = invoke("unprotect")
    assert result.exit_code == 0
    assert "Kueue is installed" in result.stderr
