"""`reprieve doctor` as a command: its formats and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import reprieve
from tests.kit.healthy import NOW, healthy, only


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": healthy()}))
    return path


def test_the_answer_for_programs_has_every_finding(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: NOW)
    result = CliRunner().invoke(reprieve, ["doctor", "-f", str(cluster), "-o", "json"])
    assert result.exit_code == 0, result.output
    findings = json.loads(result.stdout)["findings"]
    assert findings[0] == {
        "check": "definitions",
        "level": "OK",
        "message": "5 of ours are served",
        "fault": None,
        "remedy": None,
        "command": None,
    }


def test_the_text_names_faults_with_their_remedies(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("")
    result = CliRunner().invoke(reprieve, ["doctor", "-f", str(path)])
    assert result.exit_code == 3
    first, *rest = result.stdout.splitlines()
    assert first == "4 faults"
    assert any(line.strip() == "DefinitionMissing: Apply manifests/crds." for line in rest)


def test_a_time_that_is_none_is_bad_input(cluster: Path) -> None:
    objects = json.loads(cluster.read_text())
    only(objects["items"], "Lease")["spec"]["renewTime"] = "yesterday"
    cluster.write_text(json.dumps(objects))
    result = CliRunner().invoke(reprieve, ["doctor", "-f", str(cluster)])
    assert result.exit_code == 2
    assert "renewTime" in result.output
