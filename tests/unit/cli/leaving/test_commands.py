"""What is the same for all commands that leave a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from kube.client import ApiClient
from kube.errors import ApiError
from tests.kit.apiserver import Api

COMMANDS = ("ungate", "unprotect", "release")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_api_server_that_does_not_answer_is_an_error(
    cluster: Api, invoke: Callable[..., Result], command: str
) -> None:
    cluster.refuse = lambda _method, _path: ApiError(0, "Away", "no answer in time")
    result = invoke(command)
    assert (result.exit_code, result.stderr) == (1, "Error: no answer Away: no answer in time\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_kubeconfig_that_is_not_there_is_bad_input(
    tmp_path: Path, invoke: Callable[..., Result], command: str
) -> None:
    result = invoke(command, "--kubeconfig", f"{tmp_path}/no")
    assert (result.exit_code, result.stderr) == (2, f"Error: --kubeconfig: {tmp_path}/no: no such file\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_cluster_is_asked_as_the_options_say(
    cluster: Api, invoke: Callable[..., Result], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, connect = list[dict[str, object]](), ApiClient.connect

    def connecting(files: str, **options: object) -> object:
        asked.append(options)
        return connect(files)

    monkeypatch.setattr(ApiClient, "connect", connecting)
    invoke(command, "--context", "there", "--as", "jane", "--as-group", "admins")
    assert asked == [{"context": "there", "user": "jane", "groups": ("admins",)}]
    result = invoke(command, "--as-group", "admins")
    assert (result.exit_code, result.stderr) == (2, "Error: --as-group: needs --as\n")
