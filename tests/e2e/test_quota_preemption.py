"""Preemptions between queues on a real API server: KEP-1337, KEP-8522, KEP-8303, and the promise of freed quota."""

from __future__ import annotations

import time
from collections.abc import Callable

from hack.controlplane.client import Json
from tests.e2e.quota_sandbox import KUEUE, QuotaSandbox
from tests.e2e.support import condition, wait_for

Sandboxes = Callable[[str], QuotaSandbox]
CLOCK_SECONDS = 1.1
"""Times in objects have whole seconds. Two Workloads of one second are ordered by UID."""
WITHIN: Json = {"withinClusterQueue": "LowerPriority"}


def evicted(box: QuotaSandbox) -> set[str]:
    return {name for name in box.names() if box.is_true(name, "Evicted")}


def test_a_higher_priority_preempts_and_its_victim_comes_back(quotas: Sandboxes) -> None:
    box = quotas("within")
    box.queue("q", 2, preemption=WITHIN)
    box.workload("low", "q", 2)
    box.until_admitted("low")
    box.workload("high", "q", 1, priority=10)
    message = box.until("low", "Preempted", "True", "InClusterQueue")["message"]
    assert f"UID: {box.get('high')['metadata']['uid']}" in message
    box.until("low", "Evicted", "True", "Preempted")
    box.until("high", "QuotaReserved", "False", "WaitingForPreemptedWorkloads")
    box.end("low")
    box.until_admitted("high")
    box.until("low", "QuotaReserved", "False", "WaitingForQuota")
    box.finish("high")
    box.until_admitted("low")
    assert box.conditions("low")["Evicted"] == ("False", "QuotaReserved")
    stats = box.get("low")["status"]["schedulingStats"]
    assert stats["evictions"] == [{"reason": "Preempted", "underlyingCause": "", "count": 1}]


def test_a_victim_is_evicted_once_however_many_cycles_look_at_it(quotas: Sandboxes) -> None:
    box = quotas("once")
    box.queue("q", 2, preemption=WITHIN)
    box.workload("low", "q", 2)
    box.until_admitted("low")
    box.workload("high", "q", 2, priority=10)
    box.until("low", "Evicted")
    version = box.get("low")["metadata"]["resourceVersion"]
    for number in range(5):
        box.workload(f"other{number}", "q", 1)
        time.sleep(0.1)
    box.rest()
    assert box.get("low")["metadata"]["resourceVersion"] == version
    assert box.events("low").count("Preempted") <= 1


def test_a_preemptor_says_that_an_eviction_failed_and_it_is_tried_again(quotas: Sandboxes) -> None:
    box = quotas("refused")
    box.queue("q", 2, preemption=WITHIN)
    box.workload("low", "q", 2)
    box.until_admitted("low")
    end = box.forbid_evictions()
    box.workload("high", "q", 1, priority=10)
    text = "; 1 eviction failed, and the write is retried: 422 Invalid"
    wait_for(lambda: said(box, "high").endswith(text), what=lambda: said(box, "high"))
    assert not box.is_true("low", "Evicted")
    end()
    box.until("low", "Evicted", "True", "Preempted")
    wait_for(lambda: not said(box, "high").endswith(text))
    box.end("low")
    box.until_admitted("high")


def said(box: QuotaSandbox, name: str) -> str:
    """Why a Workload has no quota."""
    found = condition(box.get(name), "QuotaReserved")
    return "" if found is None else str(found["message"])


def test_freed_quota_belongs_to_the_preemptor(quotas: Sandboxes) -> None:
    """A victim that ends early does not take the room back, and nobody of equal priority does."""
    box = quotas("promise")
    box.queue("a", 2, cohort="team", preemption=WITHIN)
    box.queue("b", 2, cohort="team")
    box.workload("low1", "a", 2)
    box.workload("low2", "a", 2)
    box.until_admitted("low1", "low2")
    box.workload("high", "a", 4, priority=10)
    box.until("high", "QuotaReserved", "False")
    reason = box.conditions("high")["QuotaReserved"][1]
    if reason != "WaitingForPreemptedWorkloads":
        # It needs more than the nominal quota of its queue: so only borrowWithinCohort could preempt for it.
        box.client.delete("kueue.x-k8s.io/v1beta2", "Workload", "high", box.name)
        box.workload("high2", "a", 2, priority=10)
        box.until("high2", "QuotaReserved", "False", "WaitingForPreemptedWorkloads")
    (victim,) = wait_for(lambda: evicted(box))
    box.workload("equal", "b", 2, priority=10)
    box.end(victim)
    box.until_admitted("high2")
    assert not box.is_true(victim, "Admitted")


def test_story_1_of_kep_1337(quotas: Sandboxes) -> None:
    """Best-effort queues borrow from a queue whose own Workloads nobody preempts."""
    box = quotas("story1")
    borrow: Json = {
        "reclaimWithinCohort": "LowerPriority",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
        "withinClusterQueue": "LowerPriority",
    }
    box.queue("shared", 4, cohort="team", borrowing=0)
    box.queue("a", 0, cohort="team", preemption=borrow)
    box.queue("b", 0, cohort="team", preemption=borrow)
    box.workload("low", "a", 2, priority=50)
    box.workload("above", "a", 2, priority=150)
    box.until_admitted("low", "above")
    box.workload("urgent", "b", 2, priority=200)
    box.until("low", "Preempted", "True", "InCohortReclaimWhileBorrowing")
    box.end("low")
    box.until_admitted("urgent")
    assert evicted(box) <= {"low"}
    assert box.is_true("above", "Admitted")


def test_reclaiming_nominal_quota(quotas: Sandboxes) -> None:
    box = quotas("reclaim")
    box.queue("owner", 2, cohort="team", preemption={"reclaimWithinCohort": "Any"})
    box.queue("guest", 0, cohort="team")
    box.workload("borrows", "guest", 2, priority=100)
    box.until_admitted("borrows")
    box.workload("owns", "owner", 2)
    box.until("borrows", "Preempted", "True", "InCohortReclamation")
    box.end("borrows")
    box.until_admitted("owns")


def test_equal_priorities_share_time(quotas: Sandboxes) -> None:
    """KEP-8522: after minAdmitDuration a Workload may be preempted by one of equal priority, and queues anew."""
    box = quotas("time")
    policy: Json = {
        "withinClusterQueue": "LowerOrNewerEqualPriority",
    }
    box.queue("q", 1, preemption=policy, annotations={"reprieve.dev/min-admit-duration": "1m"})
    box.workload("first", "q", 1)
    box.until_admitted("first")
    box.set_since("first", "QuotaReserved", 56)
    box.workload("second", "q", 1)
    box.until("second", "QuotaReserved", "False", "WaitingForQuota")
    assert not evicted(box)
    box.until("first", "Preempted", "True", "InClusterQueueTimeBased")  # only time has passed
    box.end("first")
    box.until_admitted("second")
    time.sleep(CLOCK_SECONDS)
    box.workload("third", "q", 1)
    box.finish("second")
    box.until_admitted("first")  # it has waited since it was preempted, so it comes before the third
    assert not box.is_true("third", "Admitted")


def test_a_moment_that_is_moved_counts(quotas: Sandboxes) -> None:
    """KEP-8522: the time of a holder is changed in place, as a restore does it. Nothing else happens."""
    box = quotas("moved")
    policy: Json = {"withinClusterQueue": "LowerOrNewerEqualPriority"}
    box.queue("q", 1, preemption=policy, annotations={"reprieve.dev/min-admit-duration": "1h"})
    box.workload("first", "q", 1)
    box.until_admitted("first")
    box.workload("second", "q", 1)
    box.until("second", "QuotaReserved", "False", "WaitingForQuota")
    box.rest()
    assert not evicted(box)
    box.set_since("first", "QuotaReserved", 3605)
    box.until("first", "Preempted", "True", "InClusterQueueTimeBased")


def test_a_preemptor_gets_one_event_for_all_that_it_preempts(quotas: Sandboxes) -> None:
    """PreemptedWorkload, as Kueue has it: a series, and no event for each victim."""
    box = quotas("told")
    box.queue("q", 2, preemption=WITHIN)
    for name in ("low0", "low1"):
        box.workload(name, "q", 1)
    box.until_admitted("low0", "low1")
    box.workload("high", "q", 2, priority=10)
    for name in ("low0", "low1"):
        box.until(name, "Evicted", "True", "Preempted")

    def told() -> list[Json]:
        found = box.client.list("events.k8s.io/v1", "Event", box.name)
        return [each for each in found if each["reason"] == "PreemptedWorkload"]

    wait_for(lambda: [each.get("series", {}).get("count") for each in told()] == [2], what=told)
    (event,) = told()
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Workload", "high")
    assert event["type"] == "Normal"
    assert f"Preempted workload {box.name}/low" in event["note"]
    assert event["note"].endswith(
        f"in ClusterQueue {box.of('q')}; preemptor effective priority: 10 (base: 10, boost: 0); "
        "preemptee effective priority: 0 (base: 0, boost: 0)"
    )
    metrics = box.metrics()
    labels = f'{{cluster_queue="{box.of("q")}",reason="Preempted",underlying_cause=""}}'
    assert f"kueue_evicted_workloads_total{labels} 2.0" in metrics
    assert f"kueue_evicted_workloads_once_total{labels} 2.0" in metrics
    for name in ("low0", "low1"):
        box.end(name)
    box.until_admitted("high")


def test_a_closed_gate_holds_a_preemption_back(quotas: Sandboxes) -> None:
    """KEP-8303."""
    box = quotas("gates")
    box.queue("q", 2, preemption=WITHIN)
    box.workload("low", "q", 2)
    box.until_admitted("low")
    box.workload("gated", "q", 1, priority=10, gates=["example.com/g"])
    box.until("gated", "BlockedOnPreemptionGates", "True", "PreemptionGated")
    assert box.conditions("gated")["QuotaReserved"] == ("False", "AdmissionGated")
    assert [each["position"] for each in box.get("gated")["status"]["preemptionGates"]] == ["Closed"]
    box.rest()
    assert not evicted(box)
    box.open_gate("gated", "example.com/g")
    box.until("low", "Evicted", "True", "Preempted")
    assert f" [plan {box.name}/gated-" in said(box, "gated"), "written before the first victim went"
    box.until("gated", "BlockedOnPreemptionGates", "False")
    box.end("low")
    box.until_admitted("gated")


def test_a_gated_workload_lets_others_pass_and_is_admitted_where_it_fits(quotas: Sandboxes) -> None:
    box = quotas("passes")
    box.queue("q", 3, preemption=WITHIN)
    box.workload("low", "q", 2)
    box.until_admitted("low")
    box.workload("gated", "q", 2, priority=10, gates=["example.com/g"])
    box.until("gated", "BlockedOnPreemptionGates")
    box.workload("small", "q", 1)
    box.until_admitted("small")
    box.finish("low")
    box.until_admitted("gated")
    assert box.get("gated")["status"]["preemptionGates"][0]["position"] == "Closed"


def test_strict_fifo_waits_behind_a_gated_workload(quotas: Sandboxes) -> None:
    box = quotas("strict")
    box.queue("q", 3, preemption=WITHIN, queueingStrategy="StrictFIFO")
    box.workload("low", "q", 2)
    box.until_admitted("low")
    box.workload("gated", "q", 2, priority=10, gates=["example.com/g"])
    box.until("gated", "BlockedOnPreemptionGates")
    box.workload("small", "q", 1)
    box.rest()
    assert not box.is_true("small", "Admitted")


def test_an_eviction_closes_the_gates(quotas: Sandboxes) -> None:
    box = quotas("closes")
    box.queue("q", 2, preemption=WITHIN)
    box.workload("gated", "q", 2, gates=["example.com/g"])
    box.until_admitted("gated")
    box.open_gate("gated", "example.com/g")
    box.workload("high", "q", 2, priority=10)
    box.until("gated", "Evicted")
    assert box.get("gated")["status"]["preemptionGates"][0]["position"] == "Closed"


def test_what_is_deleted_frees_its_quota(quotas: Sandboxes) -> None:
    box = quotas("deleted")
    box.queue("q", 1, preemption=WITHIN)
    box.workload("low", "q", 1)
    box.until_admitted("low")
    box.workload("high", "q", 1, priority=10)
    box.until("low", "Evicted")
    box.client.delete("kueue.x-k8s.io/v1beta2", "Workload", "low", box.name)
    box.until_admitted("high")


def test_a_preemptor_that_goes_leaves_its_promise(quotas: Sandboxes) -> None:
    box = quotas("leaves")
    box.queue("q", 1, preemption=WITHIN)
    box.workload("low", "q", 1)
    box.until_admitted("low")
    box.workload("high", "q", 1, priority=10)
    box.until("low", "Evicted")
    box.client.delete("kueue.x-k8s.io/v1beta2", "Workload", "high", box.name)
    box.end("low")
    box.until_admitted("low")


def test_three_do_not_take_turns_for_ever(quotas: Sandboxes) -> None:
    """`high` passes the promise to `middle` by its priority, and `low` reclaims from `high`."""
    box, takes = quotas("turns"), {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    box.queue("best", 6, cohort="team", preemption=takes)
    box.queue("strict", 4, cohort="team", preemption=takes)
    box.queue("guest", 1, cohort="team", borrowing=5)
    box.workload("full", "strict", 4, priority=50)
    box.workload("most", "best", 5, priority=50)
    box.workload("low", "best", 1)
    box.until_admitted("full", "most", "low")
    box.workload("high", "guest", 2, priority=50)
    box.until("high", "QuotaReserved", "False")
    box.workload("middle", "best", 2, priority=10)
    for victim in ("low", "high"):
        box.until(victim, "Evicted")
        box.end(victim)
    text = box.until("middle", "QuotaReserved", "False", "WaitingForQuota")["message"]
    box.until_admitted("low")
    box.rest()
    for victim in ("low", "high"):
        assert [each["count"] for each in box.get(victim)["status"]["schedulingStats"]["evictions"]] == [1]
    assert box.admitted() == {"full", "most", "low"}, text
    box.client.delete(KUEUE, "Workload", "high", box.name)
    box.until("low", "Evicted")
    box.end("low")
    box.until_admitted("middle")
