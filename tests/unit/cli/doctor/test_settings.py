"""`reprieve doctor --for Enforce` as a command: which Configuration counts, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import reprieve
from tests.kit.full_nodes import cluster
from tests.kit.healthy import NOW, healthy

Json = dict[str, Any]
HEAD = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "Configuration"}
LIMITED = yaml.safe_dump({**HEAD, "planning": {"mode": "Enforce", "limits": {"podsPerHour": 1}}})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command for Enforce on a healthy cluster with gangs that wait."""
    monkeypatch.setattr("time.time", lambda: NOW)

    def runs(*options: str, more: tuple[Json, ...] = ()) -> Result:
        path = tmp_path / "cluster.json"
        items = [*healthy(), *cluster(), *more]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return CliRunner().invoke(reprieve, ["doctor", "--for", "Enforce", "-f", str(path), *options])

    return runs


def shipped(**files: str) -> Json:
    """The ConfigMap that the Deployment mounts."""
    data = {name.replace("_", "."): text for name, text in files.items()}
    meta = {"name": "reprieve-configuration", "namespace": "reprieve-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def states(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [each["state"] for each in json.loads(result.stdout)["atOnce"]["evicting"]]


def test_the_findings_come_with_those_of_the_moment(run: Any) -> None:
    result = run()
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "All is well"
    assert any("Enforce would evict 2 pods (2 units) for 2 gangs" in line for line in lines)
    assert any("the defaults of the Configuration count" in line for line in lines)


def test_the_configuration_that_the_deployment_mounts_counts(run: Any) -> None:
    base = yaml.safe_dump(HEAD)
    more = (shipped(configuration_yaml=base, limits_yaml=LIMITED, readme_md="# no Configuration"),)
    assert states(run("-o", "json", more=more)) == ["Evicts", "LimitReached"]
    text = run(more=more).stdout
    assert "the defaults of the Configuration count" not in text


def test_one_that_cannot_be_read_is_named_and_the_defaults_count(run: Any) -> None:
    result = run(more=(shipped(configuration_yaml="kind: [", limits_yaml=LIMITED),))
    assert result.exit_code == 0
    assert "the defaults of the Configuration count: ConfigMap reprieve-configuration: " in result.stdout


def test_the_configuration_that_is_to_come_may_be_given(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "limited.yaml"
    file.write_text(LIMITED)
    more = (shipped(configuration_yaml=yaml.safe_dump(HEAD)),)
    assert states(run("-o", "json", "--config", str(file), more=more)) == ["Evicts", "LimitReached"]
    file.write_text("kind: [")
    result = run("--config", str(file))
    assert result.exit_code == 2
    assert "--config" in result.output


def test_only_one_namespace_may_be_asked_about(run: Any) -> None:
    assert states(run("-o", "json", "-n", "elsewhere")) == []
    assert states(run("-o", "json", "-n", "team")) == ["Evicts", "Evicts"]


def test_namespaces_that_are_not_selected_are_left_out(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "selected.yaml"
    planning = {"enforcedNamespaceSelector": {"matchLabels": {"act": "yes"}}}
    file.write_text(yaml.safe_dump({**HEAD, "planning": planning}))
    answer = json.loads(run("-o", "json", "--config", str(file)).stdout)["atOnce"]
    assert (answer["evicting"], answer["inObservedNamespaces"]) == ([], 2)


def test_the_options_need_enforce(tmp_path: Path) -> None:
    for options in (["-n", "team"], ["--config", str(tmp_path)], ["--for", "Observe", "-n", "team"]):
        result = CliRunner().invoke(reprieve, ["doctor", *options])
        assert result.exit_code == 2
        assert "need --for Enforce" in result.output
