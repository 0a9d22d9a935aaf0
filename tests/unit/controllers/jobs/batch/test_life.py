"""Steps that random lives do not reach."""

from __future__ import annotations

from api.integration import PREBUILT_WORKLOAD_LABEL
from api.kueue import RESOURCE_IN_USE
from controllers.jobs.batch.life import Around, ChangeWorkload, PatchJob, next_step
from controllers.jobs.batch.workload_of import wish_of, workload_body
from controllers.jobs.owned_workload import Classes, JobError
from tests.kit.jobs import CLEAN, UID, condition, job, merge, read_job, read_workload


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
