"""`reprieve why job` and `why workload`: quota first, then the pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from cli.main import reprieve
from tests.kit.pages import ROOT

KUEUE = "kueue.x-k8s.io/v1beta2"
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j", "controller": True}
REQUESTS = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}


def ask(path: Path, kind: str, name: str, *things: Any) -> Result:
    file = path / "things.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
    arguments = ["why", kind, name, "-n", "a", "-f", str(file), "-o", "json", "--now", "2026-03-01T12:00:00Z"]
    return CliRunner().invoke(reprieve, arguments)


def job(**spec: Any) -> dict[str, Any]:
    meta = {"name": "train", "namespace": "a", "uid": "j", "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    body = {"parallelism": 1, "completions": 1, "template": {"spec": REQUESTS}, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": body}


def pod(**spec: Any) -> dict[str, Any]:
    meta = {"name": "train-0", "namespace": "a", "uid": "p", "ownerReferences": [OWNER]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**REQUESTS, "priority": 0, **spec}}


def workload(*conditions: str) -> dict[str, Any]:
    said = [
        {"type": each, "status": "True", "reason": each, "lastTransitionTime": "2026-03-01T10:00:00Z"}
        for each in conditions
    ]
    assigned = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    admission = {"clusterQueue": "main", "podSetAssignments": [assigned]} if said else None
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "a", "uid": "w", "ownerReferences": [OWNER]},
        "spec": {
            "queueName": "main",
            "podSets": [{"name": "main", "count": 1, "template": {"spec": REQUESTS}}],
        },
        "status": {"conditions": said, "admission": admission},
    }


def test_a_job_has_the_answer_of_its_workload(tmp_path: Path) -> None:
    result = ask(tmp_path, "job", "train", job(suspend=True), workload())
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["state"]) == (3, "Suspended")
    (depends,) = answer["depends"]
    assert (depends["kind"], depends["state"]) == ("Workload", "Misconfigured")
    assert "there is no LocalQueue a/main" in depends["sentence"]


def test_a_job_without_a_workload_yet_says_so(tmp_path: Path) -> None:
    answer = json.loads(ask(tmp_path, "job", "train", job(suspend=True)).stdout)
    assert "It has none yet" in answer["sentence"]


def test_a_job_that_runs_does_not_wait(tmp_path: Path) -> None:
    result = ask(tmp_path, "job", "train", job(), pod(nodeName="n"), workload("QuotaReserved", "Admitted"))
    assert (result.exit_code, json.loads(result.stdout)["state"]) == (0, "Running")


def test_an_admitted_workload_waits_for_its_pods(tmp_path: Path) -> None:
    things = (job(), workload("QuotaReserved", "Admitted"))
    result = ask(tmp_path, "workload", "w", *things, pod())
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["state"], answer["waits"]) == (3, "Admitted", True)
    assert [each["name"] for each in answer["depends"]] == ["a/train-0"]
    assert ask(tmp_path, "workload", "w", *things, pod(nodeName="n")).exit_code == 0


def test_a_gated_pod_has_the_answer_of_its_workload(tmp_path: Path) -> None:
    gated = pod(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    answer = json.loads(ask(tmp_path, "pod", "train-0", gated, workload()).stdout)
    assert [each["kind"] for each in answer["depends"]] == ["Workload"]


def test_a_gang_in_a_queue_has_the_answer_of_its_workload(tmp_path: Path) -> None:
    group = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a", "uid": "j"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
    }
    gated = pod(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    gated["metadata"] |= {"labels": {"reprieve.dev/pod-group": "train"}, "ownerReferences": []}
    answer = json.loads(ask(tmp_path, "podgroup", "train", group, gated, workload()).stdout)
    assert answer["state"] == "SchedulingGated"
    assert [each["state"] for each in answer["depends"]] == ["Misconfigured"]
    admitted = workload("QuotaReserved", "Admitted")
    waiting = {**gated, "spec": {**REQUESTS, "priority": 0}}
    answer = json.loads(ask(tmp_path, "workload", "w", group, waiting, admitted).stdout)
    assert [each["name"] for each in answer["depends"]] == ["a/train-0"]


def test_what_is_not_there_is_bad_input(tmp_path: Path) -> None:
    for kind, said in (("job", "there is no Job a/no"), ("workload", "there is no Workload a/no")):
        result = ask(tmp_path, kind, "no", job())
        assert (result.exit_code, result.stderr) == (2, f"Error: {said}\n")


def test_a_workload_that_cannot_be_read_prevents_no_answer(tmp_path: Path) -> None:
    broken = workload("QuotaReserved")
    broken["metadata"] = {"name": "broken", "namespace": "b"}
    broken["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] = {"cpu": "much"}
    result = ask(tmp_path, "workload", "w", workload(), broken)
    assert result.exit_code == 3
    assert "Not counted: Workload b/broken" in result.stderr


def test_the_kinds_of_queues_need_not_be_there() -> None:
    file = ROOT / "examples" / "training-cluster.yaml"
    result = CliRunner().invoke(reprieve, ["why", "pod", "serving/chat-1", "-f", str(file)])
    assert (result.exit_code, result.stderr) == (0, "")
