"""The command: what it needs, what it prints, and how it ends."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from click.testing import Result

from api.groups import SCHEDULING_GATE
from kube.errors import ApiError
from tests.kit.apiserver import Api
from webhooks.registrations import configurations

Invoke = Callable[..., Result]

PODS = "/api/v1/pods"
POD = {
    "metadata": {"name": "p", "namespace": "team-a", "uid": "u"},
    "spec": {"schedulingGates": [{"name": SCHEDULING_GATE}]},
}


@pytest.fixture
def api(cluster: Api) -> Api:
    """The API server of every kubeconfig, with one gated pod."""
    cluster.put(PODS, copy.deepcopy(POD))
    return cluster


def test_it_says_what_it_did(api: Api, invoke: Invoke) -> None:
    result = invoke("ungate")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        result.stdout
        == "Pod team-a/p: the gate is removed\nThe gate is removed from 1 pod; 0 still have it.\n"
    )
    assert invoke("ungate").stdout == "The gate is removed from 0 pods; 0 still have it.\n"


def test_a_pod_that_keeps_the_gate_is_named_and_makes_it_fail(api: Api, invoke: Invoke) -> None:
    api.refuse = lambda method, _path: ApiError(403, "Forbidden", "x") if method == "PATCH" else None
    result = invoke("ungate")
    assert result.exit_code == 1
    assert (
        "Error: Pod team-a/p: 403 Forbidden: x\nError: Pod team-a/p: the pod has the gate\n" in result.stderr
    )


def test_it_warns_while_the_webhook_is_there(api: Api, invoke: Invoke) -> None:
    api.put("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", configurations()[0])
    result = invoke("ungate")
    assert result.exit_code == 0
    assert "kubectl delete mutatingwebhookconfiguration reprieve" in result.stderr
