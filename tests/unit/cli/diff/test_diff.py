"""Whose fate a changed policy changes, in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner, Result

from api.plans import PreemptionPlanSpec
from cli.main import reprieve
from nodes.answers.asking import decide_for
from nodes.search.decision import Limits
from nodes.search.preemptors.preemptor import Preemptor
from nodes.state.snapshot import Snapshot
from tests.kit.pages import ROOT

Json = dict[str, Any]
QUOTA: Final = ROOT / "examples" / "quota-teams.yaml"
NODES: Final = ROOT / "examples" / "training-cluster.yaml"
NOW: Final = ("--now", "2026-03-01T12:00:00Z")
PODS: Final = ("Pod", "Job")


def invoke(path: Path, changed: list[Json], *arguments: str, into: Path) -> Result:
    file = into / "changed.yaml"
    file.write_text(yaml.safe_dump_all(changed))
    return CliRunner().invoke(reprieve, ["diff", str(file), "-f", str(path), *NOW, *arguments])


def fates(path: Path, changed: list[Json], into: Path) -> dict[str, tuple[str | None, str]]:
    """By object: its states now and then."""
    result = invoke(path, changed, "-o", "json", into=into)
    answer = json.loads(result.stdout)
    assert result.exit_code == (3 if answer["fates"] else 0), result.stderr
    return {
        f"{each['kind']} {name}": (each["now"] and each["now"]["state"], each["then"]["state"])
        for each in answer["fates"]
        for name in each["names"]
    }


def stored(path: Path, kind: str, name: str) -> Json:
    """An object of an example, without what an API server keeps itself."""
    bodies: list[Json] = list(yaml.safe_load_all(path.read_text()))
    (found,) = [each for each in bodies if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


@pytest.mark.parametrize("path", [QUOTA, NODES])
def test_the_same_objects_change_nothing(path: Path, tmp_path: Path) -> None:
    bodies = [each for each in yaml.safe_load_all(path.read_text()) if each["kind"] not in PODS]
    assert fates(path, bodies, tmp_path) == {}


def test_quota_that_is_added_and_quota_that_is_gone(tmp_path: Path) -> None:
    queue = stored(QUOTA, "ClusterQueue", "shared")
    quota = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    quota["nominalQuota"] = 200
    more = fates(QUOTA, [queue], tmp_path)
    assert more["Workload team-a/train-large"] == ("Waits", "Fits")
    assert more["Workload team-a/train"] == ("Preempts", "Fits")
    assert more["Workload team-b/nightly"][0] == "Preempted"
    quota["nominalQuota"] = 10
    less = fates(QUOTA, [queue], tmp_path)
    assert less["Workload team-a/train"] == ("Preempts", "Waits")


def test_quota_can_no_longer_be_taken_back(tmp_path: Path) -> None:
    """Nobody waits who would take it. But the queue that lends it could, until its rule changes."""
    bodies = list(yaml.safe_load_all(QUOTA.read_text()))
    waits = [each for each in bodies if each["kind"] == "Workload" and not each.get("status")]
    path = tmp_path / "quiet.yaml"
    path.write_text(yaml.safe_dump_all([each for each in bodies if each not in waits]))
    queues = [
        stored(path, "ClusterQueue", f"{team}-{kind}")
        for team in "ab"
        for kind in ("standard", "best-effort")
    ]
    for each in queues:
        each["spec"]["preemption"] = {}
    found = fates(path, queues, tmp_path)
    assert found["Workload team-b/nightly"] == ("CouldBeTakenBack", "Stays")
    assert set(found.values()) == {("CouldBeTakenBack", "Stays")}


def test_objects_that_name_no_namespace_are_of_the_one_of_the_option(tmp_path: Path) -> None:
    queue = stored(QUOTA, "LocalQueue", "shared")
    del queue["metadata"]["namespace"]
    for options, name, exists in (((), "default/shared", False), (("-n", "search"), "search/shared", True)):
        result = invoke(QUOTA, [queue], "-o", "json", *options, into=tmp_path)
        changed = json.loads(result.stdout)["changed"]
        assert changed == [{"kind": "LocalQueue", "name": name, "exists": exists}]


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_a_queue_that_is_drained(kind: str, tmp_path: Path) -> None:
    name = "b-best-effort" if kind == "ClusterQueue" else "best-effort"
    bodies: list[Json] = list(yaml.safe_load_all(QUOTA.read_text()))
    queue = next(
        each
        for each in bodies
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
        and each["metadata"].get("namespace", "team-b") == "team-b"
    )
    queue["spec"]["stopPolicy"] = "HoldAndDrain"
    assert fates(QUOTA, [queue], tmp_path)["Workload team-b/nightly"][1] == "Drained"


def test_a_class_counts_for_those_who_name_it(tmp_path: Path) -> None:
    """Their priority is in the objects. It is the class's, once they are created anew."""
    batch = stored(NODES, "PriorityClass", "batch")
    batch["value"] = 1000
    found = fates(NODES, [batch], tmp_path)
    assert found["PodGroup research/sweep"] == ("Preempted", "Stays")
    answer = json.loads(invoke(NODES, [batch], "-o", "json", into=tmp_path).stdout)
    assert answer["createdAnew"] == 7
    assert answer["changed"] == [{"kind": "PriorityClass", "name": "batch", "exists": True}]


def test_a_budget_and_a_group_change_who_goes(tmp_path: Path) -> None:
    group = stored(NODES, "PodGroup", "llama-train")
    group["spec"]["schedulingPolicy"]["gang"]["minCount"] = 1
    found = fates(NODES, [group], tmp_path)
    assert found["PodGroup research/sweep"] == ("Preempted", "Stays")


def test_a_node_keeps_the_capacity_that_its_file_leaves_out(tmp_path: Path) -> None:
    racks = [each for each in yaml.safe_load_all(NODES.read_text()) if each["kind"] == "Node"]
    bare = [{name: value for name, value in each.items() if name != "status"} for each in racks]
    assert fates(NODES, bare, tmp_path) == {}
    empty = {"allocatable": {"cpu": "0", "pods": "0"}}
    found = fates(NODES, [{**each, "status": empty} for each in racks], tmp_path)
    assert found["PodGroup research/llama-train"] == ("Preempts", "Waits")


def test_what_must_be_alike_is_asked_about_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    def decide(snapshot: Snapshot, preemptor: Preemptor, *, limits: Limits) -> PreemptionPlanSpec:
        asked.append(preemptor.name)
        return decide_for(snapshot, preemptor, limits=limits)

    monkeypatch.setattr("nodes.answers.waiting.decide_for", decide)
    pod = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}], "priority": 5}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": 1, "pods": 9}},
    }
    named = {"web-0": "web", "web-1": "web", "web-2": "web", "other": "other"}
    bodies = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}}, "spec": pod}
        for name, app in named.items()
    ]
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([node, *bodies]))
    larger = {**node, "status": {"allocatable": {"cpu": 4, "pods": 9}}}
    found = fates(path, [larger], tmp_path)
    assert set(found.values()) == {("Waits", "Fits")}
    assert len(found) == 4
    assert asked == ["web-0", "web-0"]  # once in each world; no filter looks at labels here


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ([], "the files have no object that decides about quota or nodes"),
        (
            [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}],
            "Ignored, because they do not matter for diff (pods and Jobs are for what-if): 1 v1 Pod",
        ),
        (
            [{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "a"}}],
            "document 1: apiVersion: kueue.x-k8s.io/v1beta1 is not read, only kueue.x-k8s.io/v1beta2",
        ),
        (
            [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": "a"},
                    "spec": {"taints": [{"key": "a"}]},
                }
            ],
            "Node a: spec.taints[0].effect: ",
        ),
    ],
)
def test_bad_input_is_named(changed: list[Json], message: str, tmp_path: Path) -> None:
    result = invoke(NODES, changed, into=tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_text_counts_and_names(tmp_path: Path) -> None:
    text = invoke(NODES, [stored(NODES, "PriorityClass", "batch") | {"value": 1000}], into=tmp_path).stdout
    first, *_, last = text.splitlines()
    assert first.startswith("With PriorityClass batch, the fate of ")
    assert last == "7 objects count as created anew, because their priority class changes."
