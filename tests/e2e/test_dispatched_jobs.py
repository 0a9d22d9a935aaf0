"""Jobs that run in another cluster, as the controller of Jobs sees them. The manager is played by its writes."""

from __future__ import annotations

from typing import Final

import pytest

from api.times import rfc3339
from controllers.multikueue.kinds.job_status import mirrored_status, status_patch
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_sandbox import JobSandbox
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for

GATE: Final = "kueue.x-k8s.io/multikueue"
START: Final = "2026-01-01T00:00:01Z"


@pytest.fixture(scope="module")
def box(quota_plane: ControlPlane) -> JobSandbox:
    """A namespace that all tests share. Each has a queue of its own."""
    return JobSandbox(quota_plane, "dispatched")


def started(box: JobSandbox, name: str) -> str:
    """A Job that another cluster has. Returns its Workload."""
    check = box.check(f"{name}-clusters")
    box.queue(name, 2, admissionChecksStrategy={"admissionChecks": [{"name": check}]})
    box.job(name, name, 2, managedBy=GATE)
    workload = box.workload_of(name)
    box.until(workload, "QuotaReserved")
    assert box.get_job(name)["spec"]["suspend"]
    box.change_status(workload, lambda _: {"nominatedClusterNames": ["a", "b"]})
    box.change_status(workload, lambda _: {"nominatedClusterNames": None, "clusterName": "a"})
    box.set_check(workload, check, "Ready")
    wait_for(lambda: not box.get_job(name)["spec"]["suspend"], what=lambda: box.told(name))
    return workload


def mirror(box: JobSandbox, name: str, remote: Json) -> None:
    job = box.get_job(name)
    status = mirrored_status(job, remote)
    assert status is not None
    box.patch_job(name, {"status": status_patch(job, status)}, "status")


def test_a_job_is_resumed_as_it_is_and_ends_as_it_ends_elsewhere(box: JobSandbox) -> None:
    workload = started(box, "ends")
    box.until_event("ends", "Started", "runs in cluster a")
    job = box.get_job("ends")
    assert "nodeSelector" not in job["spec"]["template"]["spec"]
    assert "annotations" not in job["spec"]["template"]["metadata"]
    mirror(box, "ends", {"active": 2, "ready": 2, "startTime": START})
    box.rest()
    assert not box.get_job("ends")["spec"]["suspend"], "nobody stops it for a template without additions"
    said = {"status": "True", "lastTransitionTime": START, "reason": "R", "message": "done"}
    end = [{**said, "type": kind} for kind in ("SuccessCriteriaMet", "Complete")]
    mirror(
        box, "ends", {"succeeded": 2, "startTime": START, "completionTime": rfc3339(1.8e9), "conditions": end}
    )
    found = box.until(workload, "Finished")
    assert (found["reason"], found["message"]) == ("Succeeded", "done")
    assert box.pods("ends") == []


def test_an_eviction_suspends_the_job_and_its_quota_waits_for_the_manager(box: JobSandbox) -> None:
    """No manager runs in this process: nobody says that nothing runs there, whatever the Job's status shows."""
    workload = started(box, "waits")
    mirror(box, "waits", {"active": 1, "startTime": START})
    box.patch_spec("Workload", workload, {"active": False}, namespaced=True)
    wait_for(lambda: box.get_job("waits")["spec"]["suspend"], what=lambda: box.told("waits"))
    mirror(box, "waits", {})
    box.rest()
    assert box.is_true(workload, "QuotaReserved")
    assert box.get(workload)["status"]["clusterName"] == "a"


def test_a_job_that_no_cluster_has_is_not_resumed(box: JobSandbox) -> None:
    """Its ClusterQueue has no admission check of a manager."""
    box.queue("nowhere", 1)
    box.job("nowhere", "nowhere", 1, managedBy=GATE)
    box.until_admitted(box.workload_of("nowhere"))
    box.until_event("nowhere", "ErrWorkloadCompose", "chose no cluster")
    assert box.get_job("nowhere")["spec"]["suspend"]


def test_a_workload_of_a_job_elsewhere_can_be_deleted_where_no_manager_runs(box: JobSandbox) -> None:
    workload = started(box, "leaves")
    uid = box.get(workload)["metadata"]["uid"]
    box.client.delete(KUEUE, "Workload", workload, box.name)

    def is_new() -> bool:
        found = box.client.find(KUEUE, "Workload", workload, box.name)
        return found is None or found["metadata"]["uid"] != uid

    wait_for(is_new, what=box.report)
    wait_for(lambda: box.get_job("leaves")["spec"]["suspend"], what=lambda: box.told("leaves"))
