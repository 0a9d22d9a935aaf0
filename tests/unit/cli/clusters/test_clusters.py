"""`reprieve clusters`, from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.main import reprieve
from tests.kit.manager import TRAIN, TURN, Objects, manager_objects


@pytest.fixture
def objects() -> Objects:
    """The example, by kind and name."""
    return manager_objects()


def ask(path: Path, objects: Objects, *arguments: str) -> Result:
    file = path / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects.values())}))
    return CliRunner().invoke(reprieve, ["clusters", *arguments, "-f", str(file)])


def data(path: Path, objects: Objects) -> dict[str, dict[str, Any]]:
    result = ask(path, objects, "-o", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    return {each["name"]: each for each in json.loads(result.stdout)["clusters"]}


def test_each_cluster_has_its_state_its_workloads_and_its_turns(tmp_path: Path, objects: Objects) -> None:
    found = data(tmp_path, objects)
    assert {name: each["state"] for name, each in found.items()} == {
        "east": "Active",
        "south": "Inactive",
        "west": "Active",
    }
    assert {name: each["gates"] for name, each in found.items()} == {
        "east": "Honoured",
        "south": "Unknown",
        "west": "Honoured",
    }
    assert (found["south"]["reason"], found["south"]["since"]) == (
        "ClientConnectionFailed",
        "2026-03-01T11:40:00Z",
    )
    assert found["south"]["running"] == ["research/job-embed-91e2b"]
    assert all(each["nominated"] == ["research/job-train-5c1d0"] for each in found.values())
    assert [(each["workload"], each["number"]) for each in found["west"]["turns"]] == [
        ("research/job-train-5c1d0", 1)
    ]
    assert found["east"]["turns"] == []


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        ("DispatchPlan", TURN[1], {"status": {"phase": "TimedOut", "reason": "No cluster admitted it."}}),
        ("DispatchPlan", TURN[1], {"metadata": {"name": TURN[1], "namespace": "elsewhere"}}),
        ("Workload", TRAIN[1], {"metadata": {"name": TRAIN[1], "namespace": "research", "uid": "another"}}),
    ],
)
def test_a_turn_that_does_not_last_is_none(
    tmp_path: Path, objects: Objects, kind: str, name: str, change: dict[str, Any]
) -> None:
    objects[kind, name] |= change
    assert data(tmp_path, objects)["west"]["turns"] == []


def test_a_turn_that_another_one_has_followed_is_over(tmp_path: Path, objects: Objects) -> None:
    later = json.loads(json.dumps(objects[TURN]))
    later["metadata"] |= {"name": "later", "uid": "turn-2"}
    later["spec"] |= {"number": 2, "cluster": "east"}
    objects["DispatchPlan", "later"] = later
    found = data(tmp_path, objects)
    assert (len(found["east"]["turns"]), len(found["west"]["turns"])) == (1, 0)


def test_a_workload_that_a_cluster_has_has_no_turn_any_longer(tmp_path: Path, objects: Objects) -> None:
    status = objects[TRAIN]["status"]
    del status["nominatedClusterNames"]
    status["clusterName"] = "west"
    west = data(tmp_path, objects)["west"]
    assert (west["nominated"], west["running"], west["turns"]) == ([], ["research/job-train-5c1d0"], [])
    status["conditions"].append({"type": "Finished", "status": "True", "reason": "Succeeded"})
    assert data(tmp_path, objects)["west"]["running"] == []


def test_clusters_that_are_only_named_are_shown(tmp_path: Path, objects: Objects) -> None:
    del objects["MultiKueueCluster", "south"], objects["MultiKueueCluster", "east"]["status"]
    found = data(tmp_path, objects)
    assert (found["south"]["state"], found["east"]["state"]) == ("Missing", "Unknown")
    assert "south: there is no MultiKueueCluster of this name" in ask(tmp_path, objects).stdout


def test_gates_that_are_not_honoured_are_named(tmp_path: Path, objects: Objects) -> None:
    said = objects["MultiKueueCluster", "east"]["status"]["conditions"][1]
    said |= {"status": "False", "reason": "NotHonoured", "message": "nobody wrote the state of a gate"}
    assert data(tmp_path, objects)["east"]["gates"] == "NotHonoured"
    assert "east: nobody wrote the state of a gate" in ask(tmp_path, objects).stdout


def test_one_cluster(tmp_path: Path, objects: Objects) -> None:
    result = ask(tmp_path, objects, "west")
    assert result.exit_code == 0
    assert "research/job-train-5c1d0 until 2026-03-01T12:05:03Z (turn 1)" in result.stdout
    assert "south" not in result.stdout
    missing = ask(tmp_path, objects, "north")
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "there is no MultiKueueCluster north" in missing.stderr


def test_there_may_be_none(tmp_path: Path) -> None:
    result = ask(tmp_path, {})
    assert (result.exit_code, result.stdout) == (0, "There is no MultiKueueCluster.\n")


def test_long_lists_are_cut(tmp_path: Path, objects: Objects) -> None:
    for number in range(30):
        one = json.loads(json.dumps(objects["Workload", "job-embed-91e2b"]))
        one["metadata"] |= {"name": f"w{number:02}", "uid": f"u{number}"}
        objects["Workload", f"w{number:02}"] = one
    assert "and 11 more Workloads" in ask(tmp_path, objects, "south").stdout
