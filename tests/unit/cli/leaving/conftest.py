"""What the tests of the commands share: a cluster behind every kubeconfig, and how a command is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import reprieve
from tests.kit.answering_all import answer_all
from tests.kit.apiserver import Api


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Api:
    """The API server of every kubeconfig. It has no objects, and serves no kind."""
    made = Api()
    answer_all(monkeypatch, made)
    return made


@pytest.fixture
def invoke(tmp_path: Path) -> Callable[..., Result]:
    """`invoke("ungate", ...)` calls the command with a kubeconfig. Of the two files that are named, one is there."""
    kubeconfig = tmp_path / "config"
    kubeconfig.touch()
    environment = {"KUBECONFIG": f"{tmp_path}/none:{kubeconfig}"}
    return lambda *arguments: CliRunner().invoke(reprieve, list(arguments), env=environment)
