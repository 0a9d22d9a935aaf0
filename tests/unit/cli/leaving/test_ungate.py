"""The command: what it needs, what it prints, and how it ends."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import structlog
from click.testing import CliRunner, Result

from api.groups import SCHEDULING_GATE
from cli.main import reprieve
from kube.client import ApiClient, ApiError
from tests.kit.apiserver import Api
from webhooks.registrations import configurations

PODS = "/api/v1/pods"
POD = {
    "metadata": {"name": "p", "namespace": "team-a", "uid": "u"},
    "spec": {"schedulingGates": [{"name": SCHEDULING_GATE}]},
}


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """The command sets where the process logs to. Other tests run in the same process."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """The API server of every kubeconfig, with one gated pod."""
    made = Api()
    made.put(PODS, copy.deepcopy(POD))

    @asynccontextmanager
    async def connect(_kubeconfig: str, **_: Any) -> AsyncIterator[ApiClient]:
        yield cast(ApiClient, made)

    monkeypatch.setattr(ApiClient, "connect", connect)
    return made


def invoke(folder: Path, *arguments: str) -> Result:
    kubeconfig = folder / "config"
    kubeconfig.touch()
    return CliRunner().invoke(
        reprieve, ["ungate", *arguments], env={"KUBECONFIG": f"{folder}/none:{kubeconfig}"}
    )


def test_it_says_what_it_did(api: Api, tmp_path: Path) -> None:
    result = invoke(tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        result.stdout
        == "Pod team-a/p: the gate is removed\nThe gate is removed from 1 pod; 0 still have it.\n"
    )
    assert invoke(tmp_path).stdout == "The gate is removed from 0 pods; 0 still have it.\n"


def test_a_pod_that_keeps_the_gate_is_named_and_makes_it_fail(api: Api, tmp_path: Path) -> None:
    api.refuse = lambda method, _path: ApiError(403, "Forbidden", "x") if method == "PATCH" else None
    result = invoke(tmp_path)
    assert result.exit_code == 1
    assert (
        "Error: Pod team-a/p: 403 Forbidden: x\nError: Pod team-a/p: the pod has the gate\n" in result.stderr
    )


def test_it_warns_while_the_webhook_is_there(api: Api, tmp_path: Path) -> None:
    api.put("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", configurations()[0])
    result = invoke(tmp_path)
    assert result.exit_code == 0
    assert "kubectl delete mutatingwebhookconfiguration reprieve" in result.stderr


def test_an_api_server_that_does_not_answer_is_an_error(api: Api, tmp_path: Path) -> None:
    api.refuse = lambda _method, _path: ApiError(0, "Away", "no answer in time")
    result = invoke(tmp_path)
    assert (result.exit_code, result.stderr) == (1, "Error: no answer Away: no answer in time\n")


def test_a_kubeconfig_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    result = invoke(tmp_path, "--kubeconfig", f"{tmp_path}/no")
    assert (result.exit_code, result.stderr) == (2, f"Error: --kubeconfig: {tmp_path}/no: no such file\n")
