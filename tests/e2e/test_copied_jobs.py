"""Jobs and Workloads that a manager of several clusters sends here. Our manager and Kueue's do the same to them.

The manager is played by its writes. What is compared here is what both managers need of a worker.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from controllers.jobs.batch.workload_of import workload_body
from controllers.jobs.owned_workload import Wish
from controllers.multikueue.kinds.bodies import copy_body, job_body
from controllers.multikueue.life.seen import Mark
from hack.controlplane import objects
from hack.controlplane.client import ApiError, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_sandbox import BATCH, QUEUE_NAME, JobSandbox
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for
from tests.kit.jobs import read_job

MARK: Final = Mark("manager", "uid", "2026-01-01T00:00:00Z")
ORIGIN: Final = "origin-of-tests"
POD_LABEL: Final = "kueue.x-k8s.io/multikueue-worker-workload-pod"
NAME: Final = "kueue.x-k8s.io/prebuilt-workload-name"
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"


@pytest.fixture(scope="module")
def box(quota_plane: ControlPlane) -> JobSandbox:
    """A namespace that all tests share. Each has a queue of its own."""
    return JobSandbox(quota_plane, "copies")


class Sent:
    """A Workload of a manager, and its Job."""

    def __init__(self, box: JobSandbox, name: str, queue: str, pods: int = 1, **meta: Any) -> None:
        self.box, self.name = box, name
        pod = objects.pod("template", restartPolicy="Never")["spec"]
        body = {
            "apiVersion": BATCH,
            "kind": "Job",
            "metadata": {"name": name, "namespace": box.name, "labels": {QUEUE_NAME: queue}, **meta},
            "spec": {"parallelism": pods, "completions": pods, "suspend": True, "template": {"spec": pod}},
        }
        path = f"/apis/batch/v1/namespaces/{box.name}/jobs?dryRun=All"
        self._local = box.client.request("POST", path, body)  # as the manager's API server has completed it
        self._workload = workload_body(read_job(self._local), Wish(queue, 5, None, None))
        self.workload: str = self._workload["metadata"]["name"]

    def copy(self, admitted: int | None = None) -> Json:
        """Create the copy. Returns its spec. `admitted`: how many pods have quota on the manager; None: all."""
        if admitted is not None:
            assignments = [{"name": "main", "count": admitted}]
            self._workload["status"] = {"admission": {"podSetAssignments": assignments}}
        made = copy_body(self._workload, MARK, ORIGIN, has_gate=False)
        spec: Json = self.box.client.create(made)["spec"]
        return spec

    def job(self, **spec: Any) -> str:
        """Create the Job. `spec`: what somebody has made of it. Returns its UID."""
        body = job_body(self._local, self._workload, MARK, ORIGIN)
        uid: str = self.box.client.create({**body, "spec": {**body["spec"], **spec}})["metadata"]["uid"]
        return uid

    def evict(self) -> None:
        """What both managers write when the Workload is evicted in their cluster."""
        target = {
            "type": "DeactivationTarget",
            "status": "True",
            "reason": "EvictedOnManagerCluster",
            "message": "Evicted on manager: preempted",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        self.box.set_conditions(self.workload, target)

    def delete(self) -> None:
        """First the Job, then the copy, as Kueue's manager does it."""
        self.box.client.delete(BATCH, "Job", self.name, self.box.name)
        no_finalizers = {"metadata": {"finalizers": None}}
        try:
            self.box.client.patch(KUEUE, "Workload", self.workload, no_finalizers, self.box.name)
        except ApiError as error:
            if error.status != 404:  # it goes with its owner
                raise
            return
        self.box.client.delete(KUEUE, "Workload", self.workload, self.box.name)

    def is_gone(self) -> bool:
        return self.box.client.find(KUEUE, "Workload", self.workload, self.box.name) is None


def test_a_copy_is_admitted_gets_its_job_and_ends_with_it(box: JobSandbox) -> None:
    """13929: a class of the Job's name has another value here. The copy reads back as it was written, always."""
    box.queue("life", 2)
    body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": 99}
    box.client.create({**body, "metadata": {"name": box.of("class")}})
    labels = {QUEUE_NAME: "life", PRIORITY_CLASS: box.of("class")}
    sent = Sent(box, "life", "life", 2, labels=labels)
    spec = sent.copy()
    box.until_admitted(sent.workload)
    uid = sent.job()
    pods = box.until_running("life", 2)
    assert {each["metadata"]["labels"][POD_LABEL] for each in pods} == {"true"}
    adopted = box.get(sent.workload)
    assert [each["uid"] for each in adopted["metadata"]["ownerReferences"]] == [uid]
    assert adopted["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == uid
    box.end_pods("life")
    assert box.until(sent.workload, "Finished")["reason"] == "Succeeded"
    box.rest()
    assert box.get(sent.workload)["spec"] == spec
    sent.delete()
    wait_for(sent.is_gone)


def test_a_long_name_is_read_from_the_annotation(box: JobSandbox) -> None:
    box.queue("long", 1)
    name = "long-" + "x" * 55
    sent = Sent(box, name, "long")
    assert len(sent.workload) > 63
    sent.copy()
    sent.job()
    box.until_running(name, 1)
    assert NAME not in box.get_job(name)["metadata"]["labels"]


def test_a_job_waits_until_its_copy_is_there(box: JobSandbox) -> None:
    box.queue("early", 1)
    sent = Sent(box, "early", "early")
    sent.job()
    box.until_event("early", "PrebuiltWorkloadNotFound", f"Workload {sent.workload} does not exist")
    sent.copy()
    box.until_running("early", 1)


def test_an_eviction_on_the_manager_ends_the_pods_and_frees_the_quota(box: JobSandbox) -> None:
    """5452: no pod stays, and nothing that the deletion leaves."""
    box.queue("evicted", 1)
    sent = Sent(box, "evicted", "evicted")
    sent.copy()
    sent.job()
    box.until_running("evicted", 1)
    sent.evict()
    box.until(sent.workload, "Evicted", "True", "DeactivatedDueToEvictedOnManagerCluster")
    box.until(sent.workload, "QuotaReserved", "False")
    assert box.get(sent.workload)["spec"]["active"] is False
    stopped = box.until_stopped("evicted")
    assert POD_LABEL not in stopped["spec"]["template"]["metadata"]["labels"]
    assert box.pods("evicted") == []
    sent.delete()
    wait_for(sent.is_gone)
    next_one = Sent(box, "after", "evicted")
    next_one.copy()
    box.until_admitted(next_one.workload)


def test_a_copy_without_a_job_gives_its_quota_back_when_it_is_evicted(box: JobSandbox) -> None:
    box.queue("jobless", 1)
    sent = Sent(box, "jobless", "jobless")
    sent.copy()
    box.until_admitted(sent.workload)
    sent.evict()
    box.until(sent.workload, "QuotaReserved", "False")


def test_a_job_that_is_not_what_its_copy_says_ends_the_copy(box: JobSandbox) -> None:
    """13047: it is no end of the Job. The reason tells the manager so."""
    box.queue("differs", 4)
    sent = Sent(box, "differs", "differs")
    sent.copy()
    sent.job(parallelism=2, completions=2)
    found = box.until(sent.workload, "Finished", "True", "OutOfSync")
    assert found["message"] == "The prebuilt workload is out of sync with its user job"
    box.rest()
    assert box.get_job("differs")["spec"]["suspend"]
    assert box.pods("differs") == []


def test_a_job_that_asks_for_more_while_it_runs_ends_its_copy(box: JobSandbox) -> None:
    """13047: by hand, in the worker's cluster."""
    box.queue("grows", 4)
    sent = Sent(box, "grows", "grows")
    sent.copy()
    sent.job(completions=3)
    box.until_running("grows", 1)
    box.patch_job("grows", {"spec": {"parallelism": 2}})
    box.until(sent.workload, "Finished", "True", "OutOfSync")
    box.until_stopped("grows")


def test_a_copy_that_is_deleted_stops_its_job_and_loses_our_finalizer(box: JobSandbox) -> None:
    box.queue("deleted", 1)
    sent = Sent(box, "deleted", "deleted")
    sent.copy()
    sent.job()
    box.until_running("deleted", 1)
    box.client.delete(KUEUE, "Workload", sent.workload, box.name)
    wait_for(sent.is_gone, what=box.report)
    box.until_stopped("deleted")


def test_a_job_of_the_same_name_that_is_not_the_managers_is_left_alone(box: JobSandbox) -> None:
    """12404 and 11849: it keeps its own Workload, and the copy waits without a Job."""
    box.queue("taken", 2)
    sent = Sent(box, "taken", "taken")
    box.job("taken", "taken", 1)
    box.until_running("taken", 1)
    own = box.workload_of("taken")
    sent.copy()
    box.until_admitted(sent.workload)
    with pytest.raises(ApiError, match="already exists"):
        sent.job()
    box.rest()
    assert box.until_running("taken", 1)
    assert box.workload_of("taken") == own != sent.workload
    assert "ownerReferences" not in box.get(sent.workload)["metadata"]
    box.client.delete(KUEUE, "Workload", sent.workload, box.name)
    wait_for(sent.is_gone)
    assert box.until_running("taken", 1)


def test_a_copy_of_a_job_with_partial_admission_starts_with_as_many_pods_as_there_is_quota_for(
    box: JobSandbox,
) -> None:
    """On the manager it has quota for three of four pods. Here there is quota for two."""
    box.queue("fewer", 2)
    sent = Sent(box, "fewer", "fewer", 4, annotations={"kueue.x-k8s.io/job-min-parallelism": "1"})
    assert sent.copy(admitted=3)["podSets"][0]["count"] == 3
    box.until_admitted(sent.workload)
    sent.job()
    box.until_running("fewer", 2)
    sent.evict()
    box.until(sent.workload, "QuotaReserved", "False")
    assert box.until_stopped("fewer")["spec"]["parallelism"] == 3
