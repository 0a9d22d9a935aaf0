"""The Workload that a Job asks for."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import PriorityClass
from api.integration import MAX_EXEC_TIME_LABEL, PREBUILT_WORKLOAD_LABEL, PRIORITY_CLASS_LABEL
from api.kueue import WorkloadPriorityClass
from api.meta import ObjectMeta
from controllers.jobs.batch.workload_of import matches, wish_of, workload_body, workload_name
from controllers.jobs.owned_workload import Classes, JobError
from tests.kit.jobs import CLEAN, UID, Json, condition, job, read_job, read_workload

NONE = Classes({}, {})
CLASSES = Classes(
    {"urgent": WorkloadPriorityClass(metadata=ObjectMeta(name="urgent"), value=9)},
    {
        "high": PriorityClass(metadata=ObjectMeta(name="high"), value=5),
        "usual": PriorityClass(metadata=ObjectMeta(name="usual"), value=3, global_default=True),
    },
)


def spec_of(body: Json, classes: Classes = NONE) -> Json:
    made = read_job(body)
    spec: Json = workload_body(made, wish_of(made, classes))["spec"]
    return spec


def test_the_whole_template_is_copied_without_the_labels_of_the_job() -> None:
    made = read_job(job())
    body = workload_body(made, wish_of(made, NONE))
    (pods,) = body["spec"]["podSets"]
    assert (pods["name"], pods["count"]) == ("main", 2)
    assert pods["template"] == {**CLEAN, "metadata": {"labels": {"app": "train"}}}
    assert body["spec"]["queueName"] == "q"
    assert body["metadata"]["labels"] == {"kueue.x-k8s.io/job-uid": UID}
    (owner,) = body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", UID, True)


def test_two_tries_make_one_workload_and_another_job_of_the_name_another_one() -> None:
    name = workload_name(read_job(job()))
    assert name.startswith("job-train-")
    assert workload_name(read_job(job())) == name
    later = job()
    later["metadata"]["uid"] = "another"
    assert workload_name(read_job(later)) != name
    long = job()
    long["metadata"]["name"] = "x" * 253
    assert len(workload_name(read_job(long))) == 253
    assert workload_name(read_job(job(labels={PREBUILT_WORKLOAD_LABEL: "mine"}))) == "mine"


def with_pod_class(name: str) -> Json:
    return job(template={**CLEAN, "spec": {**CLEAN["spec"], "priorityClassName": name}})


@pytest.mark.parametrize(
    ("body", "priority", "ref"),
    [
        (job(), 3, "usual"),
        (with_pod_class("high"), 5, "high"),
        (with_pod_class("system-node-critical"), 2_000_001_000, "system-node-critical"),
        (job(labels={PRIORITY_CLASS_LABEL: "urgent"}), 9, "urgent"),
    ],
    ids=["global default", "of the pods", "system", "of the label"],
)
def test_where_the_priority_comes_from(body: Json, priority: int, ref: str) -> None:
    spec = spec_of(body, CLASSES)
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (priority, ref)


def test_without_any_class_the_priority_is_0() -> None:
    spec = spec_of(job())
    assert spec["priority"] == 0
    assert "priorityClassRef" not in spec


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (job(labels={PRIORITY_CLASS_LABEL: "no"}), "WorkloadPriorityClass no does not exist"),
        (with_pod_class("no"), "spec.template.spec.priorityClassName: PriorityClass no does not exist"),
        (
            job(labels={MAX_EXEC_TIME_LABEL: "1h"}),
            "max-exec-time-seconds.*: '1h' is not a whole number above 0",
        ),
        (job(labels={MAX_EXEC_TIME_LABEL: "0"}), "'0' is not a whole number above 0"),
    ],
)
def test_what_is_wrong_is_named(body: Json, message: str) -> None:
    with pytest.raises(JobError, match=message):
        wish_of(read_job(body), CLASSES)


def test_limits_and_what_is_not_supported_are_passed_on() -> None:
    """The quota controller says of topologies that they are not supported."""
    spec = spec_of(job(labels={MAX_EXEC_TIME_LABEL: "60"}))
    assert spec["maximumExecutionTimeSeconds"] == 60
    partial = job()
    partial["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    assert spec_of(partial)["podSets"][0]["minCount"] == 1
    annotations = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    placed = job(template={**CLEAN, "metadata": {"annotations": annotations}})
    assert spec_of(placed)["podSets"][0]["topologyRequest"] == {"required": "rack"}


@pytest.mark.parametrize(
    ("text", "parallelism", "least"),
    [("2", 4, 2), ("5", 4, 4), ("5", 0, None), ("0", 4, None), ("many", 4, None)],
    ids=["as it says", "the Job has become smaller", "no pods", "0", "no number"],
)
def test_the_least_number_of_pods_is_one_that_the_api_server_takes(
    text: str, parallelism: int, least: int | None
) -> None:
    body = job(parallelism=parallelism, completions=None)
    body["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": text}
    assert spec_of(body)["podSets"][0].get("minCount") == least


@pytest.mark.parametrize(("runs", "same"), [(2, True), (3, True), (4, False)])
def test_a_job_that_was_admitted_in_part_runs_no_more_pods_than_that(runs: int, same: bool) -> None:
    asked = job(parallelism=8, completions=20)
    asked["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    made = read_job(asked)
    body = workload_body(made, wish_of(made, NONE))
    assignment = {"name": "main", "flavors": {"cpu": "f"}, "count": 3}
    body["status"] = {
        "admission": {"clusterQueue": "q", "podSetAssignments": [assignment]},
        "conditions": [condition("QuotaReserved"), condition("Admitted")],
    }
    assert matches(made, read_workload(body)), "it is not started yet"
    started = {**CLEAN, "metadata": {"annotations": {"kueue.x-k8s.io/workload": "w"}}}
    running = {**asked, "spec": {**asked["spec"], "parallelism": runs, "template": started, "suspend": False}}
    assert matches(read_job(running), read_workload(body)) == same


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"parallelism": 1}, False),
        ({"template": {**CLEAN, "spec": {**CLEAN["spec"], "nodeSelector": {"disk": "hdd"}}}}, False),
        ({"template": {**CLEAN, "spec": {**CLEAN["spec"], "restartPolicy": "OnFailure"}}}, True),
    ],
    ids=["same", "fewer pods", "another selector", "a field that nobody reads"],
)
def test_whether_a_waiting_job_has_the_pods_of_its_workload(change: Any, same: bool) -> None:
    made = read_job(job())
    workload = read_workload(workload_body(made, wish_of(made, NONE)))
    assert matches(read_job(job(**change)), workload) == same


@pytest.mark.parametrize(
    ("parallelism", "reclaimed", "same"), [(2, 0, True), (1, 0, True), (3, 0, False), (2, 1, False)]
)
def test_a_job_with_quota_may_need_fewer_pods(parallelism: int, reclaimed: int, same: bool) -> None:
    made = read_job(job(completions=None))
    body = workload_body(made, wish_of(made, NONE))
    body["status"] = {"reclaimablePods": [{"name": "main", "count": reclaimed}]}
    started = {**CLEAN, "metadata": {"annotations": {"kueue.x-k8s.io/workload": "w"}}}
    running = read_job(job(completions=None, parallelism=parallelism, template=started))
    assert matches(running, read_workload(body)) == same


def test_a_job_that_says_it_has_quota_has_it_for_its_own_pods_only() -> None:
    """Whoever writes the annotation must not get more than was admitted."""
    made = read_job(job())
    workload = read_workload(workload_body(made, wish_of(made, NONE)))
    annotations = {"annotations": {"kueue.x-k8s.io/workload": "forged"}}
    container = {**CLEAN["spec"]["containers"][0], "resources": {"requests": {"cpu": "64"}}}
    forged = {"metadata": annotations, "spec": {**CLEAN["spec"], "containers": [container]}}
    assert not matches(read_job(job(template=forged)), workload)
    added = {**CLEAN["spec"], "nodeSelector": {"disk": "ssd", "kind": "spot"}}
    assert matches(read_job(job(template={"metadata": annotations, "spec": added})), workload)
