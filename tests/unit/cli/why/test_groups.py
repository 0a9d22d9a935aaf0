"""`reprieve why podgroup`, and what a pod says of its group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from answers.errors import UnreadError
from answers.picture import POD_GROUP
from answers.reading.details import NamespaceObjects
from answers.why import why
from api.groups import API_VERSION
from cli.main import reprieve
from tests.kit.observed_plans import plan

OWNER = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train", "controller": True}


def member(name: str, *, labels: dict[str, str] | None = None, uid: str = "", node: str = "") -> Any:
    owners = [{**OWNER, "uid": uid}] if uid else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "a", "labels": labels, "ownerReferences": owners},
        "spec": {"containers": [{"name": "c"}], "priority": 0, "nodeName": node},
    }


def ask(path: Path, name: str, *things: Any, kind: str = "podgroup", more: tuple[str, ...] = ()) -> Result:
    file = path / "things.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
    return CliRunner().invoke(reprieve, ["why", kind, name, "-n", "a", "-f", str(file), "-o", "json", *more])


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


@pytest.mark.parametrize(
    ("mode", "note"),
    [
        (
            "Observe",
            "planning.mode is Observe: reprieve writes down what it would do for it, and does nothing",
        ),
        ("Off", "planning.mode is Off: reprieve decides nothing about it"),
    ],
)
def test_a_group_says_the_mode_of_the_process(tmp_path: Path, mode: str, note: str) -> None:
    gang = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 7},
    }
    said = lease("Off")
    said["metadata"]["annotations"]["reprieve.dev/planning-mode"] = mode
    answer = json.loads(ask(tmp_path, "train", gang, member("w-0"), said).stdout)
    assert note in answer["notes"]
    assert answer["triedAgain"] == "By its scheduler. reprieve holds none of its pods back."


@pytest.mark.parametrize("bound", [False, True])
def test_a_group_says_what_the_scheduler_did_instead(tmp_path: Path, bound: bool) -> None:
    """Beside what the observed plan would do. Also after it was bound."""
    gang = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a", "uid": "uid-train"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}, "priority": 7},
    }
    stored = plan(
        3, namespace="a", gang="train", ours=2, pods=5, served_nobody=4, in_pieces=True, in_pieces_seconds=8
    )
    stored.spec.preemptor.uid = "uid-train"
    pod = member("w-0", labels={"reprieve.dev/pod-group": "train"}, node="n" if bound else "")
    body = msgspec.to_builtins(stored)
    answer = json.loads(ask(tmp_path, "train", gang, pod, body).stdout)
    (note,) = [each for each in answer["notes"] if "observed plan" in each]
    assert note == (
        "The observed plan a/plan-3 would evict 2 pods. The scheduler preempted 5 pods instead: 4 of them served "
        "nobody. It was in pieces for 8 seconds."
    )
    stored.spec.preemptor.uid = "uid-another"
    other = json.loads(ask(tmp_path, "train", gang, pod, msgspec.to_builtins(stored)).stdout)
    assert not any("observed plan" in each for each in other["notes"])


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


SAYS = "minCount (2) cannot be satisfied: 0 scheduled, 2 remaining"
STEERED = {
    "preemptor": {"kind": "PodGroup", "apiVersion": "scheduling.k8s.io/v1beta1", "namespace": "a", "uid": "uid-train"},
    "outcome": "Preempts",
    "reason": "it fits with 1 victim gone",
    "evictedBy": "Scheduler",
    "evictorReason": "SameVictims",
    "placements": [{"pod": "w-0", "uid": "uid-w-0", "node": "n"}],
    "victims": [{"kind": "Pod", "namespace": "a", "name": "low", "uid": "uid-low", "priority": 0,
                 "violatesPodDisruptionBudget": False, "pods": []}],
}  # fmt: skip
NOW = ("--now", "2026-01-01T00:10:00Z")


def native_train(
    members: int, *, mode: str = "Steer", backoff: str = "", status: Any = None, **spec: Any
) -> list[Any]:
    """A native gang whose members wait, the Lease, and its plan if `status` is that of one. `spec`: of the plan."""
    condition = {
        "type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable", "message": SAYS,
        "lastTransitionTime": "2026-01-01T00:00:07Z",
    }  # fmt: skip
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a", "uid": "uid-train"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 7},
        "status": {"conditions": [condition]},
    }
    said = lease(mode)
    if backoff:
        said["metadata"]["annotations"]["reprieve.dev/pod-max-backoff-seconds"] = backoff
    pods = [native_member(f"w-{number}") for number in range(members)]
    if status is None:
        return [said, group, *pods]
    body = {**STEERED, **spec}
    body["preemptor"] = {**STEERED["preemptor"], "name": "podgroups.scheduling.k8s.io:train", "priority": 7}  # type: ignore[dict-item]
    plan = {
        "apiVersion": API_VERSION, "kind": "PreemptionPlan", "metadata": {"name": "p", "namespace": "a"},
        "spec": body, "status": status,
    }  # fmt: skip
    return [said, group, *pods, plan]


def native_answer(path: Path, *things: Any) -> dict[str, Any]:
    result = ask(path, "train", *things, more=NOW)
    assert result.exit_code == 3, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(
    ("members", "backoff", "seconds", "words"),
    [
        (25, "", 50, "(10 by default)"),
        (25, "2", 10, "(2) times the square root of 25 waiting members"),
        (2, "", 14, "2 w"),
    ],
)
def test_without_a_stored_time_the_longest_backoff_is_named(
    tmp_path: Path, members: int, backoff: str, seconds: int, words: str
) -> None:
    found = native_answer(tmp_path, *native_train(members, backoff=backoff))
    assert found["numbers"]["longestBackoffSeconds"] == seconds
    assert f"The upper bound is {seconds} s after the last attempt" in found["triedAgain"]
    assert words in found["triedAgain"]
    assert found["since"] == "2026-01-01T00:00:07Z"
    assert found["notes"] == [f"kube-scheduler says (Unschedulable): {SAYS}"]


@pytest.mark.parametrize(
    ("at", "known", "words"),
    [
        ("2026-01-01T00:10:30Z", True, "at 2026-01-01T00:10:30Z when its backoff is over"),
        ("2026-01-01T00:10:30Z", False, "at 2026-01-01T00:10:30Z at the latest"),
        ("2026-01-01T00:09:30Z", True, "An attempt was due at 2026-01-01T00:09:30Z"),
    ],
)
def test_a_steered_plan_names_the_next_attempt(tmp_path: Path, at: str, known: bool, words: str) -> None:
    status = {"phase": "Planned", "nextAttempt": at, "nextAttemptKnown": known}
    found = native_answer(tmp_path, *native_train(25, status=status))
    assert words in found["triedAgain"]
    assert found["state"] == "AttemptPending"
    due = f"waits for kube-scheduler's next attempt, which is due at {at}{'' if known else ' at the latest'}."
    assert due in found["sentence"]
    assert found["numbers"]["nextAttempt"] == at
    assert (found["plan"], found["numbers"]["evictedBy"]) == ("a/p", "Scheduler")
    assert found["notes"][0].endswith("because its rule evicts these victims, or equal ones (SameVictims).")
    assert found["notes"][1].startswith("The plan is not handed over")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            {"phase": "Planned", "handedOver": "2026-01-01T00:09:59Z"},
            "handed over since 2026-01-01T00:09:59Z",
        ),
        ({"phase": "Planned", "handedOver": ""}, "is not handed over"),
        ({"phase": "Evicting"}, "was handed over, and kube-scheduler has evicted by it"),
        ({"phase": "Ready", "unplanned": ["x"]}, "has evicted 1 pod that the plan does not name"),
    ],
)
def test_it_says_whether_a_steered_plan_is_handed_over(tmp_path: Path, status: Any, words: str) -> None:
    found = native_answer(tmp_path, *native_train(2, status=status))
    assert words in " ".join(found["notes"])


def test_of_a_driven_plan_it_says_that_reprieve_evicts(tmp_path: Path) -> None:
    things = native_train(2, status={"phase": "Evicting"}, evictedBy="Reprieve", evictorReason="UnknownUnit")
    notes = native_answer(tmp_path, *things)["notes"]
    assert notes[0].startswith("reprieve evicts, because kube-scheduler would evict only a part of a group")
    assert len(notes) == 2, "nothing is handed over"


def test_with_the_mode_off_it_says_who_evicts_and_who_differs(tmp_path: Path) -> None:
    things = native_train(3, mode="Off")
    things[2]["spec"]["priority"] = 5
    found = native_answer(tmp_path, *things)
    assert found["state"] == "OfAnotherKind"
    assert found["notes"][0].endswith("reprieve plans nothing for it (planning.nativeGroups is Off).")
    assert "kube-scheduler does not try it: pod w-0 has priority 5" in found["notes"][1]
    assert found["triedAgain"].startswith("By kube-scheduler, once that has changed.")


def test_a_gate_of_another_program_is_all_that_a_gang_waits_for(tmp_path: Path) -> None:
    things = native_train(3)
    things[3]["spec"]["schedulingGates"] = [{"name": "other"}]
    assert native_answer(tmp_path, *things)["triedAgain"].startswith(
        "Right after its last scheduling gate has gone."
    )


@pytest.mark.parametrize("mode", ["Steer", ""])
def test_a_gang_with_our_gate_is_tried_when_that_has_gone(tmp_path: Path, mode: str) -> None:
    """Its backoff does not matter: it was never tried. So it is without a Lease that says the mode."""
    things = native_train(3, mode=mode)
    things[3]["spec"]["schedulingGates"] = [{"name": "reprieve.dev/gang"}]
    found = native_answer(tmp_path, *things)
    assert found["triedAgain"].startswith(
        "By kube-scheduler, right after reprieve has removed its scheduling gate"
    )


def test_a_driven_plan_waits_for_the_word_of_the_scheduler(tmp_path: Path) -> None:
    things = native_train(2, status={"phase": "Planned"}, evictedBy="Reprieve", evictorReason="UnknownUnit")
    assert native_answer(tmp_path, *things)["state"] == "ConfirmationPending"


def test_the_text_has_the_same(tmp_path: Path) -> None:
    path = tmp_path / "o.json"
    path.write_text(
        json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": native_train(25, status={"phase": "Planned"})}
        )
    )
    result = CliRunner().invoke(reprieve, ["why", "podgroup", "a/train", "-f", str(path), *NOW])
    assert result.exit_code == 3, result.output
    for words in (
        "who evicts: Scheduler",
        "longest backoff, in seconds: 50",
        "kube-scheduler says (Unschedulable)",
    ):
        assert words in result.stdout
