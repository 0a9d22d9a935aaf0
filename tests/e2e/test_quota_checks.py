"""Admission checks and their retries on a real API server (KEP-3258)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hack.controlplane.client import Json
from tests.e2e.quota_sandbox import KUEUE, QuotaSandbox
from tests.e2e.support import wait_for

Sandboxes = Callable[[str], QuotaSandbox]
DELAY_SECONDS = 3


def checked(quotas: Sandboxes, name: str, *checks: str, cpus: int = 1) -> tuple[QuotaSandbox, list[str]]:
    """A queue that requires these checks. Returns their full names."""
    box = quotas(name)
    found = [box.check(each) for each in checks]
    strategy: Json = {"admissionChecks": [{"name": each} for each in found]}
    box.queue("q", cpus, admissionChecksStrategy=strategy)
    return box, found


def states(box: QuotaSandbox, name: str) -> dict[str, str]:
    found = box.get(name).get("status", {}).get("admissionChecks", [])
    return {each["name"].removeprefix(f"{box.name}-"): each["state"] for each in found}


def test_a_workload_is_admitted_when_all_checks_are_ready(quotas: Sandboxes) -> None:
    box, (one, two) = checked(quotas, "ready", "one", "two")
    box.workload("w", "q", 1)
    box.until("w", "Admitted", "False", "UnsatisfiedAdmissionChecks")
    assert states(box, "w") == {"one": "Pending", "two": "Pending"}
    box.set_check("w", one, "Ready")
    box.rest()
    assert not box.is_true("w", "Admitted")
    box.set_check("w", two, "Ready")
    box.until_admitted("w")


@pytest.mark.parametrize("delay", [None, 0])
def test_a_retry_without_a_delay_is_tried_again_at_once(quotas: Sandboxes, delay: int | None) -> None:
    box, (one,) = checked(quotas, "nil", "one")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved")
    box.set_check("w", one, "Retry", **({} if delay is None else {"requeueAfterSeconds": delay}))
    box.until("w", "Requeued", "True", "BackoffFinished")
    box.until("w", "QuotaReserved")
    (check,) = box.get("w")["status"]["admissionChecks"]
    assert (check["state"], check["retryCount"]) == ("Pending", 1)


def test_quota_is_free_during_the_delay(quotas: Sandboxes) -> None:
    box, (one,) = checked(quotas, "delay", "one")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved")
    box.set_check("w", one, "Retry", requeueAfterSeconds=1000)
    box.until("w", "Evicted", "True", "AdmissionCheck")
    box.until("w", "Requeued", "False", "AdmissionCheck")
    assert "requeueAt" in box.get("w")["status"]["requeueState"]
    assert states(box, "w") == {"one": "Retry"}
    box.workload("other", "q", 1)
    box.until("other", "QuotaReserved")
    box.rest()
    assert not box.is_true("w", "QuotaReserved")


def test_the_longest_of_several_delays_counts(quotas: Sandboxes) -> None:
    box, (one, two) = checked(quotas, "several", "one", "two")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved")
    box.set_check("w", one, "Retry", requeueAfterSeconds=1000)
    box.until("w", "QuotaReserved", "False")
    first = box.get("w")["status"]["requeueState"]["requeueAt"]
    box.set_check("w", two, "Retry", requeueAfterSeconds=2000)  # late: the quota is gone already
    wait_for(lambda: box.get("w")["status"]["requeueState"]["requeueAt"] > first)
    box.change_status(
        "w",
        lambda status: {
            "admissionChecks": [
                {**each, "lastTransitionTime": "2026-01-01T00:00:00Z"} for each in status["admissionChecks"]
            ]
        },
    )
    box.until("w", "Requeued", "True", "BackoffFinished")
    status = box.get("w")["status"]
    assert {each["retryCount"] for each in status["admissionChecks"]} == {1}
    box.until("w", "QuotaReserved")
    assert states(box, "w") == {"one": "Pending", "two": "Pending"}


def test_a_late_retry_on_a_workload_that_has_quota_again_is_a_new_one(quotas: Sandboxes) -> None:
    box, (one, two) = checked(quotas, "late", "one", "two")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved")
    box.set_check("w", one, "Retry")
    box.until("w", "Requeued", "True", "BackoffFinished")
    box.until("w", "QuotaReserved")
    box.set_check("w", two, "Retry", requeueAfterSeconds=DELAY_SECONDS)
    box.until("w", "QuotaReserved", "False")
    box.until("w", "QuotaReserved")
    counts = {each["name"]: each.get("retryCount") for each in box.get("w")["status"]["admissionChecks"]}
    assert counts == {one: 1, two: 1}


def test_a_rejected_check_deactivates(quotas: Sandboxes) -> None:
    box, (one,) = checked(quotas, "reject", "one")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved")
    box.set_check("w", one, "Rejected", message="no budget")
    said = f'due to AdmissionCheck in Rejected state: "{one}" (no budget)'
    evicted = box.until("w", "Evicted", "True", "DeactivatedDueToAdmissionCheck")
    assert evicted["message"] == f"The workload is deactivated {said}"
    assert box.get("w")["spec"]["active"] is False

    def notes() -> list[str]:
        found = box.client.list("events.k8s.io/v1", "Event", box.name)
        return [each["note"] for each in found if each["reason"] == "AdmissionCheckRejected"]

    wait_for(lambda: notes() == [f"Deactivated {said}"], what=notes)
    labels = f'{{cluster_queue="{box.of("q")}",reason="Deactivated",underlying_cause="AdmissionCheck"}}'
    wait_for(lambda: f"kueue_evicted_workloads_once_total{labels} 1.0" in box.metrics(), what=box.metrics)
    assert not box.is_true("w", "QuotaReserved")


def test_an_admitted_workload_keeps_its_quota_until_it_has_ended(quotas: Sandboxes) -> None:
    box, (one,) = checked(quotas, "admitted", "one")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved")
    box.set_check("w", one, "Ready")
    box.until_admitted("w")
    box.set_check("w", one, "Retry", requeueAfterSeconds=1)
    box.until("w", "Evicted", "True", "AdmissionCheck")
    box.rest()
    assert box.is_true("w", "QuotaReserved")
    box.end("w")
    box.until("w", "Requeued", "True", "BackoffFinished")
    box.until("w", "QuotaReserved")


def test_the_delay_goes_on_after_a_restart(quotas: Sandboxes) -> None:
    box, (one,) = checked(quotas, "restart", "one")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved")
    box.set_check("w", one, "Retry", requeueAfterSeconds=DELAY_SECONDS)
    box.until("w", "QuotaReserved", "False")
    box.plane.reprieve.kill()
    box.plane.start_reprieve()
    box.until("w", "Requeued", "True", "BackoffFinished")
    box.until("w", "QuotaReserved")


def test_a_check_that_is_not_active_stops_the_queue(quotas: Sandboxes) -> None:
    box, (one,) = checked(quotas, "inactive", "one")
    inactive: Json = {
        "type": "Active",
        "status": "False",
        "reason": "x",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    box.patch_status("AdmissionCheck", one, {"conditions": [inactive]})
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved", "False", "Suspended")
    box.patch_status("AdmissionCheck", one, {"conditions": [inactive | {"status": "True"}]})
    box.until("w", "QuotaReserved")


def test_a_queue_that_is_being_deleted_is_not_held_by_quota_that_is_only_reserved(quotas: Sandboxes) -> None:
    """As in Kueue: its check may never be ready. A Workload that is admitted holds the queue until it has ended."""
    box, (one,) = checked(quotas, "gone", "one", cpus=2)
    box.workload("runs", "q", 1)
    box.until("runs", "QuotaReserved")
    box.set_check("runs", one, "Ready")
    box.until_admitted("runs")
    box.workload("waits", "q", 1)
    box.until("waits", "Admitted", "False", "UnsatisfiedAdmissionChecks")
    box.client.delete(KUEUE, "ClusterQueue", box.of("q"))
    box.until("waits", "QuotaReserved", "False", "Suspended")
    assert "admission" not in box.get("waits")["status"]
    assert not box.is_true("waits", "Evicted")
    box.rest()
    assert box.is_true("runs", "Admitted")
    assert box.client.find(KUEUE, "ClusterQueue", box.of("q")) is not None
    box.finish("runs")
    wait_for(lambda: box.client.find(KUEUE, "ClusterQueue", box.of("q")) is None)


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_queue_that_is_stopped_takes_quota_back_that_is_only_reserved(
    quotas: Sandboxes, policy: str
) -> None:
    box, (one,) = checked(quotas, f"stopped-{policy.lower()}", "one")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved")
    box.patch_spec("ClusterQueue", box.of("q"), {"stopPolicy": policy})
    box.until("w", "QuotaReserved", "False", "Suspended")
    assert not box.is_true("w", "Evicted")
    box.patch_spec("ClusterQueue", box.of("q"), {"stopPolicy": "None"})
    box.until("w", "QuotaReserved")
    box.set_check("w", one, "Ready")
    box.until_admitted("w")
