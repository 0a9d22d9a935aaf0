"""`reprieve why podgroup`, and what a pod says of its group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from api.groups import API_VERSION
from cli.common.cluster import ClusterError
from cli.common.planes import POD_GROUP
from cli.main import reprieve
from cli.why.answers import about_group
from cli.why.objects import World

OWNER = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train", "controller": True}


def member(name: str, *, labels: dict[str, str] | None = None, uid: str = "", node: str = "") -> Any:
    owners = [{**OWNER, "uid": uid}] if uid else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "a", "labels": labels, "ownerReferences": owners},
        "spec": {"containers": [{"name": "c"}], "priority": 0, "nodeName": node},
    }


def ask(path: Path, name: str, *things: Any, kind: str = "podgroup") -> Result:
    file = path / "things.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
    return CliRunner().invoke(reprieve, ["why", kind, name, "-n", "a", "-f", str(file), "-o", "json"])


@pytest.mark.parametrize("name", ["train", "PyTorchJob.kubeflow.org:train"])
def test_a_group_of_another_kind_is_found_by_its_name(tmp_path: Path, name: str) -> None:
    result = ask(tmp_path, name, member("w-0", uid="1"), member("w-1", uid="1", node="n"))
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["state"]) == (3, "OfAnotherKind")
    assert [each["name"] for each in answer["depends"]] == ["a/w-0"]


def test_several_groups_of_one_name_are_named(tmp_path: Path) -> None:
    labelled = member("w-0", labels={"scheduling.x-k8s.io/pod-group": "train"})
    result = ask(tmp_path, "train", labelled, member("w-1", uid="1"))
    assert result.exit_code == 2
    kinds = "PyTorchJob.kubeflow.org:train, podgroups.scheduling.x-k8s.io:train"
    assert result.stderr == f"Error: a/train: there are several groups of this name: {kinds}\n"


def test_a_group_that_is_not_there(tmp_path: Path) -> None:
    result = ask(tmp_path, "train", member("w-0"))
    assert (result.exit_code, "there is no PodGroup a/train" in result.stderr) == (2, True)
    named = ask(tmp_path, "train", member("w-0", labels={"reprieve.dev/pod-group": "train"}))
    assert (named.exit_code, json.loads(named.stdout)["state"]) == (3, "NotFound")


def test_a_pod_has_the_answer_of_its_group(tmp_path: Path) -> None:
    labels = {"reprieve.dev/pod-group": "train"}
    group = {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    answer = json.loads(ask(tmp_path, "w-0", group, member("w-0", labels=labels), kind="pod").stdout)
    assert answer["sentence"].startswith("It waits with PodGroup a/train.")
    assert answer["depends"][0]["state"] == "Gathering"
    assert answer["depends"][0]["missing"] == [
        "No Job, ReplicaSet or StatefulSet that was read creates pods for it."
    ]


def test_members_count_before_their_priority_is_known(tmp_path: Path) -> None:
    group = {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    gated = member("w-0", labels={"reprieve.dev/pod-group": "train"})
    gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    written = json.loads(ask(tmp_path, "train", group, gated).stdout)
    del gated["spec"]["priority"]
    assert json.loads(ask(tmp_path, "train", group, gated).stdout) == written
    assert "example.com/gate" in written["sentence"]


def test_rights_that_are_missing_are_named_and_done_without() -> None:
    world = World("a", 0)
    assert not world.do_without(("v1", "Pod"), "pods is forbidden")
    assert world.do_without(POD_GROUP, "podgroups is forbidden")
    with pytest.raises(ClusterError, match="podgroups is forbidden"):
        about_group(world, "a", "train")
    world = World("a", 0)
    assert world.do_without(("v1", "Node"), "nodes is forbidden")
    assert world.do_without((API_VERSION, "PreemptionPlan"), "plans is forbidden")
    assert world.unread() == "nodes is forbidden"
