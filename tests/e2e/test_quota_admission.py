"""Workloads get quota, wait for it and give it back, on a real API server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controllers.quota.scheduling.texts import SAID
from hack.controlplane.client import Json
from tests.e2e.quota_sandbox import KUEUE, QuotaSandbox
from tests.e2e.served import asked, differences, not_served
from tests.e2e.support import condition, wait_for

Sandboxes = Callable[[str], QuotaSandbox]


def test_an_admission_is_one_write(quotas: Sandboxes) -> None:
    box = quotas("admit")
    box.queue("q", 2)
    created = int(box.client.get(KUEUE, "ClusterQueue", box.of("q"))["metadata"]["resourceVersion"])
    box.workload("one", "q", 2)
    box.until_admitted("one")
    seen = [
        each for each in box.client.list(KUEUE, "Workload", box.name) if each["metadata"]["name"] == "one"
    ]
    (found,) = seen
    assert created < int(found["metadata"]["resourceVersion"])
    assert found["status"]["admission"]["podSetAssignments"] == [
        {"name": "main", "count": 1, "flavors": {"cpu": box.flavor}, "resourceUsage": {"cpu": "2"}}
    ]
    times = {each["lastTransitionTime"] for each in found["status"]["conditions"]}
    assert len(times) == 1
    wait_for(lambda: box.events("one"))
    assert box.events("one") == ["Admitted"], "one event says both"


def test_the_dashboard_finds_the_metrics_of_queues(quotas: Sandboxes) -> None:
    box = quotas("metrics")
    box.queue("q", 1)
    box.workload("one", "q", 1)
    box.until_admitted("one")
    url, queues = box.plane.ops_url, [each for each in asked() if each.name.startswith("kueue_")]
    assert len(queues) > 2
    assert differences(url) == not_served(url, queues) == []


def test_what_does_not_fit_waits_and_says_why(quotas: Sandboxes) -> None:
    box = quotas("wait")
    box.queue("q", 2)
    box.workload("first", "q", 2)
    box.until_admitted("first")
    box.workload("second", "q", 1)
    box.workload("huge", "q", 3, priority=-1)
    box.until("second", "QuotaReserved", "False", "WaitingForQuota")
    box.until("huge", "QuotaReserved", "False", "ExceedsMaxQuota")
    box.finish("first")
    box.until_admitted("second")


def test_priority_comes_before_age_also_when_it_changes(quotas: Sandboxes) -> None:
    box = quotas("order")
    box.queue("q", 1)
    box.workload("runs", "q", 1)
    box.until_admitted("runs")
    box.workload("old", "q", 1)
    box.workload("urgent", "q", 1, priority=1)
    box.workload("raised", "q", 1)
    box.patch_spec("Workload", "raised", {"priority": 2}, namespaced=True)
    box.rest()
    for done, following in (("runs", "raised"), ("raised", "urgent"), ("urgent", "old")):
        box.finish(done)
        box.until_admitted(following)


def test_strict_fifo_blocks_and_best_effort_passes(quotas: Sandboxes) -> None:
    box = quotas("fifo")
    box.queue("strict", 2, queueingStrategy="StrictFIFO")
    box.queue("best", 2, queueingStrategy="BestEffortFIFO")
    for queue in ("strict", "best"):
        box.workload(f"{queue}-runs", queue, 1)
        box.until_admitted(f"{queue}-runs")
        box.workload(f"{queue}-large", queue, 2, priority=1)
        box.until(f"{queue}-large", "QuotaReserved", "False")
        box.workload(f"{queue}-small", queue, 1)
    box.until_admitted("best-small")
    box.rest()
    assert not box.is_true("strict-small", "Admitted")
    box.finish("strict-runs")
    box.until_admitted("strict-large")


def test_those_that_are_parked_with_an_equal_say_why_they_wait(quotas: Sandboxes) -> None:
    box = quotas("equals")
    box.queue("q", 1)
    box.workload("runs", "q", 1)
    box.until_admitted("runs")
    box.patch_spec("LocalQueue", "q", {"stopPolicy": "Hold"}, namespaced=True)
    equals = [box.workload(f"equal{number}", "q", 1) for number in range(5)]
    for each in equals:
        box.until(each, "QuotaReserved", "False", "Suspended")
    box.patch_spec("LocalQueue", "q", {"stopPolicy": "None"}, namespaced=True)
    texts = [box.until(each, "QuotaReserved", "False", "WaitingForQuota")["message"] for each in equals]
    assert texts.count(SAID) == len(equals) - 1, texts


def test_who_waits_behind_a_head_does_not_say_for_ever_that_its_queue_is_stopped(quotas: Sandboxes) -> None:
    box = quotas("behind")
    box.queue("q", 1, queueingStrategy="StrictFIFO")
    box.workload("runs", "q", 1)
    box.until_admitted("runs")
    box.patch_spec("LocalQueue", "q", {"stopPolicy": "Hold"}, namespaced=True)
    box.workload("head", "q", 1, priority=1)
    box.workload("behind", "q", 1)
    for each in ("head", "behind"):
        box.until(each, "QuotaReserved", "False", "Suspended")
    box.patch_spec("LocalQueue", "q", {"stopPolicy": "None"}, namespaced=True)
    box.until("head", "QuotaReserved", "False", "WaitingForQuota")
    box.until("behind", "QuotaReserved", "False", "PendingEvaluation")


def test_queues_borrow_from_their_cohort(quotas: Sandboxes) -> None:
    box = quotas("borrow")
    box.queue("a", 2, cohort="team", borrowing=1)
    box.queue("b", 2, cohort="team")
    box.workload("three", "a", 3)
    box.until_admitted("three")
    box.workload("four", "b", 2)
    box.until("four", "QuotaReserved", "False", "WaitingForQuota")

    def borrowed() -> bool:
        status = box.client.get(KUEUE, "ClusterQueue", box.of("a")).get("status", {})
        flavors = status.get("flavorsReservation", [])
        return [each["resources"][0]["borrowed"] for each in flavors] == ["1"]

    wait_for(borrowed)


def test_lowered_quota_evicts_nobody_and_raised_quota_admits(quotas: Sandboxes) -> None:
    box = quotas("quota")
    box.queue("q", 2)
    box.workload("one", "q", 2)
    box.until_admitted("one")

    def set_quota(cpus: int) -> None:
        quota = {"name": box.flavor, "resources": [{"name": "cpu", "nominalQuota": cpus}]}
        box.patch_spec(
            "ClusterQueue",
            box.of("q"),
            {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}]},
        )

    set_quota(1)
    box.workload("two", "q", 2)
    box.until("two", "QuotaReserved", "False")
    box.rest()
    assert box.admitted() == {"one"}
    set_quota(4)
    box.until_admitted("two")


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_a_stopped_queue_holds_and_drains(quotas: Sandboxes, kind: str) -> None:
    box = quotas("stop")
    box.queue("q", 2)
    box.workload("runs", "q", 1)
    box.until_admitted("runs")
    name, namespaced = (box.of("q"), False) if kind == "ClusterQueue" else ("q", True)
    box.patch_spec(kind, name, {"stopPolicy": "Hold"}, namespaced=namespaced)
    box.workload("waits", "q", 1)
    box.until("waits", "QuotaReserved", "False", "Suspended")
    assert box.admitted() == {"runs"}
    box.patch_spec(kind, name, {"stopPolicy": "HoldAndDrain"}, namespaced=namespaced)
    box.until("runs", "Evicted", "True", f"{kind}Stopped")
    box.end("runs")
    box.until("runs", "Admitted", "False", "NoReservation")
    box.patch_spec(kind, name, {"stopPolicy": "None"}, namespaced=namespaced)
    box.until_admitted("runs", "waits")
    assert box.conditions("runs")["Requeued"] == ("True", f"{kind}Restarted")


def test_queues_may_come_later(quotas: Sandboxes) -> None:
    box = quotas("later")
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved", "False", "Misconfigured")
    box.local_queue("q", "q")
    box.rest()
    box.cluster_queue("q", 1)
    box.until_admitted("w")


def test_a_deactivated_workload_gives_its_quota_back_and_may_return(quotas: Sandboxes) -> None:
    box = quotas("active")
    box.queue("q", 1)
    box.workload("w", "q", 1)
    box.until_admitted("w")
    box.patch_spec("Workload", "w", {"active": False}, namespaced=True)
    box.until("w", "Evicted", "True", "Deactivated")
    box.end("w")
    box.workload("next", "q", 1)
    box.until_admitted("next")
    box.patch_spec("Workload", "w", {"active": True}, namespaced=True)
    box.until("w", "Requeued", "True", "Reactivated")
    box.finish("next")
    box.until_admitted("w")


def test_a_deactivated_workload_holds_its_quota_until_it_has_ended(quotas: Sandboxes) -> None:
    """Also if it is activated again meanwhile."""
    box = quotas("again")
    box.queue("q", 1)
    box.workload("w", "q", 1)
    box.until_admitted("w")
    box.workload("next", "q", 1, priority=1)
    box.patch_spec("Workload", "w", {"active": False}, namespaced=True)
    box.until("w", "Evicted", "True", "Deactivated")
    box.patch_spec("Workload", "w", {"active": True}, namespaced=True)
    box.rest()
    assert box.is_true("w", "QuotaReserved")
    assert not box.is_true("next", "QuotaReserved")
    box.end("w")
    box.until_admitted("next")
    box.until("w", "Requeued", "True", "Reactivated")


def test_a_workload_that_cannot_be_read_after_a_restart_holds_its_quota(quotas: Sandboxes) -> None:
    box = quotas("unread")
    box.queue("q", 1)
    box.workload("w", "q", 1)
    box.until_admitted("w")
    no_time = {"count": 1, "requeueAt": "2026-01-01T00:00:00+25:00"}
    box.patch_status("Workload", "w", {"requeueState": no_time}, namespaced=True)
    box.plane.reprieve.kill()
    box.plane.start_reprieve()
    box.workload("next", "q", 1)
    box.until("next", "QuotaReserved", "False", "WaitingForQuota")

    def says_so() -> bool:
        active = condition(box.client.get(KUEUE, "ClusterQueue", box.of("q")), "Active")
        return active is not None and active["message"].endswith("/w (only its admission is known)")

    wait_for(says_so)
    box.patch_status("Workload", "w", {"requeueState": None}, namespaced=True)
    wait_for(lambda: not says_so())
    assert box.admitted() == {"w"}
    box.finish("w")
    box.until_admitted("next")


def test_a_workload_that_runs_too_long_is_deactivated(quotas: Sandboxes) -> None:
    box = quotas("long")
    box.queue("q", 1)
    box.workload("w", "q", 1, maximumExecutionTimeSeconds=100)
    box.until_admitted("w")
    box.set_since("w", "Admitted", 200)
    box.until("w", "Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded")
    assert box.get("w")["spec"]["active"] is False
    box.end("w")
    box.until("w", "Admitted", "False")
    assert "accumulatedPastExecutionTimeSeconds" not in box.get("w")["status"]
    box.patch_spec("Workload", "w", {"active": True}, namespaced=True)
    box.until_admitted("w")  # it has the whole time again
    box.rest()
    assert box.is_true("w", "Admitted")


def test_reclaimable_pods_give_quota_back(quotas: Sandboxes) -> None:
    box = quotas("reclaim")
    box.queue("q", 2)
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": 1}}}
    pods = {"name": "main", "count": 2, "template": {"spec": {"containers": [container]}}}
    box.workload("two", "q", 1, podSets=[pods])
    box.until_admitted("two")
    box.workload("one", "q", 1)
    box.until("one", "QuotaReserved", "False")
    box.change_status("two", lambda _: {"reclaimablePods": [{"name": "main", "count": 1}]})
    box.until_admitted("one")


def test_an_annotation_holds_a_workload_back(quotas: Sandboxes) -> None:
    box = quotas("gated")
    box.queue("q", 1)
    box.workload("w", "q", 1, annotations={"kueue.x-k8s.io/admission-gated-by": "example.com/one"})
    box.until("w", "QuotaReserved", "False", "AdmissionGated")
    box.client.patch(
        KUEUE,
        "Workload",
        "w",
        {"metadata": {"annotations": {"kueue.x-k8s.io/admission-gated-by": None}}},
        box.name,
    )
    box.until_admitted("w")


def test_namespaces_are_selected_by_their_labels(quotas: Sandboxes) -> None:
    box = quotas("select")
    box.queue("q", 1, namespaceSelector={"matchLabels": {"team": "blue"}})
    box.workload("w", "q", 1)
    box.until("w", "QuotaReserved", "False", "Misconfigured")
    box.client.patch("v1", "Namespace", box.name, {"metadata": {"labels": {"team": "blue"}}})
    box.until_admitted("w")


def test_queues_count_their_workloads(quotas: Sandboxes) -> None:
    box = quotas("count")
    box.queue("q", 1)
    for name in ("a", "b", "c"):
        box.workload(name, "q", 1)

    def numbers(kind: str, name: str, namespace: str | None) -> list[int]:
        status = box.client.get(KUEUE, kind, name, namespace).get("status", {})
        return [status.get(f"{field}Workloads", 0) for field in ("pending", "reserving", "admitted")]

    wait_for(lambda: numbers("ClusterQueue", box.of("q"), None) == [2, 1, 1])
    wait_for(lambda: numbers("LocalQueue", "q", box.name) == [2, 1, 1])
    active = condition(box.client.get(KUEUE, "ClusterQueue", box.of("q")), "Active")
    assert active is not None
    assert active["reason"] == "Ready"


def test_requests_count_as_the_pods_will_have_them(quotas: Sandboxes) -> None:
    """A Workload that was parked comes back when a LimitRange or a RuntimeClass changes."""
    box = quotas("requests")
    box.queue("q", 3)
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits", "namespace": box.name},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": 2}, "defaultRequest": {"cpu": 1}}]},
    }
    box.client.create(limits)
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": box.of("kata")},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "1500m"}},
    }

    def pods(resources: Json, **spec: Json | str) -> list[Json]:
        container = {"name": "c", "image": "none", "resources": resources}
        return [{"name": "main", "count": 1, "template": {"spec": {"containers": [container], **spec}}}]

    box.workload("default", "q", 0, podSets=pods({}))
    box.workload("large", "q", 0, podSets=pods({"requests": {"cpu": 3}, "limits": {"cpu": 3}}))
    box.workload(
        "class", "q", 0, podSets=pods({"requests": {"cpu": "500m"}}, runtimeClassName=box.of("kata"))
    )
    box.until_admitted("default")
    refused = box.until("large", "QuotaReserved", "False", "Misconfigured")
    assert "requests must not be above the limitRange max" in refused["message"]
    refused = box.until("class", "QuotaReserved", "False", "Misconfigured")
    assert f"RuntimeClass {box.of('kata')} doesn't exist" in refused["message"]

    box.client.create(runtime)
    box.until_admitted("class")
    used = {name: box.get(name)["status"]["admission"]["podSetAssignments"] for name in ("default", "class")}
    assert [each[0]["resourceUsage"] for each in used.values()] == [{"cpu": "1"}, {"cpu": "2"}]
    spec = {"limits": [{"type": "Container", "max": {"cpu": 4}, "defaultRequest": {"cpu": 1}}]}
    box.client.patch("v1", "LimitRange", "limits", {"spec": spec}, box.name)
    box.until("large", "QuotaReserved", "False", "WaitingForQuota")
    box.client.delete("node.k8s.io/v1", "RuntimeClass", box.of("kata"))
