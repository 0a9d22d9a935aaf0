"""`reprieve why` on a manager of several clusters: what its own objects say of worker clusters."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import reprieve
from tests.kit.manager import EMBED, TRAIN, TURN, Objects, manager_objects

BEFORE, AFTER = "2026-03-01T12:01:00Z", "2026-03-01T12:06:00Z"


@pytest.fixture
def objects() -> Objects:
    """The example, by kind and name."""
    return manager_objects()


def why(path: Path, objects: Objects, about: tuple[str, str], now: str = BEFORE) -> dict[str, Any]:
    file = path / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects.values())}))
    kind, name = about
    arguments = ["why", kind.lower(), f"research/{name}", "-f", str(file), "-o", "json", "--now", now]
    result = CliRunner().invoke(reprieve, arguments)
    assert result.stderr == ""
    answer: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == (3 if answer["waits"] else 0)
    return answer


def says(objects: Objects, **lines: str) -> None:
    """The message of the check has these lines."""
    check = objects[TRAIN]["status"]["admissionChecks"][0]
    check["message"] = "\n".join(f"{name}: {text}" for name, text in lines.items())


def places(answer: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["outcome"] for each in answer["places"]}


def test_each_cluster_has_its_line_and_its_cost(tmp_path: Path, objects: Objects) -> None:
    answer = why(tmp_path, objects, TRAIN)
    assert (answer["state"], places(answer)) == (
        "Dispatching",
        {"east": "Asks", "west": "MayPreempt", "south": "Away"},
    )
    assert "4 Workloads of priority 50 or less" in answer["places"][0]["reason"]
    assert (
        "2 Workloads of priority 10 or less, 4 pods, as it said before turn 1"
        in answer["places"][1]["reason"]
    )
    assert "the turn of cluster west to preempt, until 2026-03-01T12:05:03Z" in answer["sentence"]
    assert answer["triedAgain"] == "At 2026-03-01T12:05:03Z the gate of west is closed. Cluster east is next."
    assert answer["plan"] == "research/job-train-5c1d0-7f3a9b20"
    costs = [each["cost"] for each in answer["decision"]["turns"][0]["spec"]["clusters"]]
    assert [each and each["prioritySum"] for each in costs] == [200, 20, None]


def test_when_the_time_is_over_the_next_cluster_waits_for_a_closed_gate(
    tmp_path: Path, objects: Objects
) -> None:
    answer = why(tmp_path, objects, TRAIN, AFTER)
    assert "was over at 2026-03-01T12:05:03Z" in answer["sentence"]
    assert answer["triedAgain"].startswith("Cluster east is next. The next gate opens as soon as")


def test_a_gate_stays_open_when_no_other_cluster_asks(tmp_path: Path, objects: Objects) -> None:
    says(objects, east="waits for quota: 8 more needed", west="may preempt until 2026-03-01T12:05:03Z")
    assert "that gate stays open" in why(tmp_path, objects, TRAIN, AFTER)["triedAgain"]
    assert "no other cluster asks" in why(tmp_path, objects, TRAIN)["triedAgain"]


def test_the_cluster_with_fewer_turns_is_next(tmp_path: Path, objects: Objects) -> None:
    asks = "would have to preempt, and waits for its turn"
    says(objects, east=asks, west="may preempt until 2026-03-01T12:10:04Z", south=asks)
    assert (
        "One of east, south is next: the one whose preemption costs least."
        in (why(tmp_path, objects, TRAIN)["triedAgain"])
    )
    before = deepcopy(objects[TURN])
    before["metadata"] |= {"name": "earlier", "uid": "turn-0"}
    before["spec"] |= {"number": 0, "cluster": "east"}
    before["status"] = {"phase": "TimedOut", "reason": "No cluster had admitted it.", "ended": BEFORE}
    objects["DispatchPlan", "earlier"] = before
    answer = why(tmp_path, objects, TRAIN)
    assert "Cluster south is next." in answer["triedAgain"]
    assert "It ended (TimedOut): No cluster had admitted it." in answer["notes"][0]


def test_before_the_first_turn_the_window_is_named(tmp_path: Path, objects: Objects) -> None:
    del objects[TURN]
    answer = why(tmp_path, objects, TRAIN)
    assert "turn" not in answer["sentence"]
    assert answer["triedAgain"].startswith("Cluster east is next. The first gate opens when every cluster")
    says(objects, east="waits for quota", west="waits for quota")
    assert why(tmp_path, objects, TRAIN)["triedAgain"].startswith(
        "When quota is freed in one of the clusters"
    )


def test_a_turn_of_another_attempt_counts_for_nothing(tmp_path: Path, objects: Objects) -> None:
    objects[TURN]["spec"]["workload"]["attempt"] = "2026-03-01T11:00:00Z"
    answer = why(tmp_path, objects, TRAIN)
    assert (answer["notes"], answer["plan"], answer["decision"]) == ([], "", None)


def test_no_cluster_is_asked_before_the_other_checks_are_ready(tmp_path: Path, objects: Objects) -> None:
    status = objects[TRAIN]["status"]
    del status["nominatedClusterNames"], objects[TURN]
    status["admissionChecks"].append(
        {"name": "budget", "state": "Pending", "message": "", "lastTransitionTime": "2026-03-01T12:00:00Z"}
    )
    answer = why(tmp_path, objects, TRAIN)
    assert (
        "no worker cluster was asked yet. First come its other admission checks: budget."
        in answer["sentence"]
    )
    assert answer["triedAgain"].startswith("Once its other admission checks are Ready")


def test_kueue_as_the_manager_has_no_lines(tmp_path: Path, objects: Objects) -> None:
    objects[TRAIN]["status"]["admissionChecks"][0]["message"] = ""
    del objects[TURN]
    answer = why(tmp_path, objects, TRAIN)
    assert places(answer) == {"east": "Asked", "west": "Asked", "south": "Asked"}
    assert "ClientConnectionFailed" in answer["places"][2]["reason"]


def test_a_job_that_runs_elsewhere_does_not_wait_for_pods_here(tmp_path: Path, objects: Objects) -> None:
    answer = why(tmp_path, objects, ("Job", "embed"))
    assert (answer["state"], answer["numbers"]["cluster"], answer["missing"]) == (
        "RunsElsewhere",
        "south",
        [],
    )
    assert "Cluster south is not connected since 2026-03-01T11:40:00Z" in answer["depends"][0]["notes"][0]
    del objects[EMBED]
    assert "it runs in another cluster" in why(tmp_path, objects, ("Job", "embed"))["sentence"]


def test_a_job_that_waits_has_the_answer_of_its_workload(tmp_path: Path, objects: Objects) -> None:
    answer = why(tmp_path, objects, ("Job", "train"))
    assert (answer["state"], answer["depends"][0]["state"]) == ("Suspended", "Dispatching")


def test_an_evicted_workload_is_named_with_its_cluster_until_nothing_runs_there(
    tmp_path: Path, objects: Objects
) -> None:
    objects[EMBED]["status"]["conditions"].append(
        {"type": "Evicted", "status": "True", "reason": "Preempted", "lastTransitionTime": BEFORE}
    )
    answer = why(tmp_path, objects, EMBED)
    assert (answer["state"], answer["numbers"]["cluster"]) == ("Evicting", "south")
    assert answer["triedAgain"].startswith("When nothing of it runs in cluster south any longer")


def test_a_cluster_that_is_gone_is_named(tmp_path: Path, objects: Objects) -> None:
    del objects["MultiKueueCluster", "south"]
    assert "There is no MultiKueueCluster south." in why(tmp_path, objects, EMBED)["notes"]


def test_a_check_that_was_rejected_is_not_taken_for_one_that_waits(tmp_path: Path, objects: Objects) -> None:
    objects[TRAIN]["status"]["admissionChecks"][0] |= {
        "state": "Rejected",
        "message": "No multikueue adapter found",
    }
    answer = why(tmp_path, objects, TRAIN)
    assert (answer["state"], answer["places"]) == ("AdmissionChecks", [])
    assert "No multikueue adapter found" in answer["waitsFor"][0]
