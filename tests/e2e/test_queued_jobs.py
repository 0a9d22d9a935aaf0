"""Jobs in queues, with the real Job controller: they wait, run, are preempted, come back, and end."""

from __future__ import annotations

from typing import Any, Final

import pytest

from hack.controlplane.client import ApiError, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_sandbox import BATCH, JobSandbox
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for

QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
WITHIN: Json = {"withinClusterQueue": "LowerPriority"}


@pytest.fixture(scope="module")
def box(quota_plane: ControlPlane) -> JobSandbox:
    """A namespace that all tests share. Each has queues of its own."""
    made = JobSandbox(quota_plane, "queued-jobs")
    for name, value in (("low", 1), ("high", 10)):
        body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": value}
        made.client.create({**body, "metadata": {"name": made.of(name)}})
    return made


def priority(box: JobSandbox, name: str) -> dict[str, str]:
    return {PRIORITY_CLASS: box.of(name)}


def test_a_job_waits_runs_and_ends(box: JobSandbox) -> None:
    box.queue("life", 2)
    box.job("first", "life", 2)
    box.until_running("first", 2)
    workload = box.workload_of("first")
    assert box.get(workload)["spec"]["podSets"][0]["template"]["spec"]["restartPolicy"] == "Never"
    box.job("second", "life", 1)
    waiting = box.workload_of("second")
    box.until(waiting, "QuotaReserved", "False", "WaitingForQuota")
    box.until_stopped("second")
    box.end_pods("first")
    found = box.until(workload, "Finished")
    assert found["reason"] == "Succeeded"
    box.until_running("second", 1)
    box.end_pods("second")
    box.until(waiting, "Finished")


def test_a_preempted_job_gives_its_template_and_its_quota_back_and_runs_again(box: JobSandbox) -> None:
    box.queue("preempts", 2, preemption=WITHIN)
    box.job("low", "preempts", 2, labels=priority(box, "low"))
    box.until_running("low", 2)
    box.job("high", "preempts", 1, labels=priority(box, "high"))
    box.until_running("high", 1)
    box.until_stopped("low")
    workload = box.workload_of("low")
    assert box.conditions(workload)["Evicted"] == ("True", "Preempted")
    box.until_event("low", "Stopped", "Preempted to accommodate a workload")
    box.end_pods("high")
    box.until_running("low", 2)
    assert box.conditions(workload)["Evicted"][0] == "False"


def test_what_a_job_needs_no_longer_is_free_for_others(box: JobSandbox) -> None:
    """An index that failed for good needs nothing either."""
    box.queue("tail", 3)
    ignored: Any = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 3}
    box.job("tail", "tail", 3, completionMode="Indexed", **ignored)
    box.until_running("tail", 3)
    box.end_pods("tail", 1)
    box.until_running("tail", 2)
    box.job("next", "tail", 1)
    box.until_running("next", 1)
    box.end_pods("tail", 1, "Failed")
    box.job("last", "tail", 1)
    box.until_running("last", 1)


def pending(box: JobSandbox, queue: str) -> str:
    """A Job that waits."""
    box.queue(queue, 0)
    job = box.job(f"{queue}-job", queue, 1)
    box.until(box.workload_of(job), "QuotaReserved", "False")
    return job


def running(box: JobSandbox, queue: str) -> str:
    """A Job that runs. Another pod of it would not fit."""
    box.queue(queue, 1)
    job = box.job(f"{queue}-job", queue, 1, completions=2)
    box.until_running(job, 1)
    return job


def test_a_job_that_somebody_resumes_is_suspended_again(box: JobSandbox) -> None:
    job = pending(box, "resumed")
    box.patch_job(job, {"spec": {"suspend": False}})
    box.until_event(job, "Stopped", "resumed without being admitted")
    box.until_stopped(job)


def test_a_waiting_job_that_changes_changes_its_workload(box: JobSandbox) -> None:
    job = pending(box, "changed")
    workload = box.workload_of(job)
    pods = box.get(workload)["spec"]["podSets"][0]["template"]["spec"]["containers"]
    box.patch_job(job, {"spec": {"template": {"spec": {"nodeSelector": {"example.com/other": "x"}}}}})
    box.queue("changed-2", 0)
    box.patch_job(job, {"metadata": {"labels": {QUEUE_NAME: "changed-2"}}})
    wait_for(lambda: box.get(workload)["spec"]["queueName"] == "changed-2")
    spec = box.get(workload)["spec"]["podSets"][0]["template"]["spec"]
    assert spec["nodeSelector"] == {"example.com/other": "x"}
    assert spec["containers"] == pods


def test_a_running_job_that_asks_for_more_waits_for_more(box: JobSandbox) -> None:
    job = running(box, "raised")
    before = box.workload_of(job)
    uid = box.get(before)["metadata"]["uid"]
    box.patch_job(job, {"spec": {"parallelism": 2}})
    box.until_event(job, "Stopped", "needs more pods (2) than have quota")
    box.until_stopped(job)
    wait_for(lambda: box.get(box.workload_of(job))["metadata"]["uid"] != uid)
    box.until(box.workload_of(job), "QuotaReserved", "False")
    assert box.get(box.workload_of(job))["spec"]["podSets"][0]["count"] == 2


def test_a_running_job_that_goes_to_another_queue_waits_there(box: JobSandbox) -> None:
    job = running(box, "left")
    box.queue("entered", 1)
    box.patch_job(job, {"metadata": {"labels": {QUEUE_NAME: "entered"}}})
    box.until_event(job, "Stopped", "its queue is entered now")
    wait_for(lambda: admitted_by(box, box.workload_of(job)) == box.of("entered"))
    box.until_running(job, 1)


def test_a_running_job_without_a_queue_is_stopped(box: JobSandbox) -> None:
    job = running(box, "unlabelled")
    box.patch_job(job, {"metadata": {"labels": {QUEUE_NAME: None}}})
    box.until_event(job, "Stopped", "it names no queue now, and its queue was unlabelled")
    box.until_stopped(job)


def test_a_running_job_whose_workload_is_deleted_gets_another_one(box: JobSandbox) -> None:
    job = running(box, "deleted")
    workload = box.workload_of(job)
    uid = box.get(workload)["metadata"]["uid"]
    box.client.delete(KUEUE, "Workload", workload, box.name)
    box.until_event(job, "Stopped", "was deleted")
    wait_for(lambda: box.get(box.workload_of(job))["metadata"]["uid"] != uid)
    box.until_running(job, 1)


def admitted_by(box: JobSandbox, workload: str) -> str | None:
    """The ClusterQueue that has given quota to the Workload; None if none has."""
    admission: dict[str, str] = box.get(workload).get("status", {}).get("admission") or {}
    return admission.get("clusterQueue")


def is_gone(box: JobSandbox, workload: str) -> bool:
    try:
        box.get(workload)
    except ApiError as error:
        return error.status == 404
    return False


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_the_workload_of_a_job_that_is_deleted_stays_until_no_pod_is_left(
    box: JobSandbox, policy: str
) -> None:
    queue = f"gone-{policy.lower()}"
    box.queue(queue, 1)
    job = box.job(f"{queue}-job", queue, 1, finalizers=policy == "Background", suspend=True)
    (pod,) = box.until_running(job, 1)
    workload, name = box.workload_of(job), pod["metadata"]["name"]
    path = f"/apis/{BATCH}/namespaces/{box.name}/jobs/{job}"
    box.client.request("DELETE", path, {"propagationPolicy": policy})
    if policy != "Foreground":
        wait_for(
            lambda: (
                not [
                    each
                    for each in box.client.list(BATCH, "Job", box.name)
                    if each["metadata"]["name"] == job
                ]
            )
        )
        box.rest()
        assert box.is_true(workload, "QuotaReserved"), "the pod is still there"
        box.client.patch("v1", "Pod", name, {"metadata": {"finalizers": None}}, box.name)
        if policy == "Orphan":
            box.client.delete("v1", "Pod", name, box.name)
    wait_for(lambda: is_gone(box, workload), what=box.report)


def test_a_conflict_of_labels_finishes_the_workload_with_the_reason(box: JobSandbox) -> None:
    check = box.check("labels")
    box.queue("conflict", 1, admissionChecksStrategy={"admissionChecks": [{"name": check}]})
    job = box.job("conflict", "conflict", 1, template_labels={"team": "a"})
    workload = box.workload_of(job)
    box.until(workload, "QuotaReserved")
    box.set_check(workload, check, "Ready", podSetUpdates=[{"name": "main", "labels": {"team": "b"}}])
    found = box.until(workload, "Finished")
    assert found["reason"] == "FailedToStart"
    assert found["message"] == "label team: the admission asks for 'b', and 'a' is there already"
    box.until_stopped(job)


def test_a_class_that_is_missing_is_named_and_helps_when_it_comes(box: JobSandbox) -> None:
    box.queue("classes", 1)
    box.job("classless", "classes", 1, labels=priority(box, "later"))
    box.until_event(
        "classless", "ErrWorkloadCompose", f"WorkloadPriorityClass {box.of('later')} does not exist"
    )
    body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": 3}
    box.client.create({**body, "metadata": {"name": box.of("later")}})
    box.until_running("classless", 1)
    assert box.get(box.workload_of("classless"))["spec"]["priority"] == 3


def test_a_workload_that_is_not_there_is_named(box: JobSandbox) -> None:
    box.queue("prebuilt", 0)
    box.job("prebuilt", "prebuilt", 2, labels={"kueue.x-k8s.io/prebuilt-workload-name": "mine"})
    box.until_event("prebuilt", "PrebuiltWorkloadNotFound", "Workload mine does not exist")


def test_a_job_that_asks_for_a_topology_says_that_there_is_none(box: JobSandbox) -> None:
    box.queue("topology", 1)
    asked = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    box.job("racked", "topology", 1, template_annotations=asked, suspend=True)
    workload = box.workload_of("racked")
    assert box.get(workload)["spec"]["podSets"][0]["topologyRequest"] == {"required": "rack"}
    wait_for(
        lambda: "topologies are not supported" in box.until(workload, "QuotaReserved", "False")["message"]
    )


def test_a_job_runs_for_as_long_as_it_asked_for(box: JobSandbox) -> None:
    box.queue("limited", 1)
    box.job("limited", "limited", 1, labels={"kueue.x-k8s.io/max-exec-time-seconds": "1"}, suspend=True)
    workload = box.workload_of("limited")
    assert box.get(workload)["spec"]["maximumExecutionTimeSeconds"] == 1
    box.until(workload, "Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded")
    box.until_stopped("limited")
    box.until(workload, "QuotaReserved", "False")
    assert box.get(workload)["spec"]["active"] is False
