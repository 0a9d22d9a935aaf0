"""Steps that random lives do not reach."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from api.integration import PREBUILT_WORKLOAD_LABEL
from api.jobs import TemplatedJob
from api.kueue import RESOURCE_IN_USE, WorkloadPriorityClass
from api.multikueue import ORIGIN_LABEL, PREBUILT_WORKLOAD_ANNOTATION, WORKER_POD_LABEL
from api.workloads import Workload
from controllers.jobs.batch.life import (
    Around,
    ChangeWorkload,
    CreateWorkload,
    PatchJob,
    ResetStartTime,
    UnprotectWorkload,
    next_step,
)
from controllers.jobs.batch.workload_of import wish_of, workload_body
from controllers.jobs.job_state import TemplateParts
from controllers.jobs.owned_workload import Classes, JobError
from quota.cycle.pod_set_infos import PodSetInfo
from runtime.exchange.workload_reports import Reported
from tests.kit.jobs import CLEAN, UID, Json, condition, job, merge, read_job, read_workload

NO_CLASSES: Final = Classes({}, {})
WISH: Final = wish_of(read_job(job()), NO_CLASSES)
GATE: Final = "kueue.x-k8s.io/multikueue"


def test_a_prebuilt_workload_becomes_the_jobs_with_all_that_protects_it() -> None:
    made = read_job(job(labels={PREBUILT_WORKLOAD_LABEL: "mine"}))
    wish = wish_of(made, Classes({}, {}))
    body = workload_body(made, wish)
    body["metadata"] = {"name": "mine", "namespace": "ns", "finalizers": ["example.com/own"]}
    step = next_step(made, read_workload(body), Around(wish))
    assert isinstance(step.write, ChangeWorkload)
    adopted = read_workload(merge(body, step.write.patch)).metadata
    assert adopted.finalizers == ["example.com/own", RESOURCE_IN_USE]
    assert adopted.labels == {"kueue.x-k8s.io/job-uid": UID}
    assert [each.uid for each in adopted.owner_references or ()] == [UID]


@pytest.mark.parametrize("is_sent", [True, False])
def test_a_copy_waits_for_the_job_of_its_manager(is_sent: bool) -> None:
    """Whoever may create Jobs in the namespace of a worker cluster must not get the quota of a copy by its name. The
    label of the origin is the manager's."""
    labels = {PREBUILT_WORKLOAD_LABEL: "copy", **({ORIGIN_LABEL: "multikueue"} if is_sent else {})}
    made = read_job(job(labels=labels))
    body = workload_body(made, WISH)
    body["metadata"] = {"name": "copy", "namespace": "ns", "labels": {ORIGIN_LABEL: "multikueue"}}
    step = next_step(made, read_workload(body), Around(WISH))
    assert (step.write is not None) == is_sent
    assert step.warning == ("" if is_sent else "Workload copy waits for the Job of its manager")


def test_a_running_job_that_goes_to_another_queue_stops_although_its_class_is_missing() -> None:
    waiting = read_job(job())
    body = workload_body(waiting, wish_of(waiting, Classes({}, {})))
    body["metadata"] |= {"uid": "w", "resourceVersion": "1"}
    body["status"] = {"conditions": [condition("QuotaReserved"), condition("Admitted")]}
    template = merge(
        CLEAN, {"metadata": {"annotations": {"kueue.x-k8s.io/workload": body["metadata"]["name"]}}}
    )
    moved = read_job(job(queue="other", suspend=False, template=template))
    step = next_step(moved, read_workload(body), Around(JobError("no such class")))
    assert isinstance(step.write, PatchJob)
    assert step.write.what == "stop"
    assert step.event is not None
    assert "its queue is other now" in step.event.note


def test_a_job_whose_pods_end_says_so_although_it_is_not_admitted_any_longer() -> None:
    """Its queue has got another admission check. Its quota is not free before the pods are gone."""
    waiting = read_job(job())
    wish = wish_of(waiting, Classes({}, {}))
    body = workload_body(waiting, wish)
    body["metadata"] |= {"uid": "w", "resourceVersion": "1"}
    body["status"] = {"conditions": [condition("QuotaReserved"), condition("Admitted", "False")]}
    runs = merge(job(suspend=False), {"status": {"active": 1, "startTime": "2026-01-01T00:00:00Z"}})
    step = next_step(read_job(runs), read_workload(body), Around(wish))
    assert isinstance(step.write, PatchJob)
    assert step.reported.runs
    stops = merge(runs, {"spec": {"suspend": True}, "status": {"active": 0, "terminating": 1}})
    assert next_step(read_job(stops), read_workload(body), Around(wish)).reported.runs
    ended = merge(stops, {"status": {"terminating": 0}})
    assert not next_step(read_job(ended), read_workload(body), Around(wish)).reported.runs


# ---- Jobs of other clusters: here the worker


def copy_of(made: TemplatedJob, *true: str, **spec: Any) -> Json:
    """The copy that a manager made of the Job's Workload."""
    wish = wish_of(made, NO_CLASSES)
    body: Json = workload_body(made, wish)
    labels = {ORIGIN_LABEL: "manager-1", "kueue.x-k8s.io/job-uid": UID}
    body["metadata"] |= {"uid": "w", "resourceVersion": "1", "labels": labels}
    body["spec"] |= spec
    assignment = {"name": "main", "flavors": {"cpu": "spot"}, "count": 2}
    body["status"] = {
        "conditions": [condition(kind) for kind in true],
        "admission": {"clusterQueue": "q", "podSetAssignments": [assignment]} if true else None,
    }
    return body


def sent(**spec: Any) -> Json:
    """A Job that a manager has created."""
    body = job(**spec)
    body["metadata"]["annotations"] = {PREBUILT_WORKLOAD_ANNOTATION: "w", "example.com/own": "x"}
    return body


def admitted(_: Workload) -> list[PodSetInfo]:
    return [PodSetInfo("main", 2, {}, {}, {"kind": "spot"}, ())]


def test_a_copy_keeps_the_managers_priority_whatever_classes_are_here() -> None:
    """13929: a class of the same name with another value is in this cluster. The spec of the copy stays as it is."""
    body = sent()
    body["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    own = msgspec.convert({"metadata": {"name": "high"}, "value": 7}, WorkloadPriorityClass)
    made = read_job(body)
    wish = wish_of(made, Classes({"high": own}, {}))
    other = read_workload(copy_of(read_job(sent()), priority=3, queueName="elsewhere"))
    assert next_step(made, other, Around(wish)).write is None
    assert next_step(made, other, Around(JobError("no such class"))).warning == ""
    unmarked = copy_of(read_job(sent()), priority=3)
    del unmarked["metadata"]["labels"][ORIGIN_LABEL]
    step = next_step(made, read_workload(unmarked), Around(wish))
    assert isinstance(step.write, ChangeWorkload)
    assert step.write.patch["spec"]["priority"] == 7


def test_a_job_that_is_not_what_its_copy_says_ends_the_copy_and_stays_suspended() -> None:
    """13047: the manager sees the reason OutOfSync, and sends the Workload anew."""
    made = read_job(sent(parallelism=3, completions=3))
    for true in ((), ("QuotaReserved", "Admitted")):
        step = next_step(made, read_workload(copy_of(read_job(sent()), *true)), Around(WISH, admitted))
        assert step.write is None
        assert step.reported.finished == (
            "OutOfSync",
            "The prebuilt workload is out of sync with its user job",
        )
    finished = read_workload(copy_of(read_job(sent()), "QuotaReserved", "Admitted", "Finished"))
    assert next_step(made, finished, Around(WISH, admitted)).write is None


def test_labels_of_pods_alone_do_not_end_a_copy() -> None:
    """Kueue leaves a label of the Job controller in the Workload, and a webhook here may add one to the Job."""
    copy = copy_of(read_job(sent()))
    labels = copy["spec"]["podSets"][0]["template"]["metadata"].setdefault("labels", {})
    labels["batch.kubernetes.io/job-name"] = "train"
    made = read_job(sent(template=merge(CLEAN, {"metadata": {"labels": {"example.com/injected": "x"}}})))
    assert next_step(made, read_workload(copy), Around(WISH)).reported.finished is None


def test_pods_of_copies_say_so_until_the_job_stops() -> None:
    made = read_job(sent())
    copy = copy_of(made, "QuotaReserved", "Admitted")
    step = next_step(made, read_workload(copy), Around(WISH, admitted))
    assert isinstance(step.write, PatchJob)
    runs = merge(sent(), step.write.patch)
    assert runs["spec"]["template"]["metadata"]["labels"][WORKER_POD_LABEL] == "true"
    stopped = merge(runs, {"spec": {"suspend": True}})
    evicted = copy_of(made, "QuotaReserved", "Admitted", "Evicted")
    original = msgspec.convert(copy["spec"]["podSets"][0]["template"], TemplateParts)
    step = next_step(read_job(stopped), read_workload(evicted), Around(WISH, admitted, original))
    assert isinstance(step.write, PatchJob)
    restored = merge(stopped, step.write.patch)["spec"]["template"]
    assert restored["metadata"]["labels"] == CLEAN["metadata"]["labels"]
    lost = merge(stopped, {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})
    step = next_step(read_job(lost), None, Around(WISH))
    assert isinstance(step.write, PatchJob)
    left = merge(lost, step.write.patch)["spec"]["template"]["metadata"]["labels"]
    assert WORKER_POD_LABEL not in left


def test_a_job_that_runs_for_a_copy_may_name_another_queue() -> None:
    """Its manager chose the queue of the copy. Stopping and starting would go on for ever."""
    template = merge(CLEAN, {"metadata": {"annotations": {"kueue.x-k8s.io/workload": "w"}}})
    body = sent(suspend=False, template=template)
    copy = read_workload(copy_of(read_job(sent()), "QuotaReserved", "Admitted"))
    body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "other"
    assert next_step(read_job(body), copy, Around(WISH)).write is None


def test_a_job_waits_for_its_prebuilt_workload_also_if_its_class_is_missing() -> None:
    step = next_step(read_job(sent()), None, Around(JobError("no such class")))
    assert (step.write, step.warning_reason) == (None, "PrebuiltWorkloadNotFound")
    assert step.warning == "Workload w does not exist"


def test_a_workload_that_is_being_deleted_is_not_adopted() -> None:
    copy = copy_of(read_job(sent()))
    copy["metadata"] |= {"ownerReferences": [], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert next_step(read_job(sent()), read_workload(copy), Around(WISH)).write is None


# ---- Jobs of other clusters: here the manager


def elsewhere(suspend: bool = True, status: Json | None = None, **spec: Any) -> Json:
    """A Job whose pods run in another cluster."""
    body = job(suspend=suspend, managedBy=GATE, **spec)
    return {**body, "status": status or {}}


def sent_to(made: Json, *true: str, cluster: str | None = "a") -> Workload:
    """Its Workload, which has these conditions, in this cluster."""
    read = read_job(made)
    body = workload_body(read, wish_of(read, NO_CLASSES))
    body["metadata"] |= {"uid": "w", "resourceVersion": "1"}
    body["status"] = {
        "conditions": [condition(kind) for kind in true],
        "admission": {"clusterQueue": "q"},
        **({"clusterName": cluster} if cluster else {}),
    }
    return read_workload(body)


def test_a_job_for_another_cluster_gets_a_workload_and_is_resumed_as_it_is() -> None:
    made = elsewhere()
    assert isinstance(next_step(read_job(made), None, Around(WISH)).write, CreateWorkload)
    waiting = sent_to(made, "QuotaReserved", cluster=None)
    assert next_step(read_job(made), waiting, Around(WISH, admitted)).write is None
    step = next_step(read_job(made), sent_to(made, "QuotaReserved", "Admitted"), Around(WISH, admitted))
    assert isinstance(step.write, PatchJob)
    assert step.write.patch["spec"] == {"suspend": False}
    assert step.event is not None
    assert "runs in cluster a" in step.event.note


def test_a_job_that_no_cluster_was_chosen_for_is_not_resumed() -> None:
    """Its ClusterQueue has no check of MultiKueue: nobody would ever run it."""
    made = elsewhere()
    step = next_step(
        read_job(made), sent_to(made, "QuotaReserved", "Admitted", cluster=None), Around(WISH, admitted)
    )
    assert step.write is None
    assert "chose no cluster" in step.warning


def test_a_start_time_of_an_earlier_attempt_is_removed_before_the_next_one() -> None:
    made = elsewhere(status={"startTime": "2026-01-01T00:00:00Z", "active": 2})
    step = next_step(read_job(made), sent_to(made, "QuotaReserved", "Admitted"), Around(WISH, admitted))
    assert isinstance(step.write, ResetStartTime)


def test_a_job_that_runs_elsewhere_is_not_stopped_for_a_template_without_additions() -> None:
    runs = elsewhere(suspend=False, status={"startTime": "2026-01-01T00:00:00Z", "active": 2})
    step = next_step(read_job(runs), sent_to(runs, "QuotaReserved", "Admitted"), Around(WISH))
    assert step.write is None
    assert not step.reported.runs, "its manager says whether it runs"
    for true in (("QuotaReserved",), ("QuotaReserved", "Admitted", "Evicted"), ()):
        step = next_step(read_job(runs), sent_to(runs, *true), Around(WISH))
        assert isinstance(step.write, PatchJob)
        assert step.write.what == "stop"


@pytest.mark.parametrize("active", [0, 2])
def test_what_is_shown_of_another_cluster_never_says_that_nothing_runs_there(active: int) -> None:
    """5452, and a worker that is lost: `status.active` is what was known last."""
    stopped = elsewhere(status={"active": active, "conditions": [condition("Suspended")]})
    for cluster in ("a", None):
        workload = sent_to(stopped, "QuotaReserved", "Admitted", "Evicted", cluster=cluster)
        reported = next_step(read_job(stopped), workload, Around(WISH)).reported
        assert (reported.nothing_runs, reported.runs) == (cluster is None, False)


def test_a_mirrored_end_is_the_end() -> None:
    status = {"conditions": [condition("Complete", message="done")], "succeeded": 2}
    runs = elsewhere(suspend=False, status=status)
    step = next_step(read_job(runs), sent_to(runs, "QuotaReserved", "Admitted"), Around(WISH))
    assert step.reported == Reported(finished=("Succeeded", "done"))


def test_a_workload_that_is_deleted_stays_while_pods_run_elsewhere() -> None:
    stopped = elsewhere(status={"active": 2})
    workload = sent_to(stopped, "QuotaReserved", "Admitted")
    workload.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    assert next_step(read_job(stopped), workload, Around(WISH, may_run_elsewhere=True)).write is None
    step = next_step(read_job(stopped), workload, Around(WISH))
    assert isinstance(step.write, UnprotectWorkload), "nobody else says what is shown of that cluster"


@pytest.mark.parametrize(
    ("mode", "start", "reclaimable"),
    [
        ("Indexed", "2026-01-01T00:00:00Z", {"main": 1}),
        ("Indexed", None, {}),
        ("NonIndexed", "2026-01-01T00:00:00Z", {}),
    ],
)
def test_only_what_the_present_attempt_has_done_is_reclaimable(
    mode: str, start: str | None, reclaimable: dict[str, int]
) -> None:
    """`succeeded` counts all attempts, and each attempt runs all pods."""
    status = {"startTime": start, "succeeded": 1, "active": 1, "completedIndexes": "0"}
    runs = elsewhere(suspend=False, status=status, completionMode=mode)
    workload = sent_to(runs, "QuotaReserved", "Admitted")
    assert next_step(read_job(runs), workload, Around(WISH)).reported.reclaimable == reclaimable
    stopped = elsewhere(status=status, completionMode=mode)
    evicted = sent_to(stopped, "QuotaReserved", "Admitted", "Evicted")
    assert next_step(read_job(stopped), evicted, Around(WISH)).reported.reclaimable == {}
