"""Which Workloads are sent to other clusters, and why the others are not."""

from __future__ import annotations

import pytest

from api.jobs import JobStatus, end_of
from api.meta import Condition
from controllers.jobs.batch.workload_of import wish_of, workload_body
from controllers.jobs.owned_workload import Classes
from controllers.multikueue.kinds.batch_job import BATCH_JOB
from controllers.multikueue.kinds.registry import kind_of, why_no_adapter
from tests.kit.jobs import job, read_job, read_workload

GATE = "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        (None, "No multikueue adapter found"),
        (("v1", "Pod"), 'No multikueue adapter found for owner kind "/v1, Kind=Pod"'),
        (
            ("kubeflow.org/v2beta1", "MPIJob"),
            'No multikueue adapter found for owner kind "kubeflow.org/v2beta1, Kind=MPIJob"',
        ),
        (("batch/v1", "Job"), ""),
    ],
)
def test_only_jobs_are_sent(owner: tuple[str, str] | None, message: str) -> None:
    body = workload_body(made := read_job(job()), wish_of(made, Classes({}, {})))
    if owner is None:
        body["metadata"]["ownerReferences"][0]["controller"] = False
    else:
        body["metadata"]["ownerReferences"][0] |= {"apiVersion": owner[0], "kind": owner[1]}
    workload = read_workload(body)
    assert why_no_adapter(workload, None) == message
    assert (kind_of(workload) is BATCH_JOB) == (message == "")


@pytest.mark.parametrize("managed_by", [None, "kubernetes.io/job-controller"])
def test_a_job_that_somebody_else_manages_is_not_sent(managed_by: str | None) -> None:
    made = read_job(job(managedBy=managed_by))
    workload = read_workload(workload_body(made, wish_of(made, Classes({}, {}))))
    wanted = f'Expecting spec.managedBy to be "{GATE}" not "{managed_by or ""}"'
    assert why_no_adapter(workload, made) == f"The owner is not managed by Kueue: {wanted}"


@pytest.mark.parametrize("of_job", [False, True])
def test_an_elastic_job_is_not_sent_and_the_reason_names_the_annotation(of_job: bool) -> None:
    body = job(managedBy=GATE)
    made = read_job(body)
    workload = workload_body(made, wish_of(made, Classes({}, {})))
    (body if of_job else workload)["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    assert "elastic Jobs" in why_no_adapter(read_workload(workload), read_job(body))
    assert why_no_adapter(read_workload(workload_body(made, wish_of(made, Classes({}, {})))), made) == ""


def test_the_end_there_is_the_end_here() -> None:
    def status(kind: str, value: str, message: str = "") -> JobStatus:
        return JobStatus(conditions=[Condition(kind, value, "R", message)])

    assert end_of(status("Complete", "True")) == ("Succeeded", "Job finished successfully")
    assert end_of(status("Failed", "True", "too many")) == ("Failed", "too many")
    assert end_of(status("Failed", "False")) is None
    assert end_of(status("FailureTarget", "True")) is None
    assert end_of(JobStatus()) is None


def test_a_status_is_written_as_a_patch_that_also_removes() -> None:
    made = job(managedBy=GATE)
    made["status"] |= {"uncountedTerminatedPods": {}, "startTime": "2026-01-01T00:00:00Z"}
    patch = BATCH_JOB.mirrored(made, {"active": 2, "ready": 1})
    assert patch == {
        "active": 2,
        "ready": 1,
        "startTime": None,
        "uncountedTerminatedPods": None,
        "conditions": None,
    }
    assert (
        BATCH_JOB.mirrored({**made, "status": {"active": 2, "ready": 1}}, {"active": 2, "ready": 1}) is None
    )
