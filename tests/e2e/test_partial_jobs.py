"""Jobs that start with fewer pods than they ask for, with the real Job controller and the real API server."""

from __future__ import annotations

from typing import Any, Final

import pytest

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_sandbox import BATCH, JobSandbox
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for

OURS: Final = "reprieve.dev/v1alpha1"
LEAST: Final = "kueue.x-k8s.io/job-min-parallelism"
FOLLOWS: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
WITHIN: Json = {"withinClusterQueue": "LowerPriority"}
LEVELS: Final = {"low": 1, "middle": 5, "high": 10}


@pytest.fixture(scope="module")
def box(quota_plane: ControlPlane) -> JobSandbox:
    """A namespace that all tests share. Each has queues of its own."""
    made = JobSandbox(quota_plane, "partial-jobs")
    for name, value in LEVELS.items():
        body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": value}
        made.client.create({**body, "metadata": {"name": made.of(name)}})
    return made


def job(box: JobSandbox, name: str, queue: str, pods: int, level: str, **more: Any) -> str:
    return box.job(name, queue, pods, labels={PRIORITY_CLASS: box.of(level)}, **more)


def numbers(box: JobSandbox, name: str) -> tuple[int, int]:
    spec = box.get_job(name)["spec"]
    return spec["parallelism"], spec["completions"]


def remove(box: JobSandbox, name: str) -> None:
    """All its quota is free at once. If its pods ended one by one, others would start with the first ones' quota."""
    path = f"/apis/{BATCH}/namespaces/{box.name}/jobs/{name}"
    box.client.request("DELETE", path, {"propagationPolicy": "Background"})


def assigned(box: JobSandbox, name: str) -> tuple[int, str]:
    """The pods that have quota, and their CPUs."""
    (assignment,) = box.get(box.workload_of(name))["status"]["admission"]["podSetAssignments"]
    return assignment["count"], assignment["resourceUsage"]["cpu"]


def test_a_job_starts_in_part_is_preempted_and_comes_back_with_all_its_pods(box: JobSandbox) -> None:
    box.queue("parts", 4, preemption=WITHIN)
    job(box, "first", "parts", 2, "high")
    box.until_running("first", 2)

    job(box, "elastic", "parts", 4, "low", annotations={LEAST: "1"}, completions=8)
    box.until_running("elastic", 2)
    workload = box.workload_of("elastic")
    assert (numbers(box, "elastic"), assigned(box, "elastic")) == ((2, 8), (2, "2"))
    box.until_event("elastic", "Started", "with 2 of 4 pods")
    assert box.get(workload)["spec"]["podSets"][0]["count"] == 4
    uid = box.get(workload)["metadata"]["uid"]

    # It does not grow by itself. And what has no quota is not reclaimable.
    box.end_pods("first")
    box.until(box.workload_of("first"), "Finished")
    box.rest()
    assert len(box.until_running("elastic", 2)) == 2
    assert "reclaimablePods" not in box.get(workload)["status"]

    job(box, "urgent", "parts", 4, "high")
    box.until_running("urgent", 4)
    box.until_stopped("elastic")
    assert numbers(box, "elastic") == (4, 8)
    assert box.conditions(workload)["Evicted"] == ("True", "Preempted")

    remove(box, "urgent")
    box.until_running("elastic", 4)
    assert (numbers(box, "elastic"), assigned(box, "elastic")) == ((4, 8), (4, "4"))
    assert box.get(workload)["metadata"]["uid"] == uid, (
        "a change of parallelism by us makes no other Workload"
    )


def test_completions_are_lowered_and_raised_together_with_parallelism(box: JobSandbox) -> None:
    box.queue("ranks", 3, preemption=WITHIN)
    both = {LEAST: "2", FOLLOWS: "true"}
    job(box, "ranked", "ranks", 5, "low", annotations=both, completionMode="Indexed")
    box.until_running("ranked", 3)
    assert numbers(box, "ranked") == (3, 3)
    job(box, "passes", "ranks", 2, "high")
    box.until_running("passes", 2)
    box.until_stopped("ranked")
    assert numbers(box, "ranked") == (5, 5)
    remove(box, "passes")
    box.until_running("ranked", 3)
    box.end_pods("ranked")
    found = box.until(box.workload_of("ranked"), "Finished")
    assert found["reason"] == "Succeeded", "three of three completions are all"


def test_fewer_pods_preempt_others_and_the_nodes_are_asked_about_these(box: JobSandbox) -> None:
    box.queue("takes", 4, preemption=WITHIN)
    job(box, "stays", "takes", 1, "high")
    job(box, "goes", "takes", 3, "low")
    box.until_running("stays", 1)
    box.until_running("goes", 3)
    job(box, "taker", "takes", 10, "middle", annotations={LEAST: "2"})
    box.until_running("taker", 3)
    assert assigned(box, "taker") == (3, "3")
    box.until_stopped("goes")
    name = box.workload_of("taker")
    plans = [
        each["spec"]
        for each in box.client.list(OURS, "PreemptionPlan", box.name)
        if each["spec"]["preemptor"]["name"] == name
    ]
    (plan,) = plans
    assert sorted(each["pod"] for each in plan["placements"]) == ["main-0", "main-1", "main-2"]
    assert [each["name"] for each in plan["victims"]] == [box.workload_of("goes")]


def test_more_pods_than_have_quota_are_not_run(box: JobSandbox) -> None:
    """Whoever raises parallelism of a Job that runs in part gets no pods without quota."""
    box.queue("raises", 2)
    box.job("raises", "raises", 4, annotations={LEAST: "1"}, completions=8)
    box.until_running("raises", 2)
    box.patch_job("raises", {"spec": {"parallelism": 3}})
    box.until_event("raises", "Stopped", "needs more pods (3) than have quota")
    box.until_running("raises", 2)
    wait_for(lambda: numbers(box, "raises") == (2, 8), what=lambda: box.told("raises"))


def test_a_job_for_which_not_even_the_least_fits_says_why(box: JobSandbox) -> None:
    box.queue("least", 2)
    box.job("least", "least", 4, annotations={LEAST: "3"})
    message = box.until(box.workload_of("least"), "QuotaReserved", "False")["message"]
    assert "maximum capacity (2)" in message
    assert "not supported" not in message


def test_the_old_numbers_come_back_although_the_workload_was_removed_by_force(box: JobSandbox) -> None:
    box.queue("forced", 2)
    both = {LEAST: "1", FOLLOWS: "true"}
    box.job("forced", "forced", 5, annotations=both, completionMode="Indexed")
    box.until_running("forced", 2)
    workload = box.get(box.workload_of("forced"))["metadata"]
    box.client.patch(KUEUE, "Workload", workload["name"], {"metadata": {"finalizers": None}}, box.name)
    box.client.delete(KUEUE, "Workload", workload["name"], box.name)

    def has_another() -> bool:
        found = box.get(box.workload_of("forced"))
        (pods,) = found["spec"]["podSets"]
        return bool(found["metadata"]["uid"] != workload["uid"] and pods["count"] == 5)

    wait_for(has_another, what=lambda: box.told("forced"))
    box.until_running("forced", 2)


def test_the_old_numbers_come_back_after_the_quota_was_given_back(box: JobSandbox) -> None:
    """Another process has given the Workload quota for more pods by then, and the Job has the template of before."""
    box.queue("late", 2)
    box.job("late", "late", 5, annotations={LEAST: "1"}, completions=9)
    box.until_running("late", 2)
    name = box.workload_of("late")

    def more(before: Json) -> Json:
        (assignment,) = before["admission"]["podSetAssignments"]
        given = {**assignment, "count": 3, "resourceUsage": {"cpu": "3"}}
        return {"admission": {**before["admission"], "podSetAssignments": [given]}}

    box.patch_spec("ClusterQueue", box.of("late"), quota_of(box, 3))
    box.change_status(name, more)
    box.patch_job("late", {"spec": {"suspend": True}})
    wait_for(lambda: numbers(box, "late") == (3, 9), what=lambda: box.told("late"))
    box.until_running("late", 3)
    assert box.workload_of("late") == name
    assert box.get(name)["spec"]["podSets"][0]["count"] == 5


def quota_of(box: JobSandbox, cpus: int) -> Json:
    flavor = {"name": box.flavor, "resources": [{"name": "cpu", "nominalQuota": cpus}]}
    return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}


def test_quota_of_pods_that_end_is_not_free_although_the_workload_is_not_admitted_any_longer(
    box: JobSandbox,
) -> None:
    """The ClusterQueue gets an admission check, and is then held."""
    box.queue("checked", 2)
    box.job("checked", "checked", 4, annotations={LEAST: "2"}, finalizers=True)
    pods = box.until_running("checked", 2)
    name = box.workload_of("checked")
    strategy: Json = {"admissionChecks": [{"name": box.check("checked")}]}
    box.patch_spec("ClusterQueue", box.of("checked"), {"admissionChecksStrategy": strategy})
    box.until(name, "Admitted", "False", "UnsatisfiedAdmissionChecks")
    wait_for(lambda: box.get_job("checked")["spec"]["suspend"], what=lambda: box.told("checked"))
    box.patch_spec("ClusterQueue", box.of("checked"), {"stopPolicy": "Hold"})
    box.rest()
    assert box.is_true(name, "QuotaReserved"), "its pods are there"
    for each in pods:
        box.client.patch("v1", "Pod", each["metadata"]["name"], {"metadata": {"finalizers": None}}, box.name)
    box.until(name, "QuotaReserved", "False")
    box.until_stopped("checked")
    wait_for(lambda: numbers(box, "checked") == (4, 4), what=lambda: box.told("checked"))
