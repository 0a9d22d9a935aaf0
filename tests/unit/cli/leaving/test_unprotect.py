"""The command: what it removes, what it prints, and how it ends."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import structlog
from click.testing import CliRunner, Result

from cli.main import reprieve
from kube.client import ApiClient, ApiError
from tests.kit.apiserver import Api

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
FINALIZER = "kueue.x-k8s.io/resource-in-use"
OTHER = "example.com/own"


def guarded(name: str, *finalizers: str, **metadata: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "finalizers": list(finalizers) or None, **metadata}
    }


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """The command sets where the process logs to. Other tests run in the same process."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """The API server of every kubeconfig. AdmissionChecks are not served."""
    made = Api()
    made.put(
        f"{KUEUE}/clusterqueues", guarded("q", OTHER, FINALIZER), guarded("bare"), guarded("p", FINALIZER)
    )
    made.put(f"{KUEUE}/resourceflavors", guarded("f", FINALIZER, deletionTimestamp="2026-01-01T00:00:00Z"))
    made.put(f"{KUEUE}/workloads", guarded("w", FINALIZER, namespace="team-a"))

    @asynccontextmanager
    async def connect(_kubeconfig: str, **_: Any) -> AsyncIterator[ApiClient]:
        yield cast(ApiClient, made)

    monkeypatch.setattr(ApiClient, "connect", connect)
    return made


def invoke(folder: Path, *arguments: str) -> Result:
    kubeconfig = folder / "config"
    kubeconfig.touch()
    return CliRunner().invoke(reprieve, ["unprotect", *arguments], env={"KUBECONFIG": str(kubeconfig)})


def test_every_object_loses_the_finalizer_and_nothing_else(api: Api, tmp_path: Path) -> None:
    queues = copy.deepcopy(api.of(f"{KUEUE}/clusterqueues"))
    result = invoke(tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    names = ["ClusterQueue p", "ClusterQueue q", "ResourceFlavor f", "Workload team-a/w"]
    assert sorted(lines[:-1]) == [f"{name}: the finalizer is removed" for name in names]
    assert lines[-1] == "The finalizer is removed from 4 objects; 0 still have it."
    left = api.of(f"{KUEUE}/clusterqueues")
    assert left["q"]["metadata"]["finalizers"] == [OTHER]
    assert left["bare"] == queues["bare"]
    assert not api.of(f"{KUEUE}/resourceflavors")
    assert invoke(tmp_path).stdout == "The finalizer is removed from 0 objects; 0 still have it.\n"


def test_an_object_that_keeps_it_is_named_and_makes_it_fail(api: Api, tmp_path: Path) -> None:
    api.refuse = lambda method, path: (
        ApiError(403, "Forbidden", "x") if method == "PATCH" and path.endswith("/q") else None
    )
    result = invoke(tmp_path)
    assert result.exit_code == 1
    errors = "Error: ClusterQueue q: 403 Forbidden: x\nError: ClusterQueue q: the object has the finalizer\n"
    assert errors in result.stderr
    assert "removed from 3 objects; 1 still have it" in result.stdout


def test_it_warns_where_kueue_is_installed(api: Api, tmp_path: Path) -> None:
    webhook = {"metadata": {"name": "kueue-mutating-webhook-configuration"}}
    api.put("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", webhook)
    result = invoke(tmp_path)
    assert result.exit_code == 0
    assert "Kueue is installed" in result.stderr


def test_an_api_server_that_does_not_answer_is_an_error(api: Api, tmp_path: Path) -> None:
    api.refuse = lambda _method, _path: ApiError(0, "Away", "no answer in time")
    result = invoke(tmp_path)
    assert (result.exit_code, result.stderr) == (1, "Error: no answer Away: no answer in time\n")


def test_a_kubeconfig_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    result = invoke(tmp_path, "--kubeconfig", f"{tmp_path}/no")
    assert (result.exit_code, result.stderr) == (2, f"Error: --kubeconfig: {tmp_path}/no: no such file\n")
