"""`reprieve why podgroup`, and what a pod says of its group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from answers.errors import UnreadError
from answers.picture import POD_GROUP
from answers.reading.details import NamespaceObjects
from answers.why import why
from api.groups import API_VERSION
from cli.main import reprieve

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
    objects = NamespaceObjects("a", 0)
    assert not objects.do_without(("v1", "Pod"), "pods is forbidden")
    assert objects.do_without(POD_GROUP, "podgroups is forbidden")
    with pytest.raises(UnreadError, match="podgroups is forbidden"):
        why(*objects.about(), "podgroup", "train")
    objects = NamespaceObjects("a", 0)
    assert objects.do_without(("v1", "Node"), "nodes is forbidden")
    assert objects.do_without((API_VERSION, "PreemptionPlan"), "plans is forbidden")
    picture, _ = objects.about()
    assert picture.without_nodes == "nodes is forbidden"


def lease(native_groups: str) -> Any:
    annotations = {"reprieve.dev/native-groups": native_groups}
    meta = {"name": "reprieve", "namespace": "reprieve-system", "annotations": annotations}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {}}


def native_member(name: str, **spec: Any) -> Any:
    body = member(name)
    body["spec"] |= {"schedulingGroup": {"podGroupName": "train"}, "priority": 7, **spec}
    return body


@pytest.mark.parametrize("lease_is_first", [True, False])
@pytest.mark.parametrize(
    ("mode", "spec", "state", "says"),
    [
        ("Off", {}, "OfAnotherKind", "It is no gang of reprieve"),
        ("Drive", {}, "Unschedulable", "0/0 nodes are available"),
        ("Drive", {"priority": 5}, "PriorityMismatch", "pod w-1 has priority 5, and its PodGroup has 7"),
        ("Drive", {"schedulingGates": [{"name": "other"}]}, "SchedulingGated", "1 pod has a scheduling gate"),
    ],
)
def test_a_gang_of_kubernetes_own_kind_is_planned_for_if_the_process_says_so(
    tmp_path: Path, lease_is_first: bool, mode: str, spec: dict[str, Any], state: str, says: str
) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 7},
    }
    pods = [native_member("w-0"), native_member("w-1", **spec), native_member("w-2")]
    things = [lease(mode), group, *pods] if lease_is_first else [*pods, group, lease(mode)]
    answer = json.loads(ask(tmp_path, "podgroups.scheduling.k8s.io:train", *things).stdout)
    assert answer["state"] == state
    assert says in answer["sentence"]
