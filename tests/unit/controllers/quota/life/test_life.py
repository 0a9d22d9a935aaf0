"""What follows for one Workload, rule by rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from api.kueue import ClusterQueue, LocalQueue
from api.multikueue import ORIGIN_LABEL
from api.workloads import (
    AdmissionCheckState,
    PreemptionGate,
    PreemptionGateState,
    ReclaimablePod,
    RequeueState,
    Workload,
)
from controllers.quota.life.admitting import reserve
from controllers.quota.life.around import Around, Limits
from controllers.quota.life.draft import Draft, Step
from controllers.quota.life.evicting import Preemption
from controllers.quota.life.life import EVICTION_OVERDUE, next_step, settle
from controllers.quota.life.preempting import WAITS, Preempting
from controllers.quota.life.saying import Waiting
from quota.search.decision import decide
from quota.state.workloads import holds_quota
from runtime.exchange.workload_reports import Reported
from tests.kit.quota.objects import (
    at,
    cluster_queue,
    condition,
    cpu,
    evicted,
    held,
    local_queue,
    set_condition,
    snapshot,
    us,
    workload,
)

LIMITS = Limits(overdue=us(300) - us(0), frees_overdue=False, message=us(10) - us(0), reason=0)
WAITING = Waiting(WAITS, "It waits", preempts=True)
QUEUE = cluster_queue("q", cpu(10))
LOCAL = local_queue("q", "q")


def around(**given: Any) -> Around:
    known: dict[str, Any] = {"local_queue": LOCAL, "cluster_queue": QUEUE}
    return Around(**known | given)


def look(item: Workload, now: int, limits: Limits = LIMITS, **given: Any) -> Step:
    """What follows at this second. What follows then again must be nothing."""
    step = next_step(item, around(**given), limits, us(now))
    again = next_step(step.workload, around(**given), limits, us(now))
    assert not again.status, f"the rules do not agree with themselves: {again.status}"
    return step


def said(item: Workload) -> Mapping[str, tuple[str, str]]:
    """Status and reason by type of condition."""
    return {each.type: (each.status, each.reason) for each in item.status.conditions or ()}


def with_status(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, status=msgspec.structs.replace(item.status, **fields))


def with_spec(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, **fields))


def check(name: str, state: Any, seconds: int = 0, **fields: Any) -> AdmissionCheckState:
    return AdmissionCheckState(name, state, at(seconds), fields.pop("message", ""), **fields)


def stopped(policy: Any) -> tuple[ClusterQueue, LocalQueue]:
    local = msgspec.structs.replace(LOCAL, spec=msgspec.structs.replace(LOCAL.spec, stop_policy=policy))
    return cluster_queue("q", cpu(10), stop=policy), local


def admitted(item: Workload, seconds: int) -> Workload:
    return set_condition(held(item, seconds), "Admitted", "True", "Admitted", seconds)


JOB = workload("w", "q", 1)


# ---- admission


def reserved(item: Workload, now: int, *required: str) -> Step:
    draft = Draft(item, us(now))
    reserve(draft, decide(snapshot(QUEUE), item, us(now)), required)
    return settle(draft)


def test_without_checks_a_workload_is_admitted_in_the_same_write() -> None:
    step = reserved(JOB, 5)
    assert said(step.workload) == {
        "QuotaReserved": ("True", "QuotaReserved"),
        "Admitted": ("True", "Admitted"),
    }
    admission = step.status["admission"]
    assert admission["clusterQueue"] == "q"
    assert admission["podSetAssignments"] == [
        {"flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    ]
    assert [(event.reason, event.note) for event in step.events] == [
        ("Admitted", "Admitted by ClusterQueue q, wait time since queued was 5s")
    ]
    assert not look(step.workload, 6).status


def test_with_checks_it_is_admitted_once_all_are_ready() -> None:
    step = reserved(JOB, 5, "b", "a")
    assert [(each["name"], each["state"]) for each in step.status["admissionChecks"]] == [
        ("a", "Pending"),
        ("b", "Pending"),
    ]
    assert said(step.workload)["Admitted"] == ("False", "UnsatisfiedAdmissionChecks")
    assert [event.reason for event in step.events] == ["QuotaReserved"]
    one = with_status(step.workload, admission_checks=[check("a", "Ready"), check("b", "Pending")])
    assert not look(one, 6, required=["a", "b"]).status
    both = with_status(one, admission_checks=[check("a", "Ready"), check("b", "Ready")])
    last = look(both, 7, required=["a", "b"])
    assert said(last.workload)["Admitted"] == ("True", "Admitted")
    note = "Admitted by ClusterQueue q, wait time since reservation was 2s"
    assert [event.note for event in last.events] == [note]


def test_an_admission_ends_what_was_said_before() -> None:
    item = with_status(
        set_condition(evicted(JOB, 1), "BlockedOnPreemptionGates", "True", "PreemptionGated", 1),
        requeue_state=RequeueState(3, at(2)),
    )
    step = reserved(item, 5)
    conditions = said(step.workload)
    assert conditions["Evicted"] == conditions["BlockedOnPreemptionGates"] == ("False", "QuotaReserved")
    assert step.workload.status.requeue_state is None


def test_checks_follow_the_cluster_queue() -> None:
    item = with_status(held(JOB, 1), admission_checks=[check("old", "Ready"), check("stays", "Ready")])
    step = look(item, 5, required=["stays", "new"])
    assert [(each["name"], each["state"]) for each in step.status["admissionChecks"]] == [
        ("new", "Pending"),
        ("stays", "Ready"),
    ]


# ---- eviction


PREEMPTION = Preemption("ns/plan", "w", "InClusterQueue", "Preempted to accommodate x", "q")


def test_a_preempted_workload_holds_its_quota_until_it_has_ended() -> None:
    item = with_status(
        admitted(JOB, 1),
        admission_checks=[check("a", "Ready")],
        preemption_gates=[PreemptionGateState("g", "Open", at(0))],
    )
    item = with_spec(item, preemption_gates=workload("x", "q", 1, gates=["g"]).spec.preemption_gates)
    step = look(item, 5, required=["a"], preemption=PREEMPTION)
    assert said(step.workload) == {
        "QuotaReserved": ("True", "QuotaReserved"),
        "Admitted": ("True", "Admitted"),
        "Preempted": ("True", "InClusterQueue"),
        "Evicted": ("True", "Preempted"),
    }
    assert step.status["admissionChecks"][0]["state"] == "Pending"
    assert step.status["preemptionGates"] == [
        {"name": "g", "position": "Closed", "lastTransitionTime": at(5)}
    ]
    assert step.status["schedulingStats"] == {
        "evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]
    }
    assert [event.reason for event in step.events] == ["Preempted", "EvictedDueToPreempted"]


def test_the_maker_ends_it_and_it_is_queued_again() -> None:
    item = evicted(admitted(JOB, 1), 5)
    ended = set_condition(item, "QuotaReserved", "False", "PendingEvaluation", 9)
    step = look(ended, 9)
    assert step.workload.status.admission is None
    assert said(step.workload)["Admitted"] == ("False", "NoReservation")
    assert said(step.workload)["Requeued"] == ("True", "Preempted")
    assert step.workload.status.accumulated_past_execution_time_seconds == 8


def test_what_never_was_admitted_gives_its_quota_back_at_once() -> None:
    step = look(held(JOB, 1), 5, required=["a"], preemption=PREEMPTION)
    assert said(step.workload)["QuotaReserved"] == ("False", "PendingEvaluation")
    assert step.workload.status.admission is None


def test_a_plan_for_a_former_workload_of_the_name_evicts_nobody() -> None:
    other = Preemption("ns/plan", "other", "InClusterQueue", "", "q")
    assert "Evicted" not in said(look(admitted(JOB, 1), 5, preemption=other).workload)


def test_an_eviction_that_does_not_end_is_overdue() -> None:
    item = evicted(admitted(JOB, 1), 5)
    assert look(item, 304).again == us(305)
    step = look(item, 305)
    assert said(step.workload)[EVICTION_OVERDUE] == ("True", "QuotaHeld")
    assert said(step.workload)["QuotaReserved"] == ("True", "QuotaReserved")
    assert [event.reason for event in step.events] == ["EvictionOverdue"]


def test_a_setting_frees_the_quota_of_an_overdue_workload() -> None:
    limits = Limits(overdue=LIMITS.overdue, frees_overdue=True, message=LIMITS.message, reason=0)
    step = look(evicted(admitted(JOB, 1), 5), 305, limits)
    assert said(step.workload)[EVICTION_OVERDUE] == ("True", "QuotaFreed")
    assert said(step.workload)["QuotaReserved"] == ("False", "PendingEvaluation")


def test_quota_is_free_when_nothing_runs_any_longer() -> None:
    step = look(evicted(admitted(JOB, 1), 5), 6, reported=Reported(nothing_runs=True))
    assert said(step.workload)["QuotaReserved"] == ("False", "PendingEvaluation")
    assert said(step.workload)["Requeued"] == ("True", "Preempted")


def test_an_overdue_workload_names_the_pods_that_are_left() -> None:
    names = tuple(f"pod-{number}" for number in range(12))
    step = look(evicted(admitted(JOB, 1), 5), 305, reported=Reported(remaining=names))
    condition = next(each for each in step.workload.status.conditions or () if each.type == EVICTION_OVERDUE)
    assert condition.message.endswith("; pods that are left: " + ", ".join(names[:10]) + " and 2 more")


def test_an_event_names_the_pods_also_if_they_become_known_later() -> None:
    first = look(evicted(admitted(JOB, 1), 5), 305)
    step = look(first.workload, 306, reported=Reported(remaining=("pod",)))
    assert [event.reason for event in step.events] == ["EvictionOverdue"]
    assert step.events[0].note.endswith("; pods that are left: pod")
    assert look(step.workload, 307, reported=Reported(remaining=("pod",))).events == ()


def test_a_reported_end_finishes_the_workload_whatever_else_happens() -> None:
    step = look(admitted(JOB, 1), 5, reported=Reported(finished=("Succeeded", "Job finished")))
    assert said(step.workload)["Finished"] == ("True", "Succeeded")
    step = look(JOB, 5, reported=Reported(finished=("FailedToStart", "a conflict")))
    assert said(step.workload)["Finished"] == ("True", "FailedToStart")


def test_a_reported_eviction_concerns_only_a_workload_with_quota() -> None:
    reported = Reported(eviction=("NodesPreempted", "for the gang ns/g"))
    step = look(admitted(JOB, 1), 5, reported=reported)
    assert said(step.workload)["Evicted"] == ("True", "NodesPreempted")
    assert "Evicted" not in said(look(JOB, 5, reported=reported).workload)


def test_reclaimable_pods_never_become_fewer_while_there_is_quota() -> None:
    step = look(admitted(JOB, 1), 5, reported=Reported(reclaimable={"main": 2}))
    assert step.status["reclaimablePods"] == [{"name": "main", "count": 2}]
    later = look(step.workload, 6, reported=Reported(reclaimable={"main": 1}))
    assert not later.status
    waiting = look(
        with_status(JOB, reclaimable_pods=[ReclaimablePod("main", 2)]), 5, reported=Reported(reclaimable={})
    )
    assert waiting.status["reclaimablePods"] is None


def test_a_workload_with_min_count_waits_like_others() -> None:
    pods = msgspec.structs.replace(JOB.spec.pod_sets[0], min_count=1)
    step = look(with_spec(JOB, pod_sets=[pods]), 5, waiting=Waiting("WaitingForQuota", "no room"))
    condition = next(each for each in step.workload.status.conditions or () if each.type == "QuotaReserved")
    assert condition.message == "no room"


def test_evictions_are_counted_by_reason() -> None:
    once = look(admitted(JOB, 1), 5, preemption=PREEMPTION).workload
    back = set_condition(once, "QuotaReserved", "False", "x", 6)
    again = look(reserved(look(back, 6).workload, 7).workload, 8, preemption=PREEMPTION)
    assert again.status["schedulingStats"]["evictions"] == [
        {"reason": "Preempted", "underlyingCause": "", "count": 2}
    ]


# ---- stops and deactivation


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_a_drained_queue_evicts_and_a_restarted_one_queues_again(kind: str) -> None:
    queue, local = stopped("HoldAndDrain")
    given = (
        {"cluster_queue": queue, "inactive": "stopped"} if kind == "ClusterQueue" else {"local_queue": local}
    )
    step = look(admitted(JOB, 1), 5, **given)
    assert said(step.workload)["Evicted"] == ("True", f"{kind}Stopped")
    assert said(step.workload)["Requeued"] == ("False", f"{kind}Stopped")
    ended = look(set_condition(step.workload, "QuotaReserved", "False", "x", 6), 6, **given).workload
    assert said(ended)["QuotaReserved"] == ("False", "Suspended")
    assert said(look(ended, 7).workload)["Requeued"] == ("True", f"{kind}Restarted")


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_a_held_queue_evicts_nobody(kind: str) -> None:
    queue, local = stopped("Hold")
    given = (
        {"cluster_queue": queue, "inactive": "stopped"} if kind == "ClusterQueue" else {"local_queue": local}
    )
    assert not look(admitted(JOB, 1), 5, **given).status


def test_a_deactivated_workload_is_evicted_and_waits_no_longer() -> None:
    item = with_spec(with_status(admitted(JOB, 1), requeue_state=RequeueState(2, at(50))), active=False)
    step = look(item, 5)
    assert said(step.workload)["Evicted"] == ("True", "Deactivated")
    assert step.workload.status.requeue_state is None
    ended = look(set_condition(step.workload, "QuotaReserved", "False", "x", 6), 6).workload
    assert said(ended)["Requeued"] == ("False", "Deactivated")
    active = look(with_spec(ended, active=True), 7).workload
    assert said(active)["Requeued"] == ("True", "Reactivated")


def test_a_workload_that_is_activated_again_before_it_ended_still_ends() -> None:
    """Until its maker has ended it, it holds the quota: nobody else may get that, and it stays evicted."""
    item = look(with_spec(admitted(JOB, 1), active=False), 5).workload
    again = with_spec(item, active=True)
    assert holds_quota(item)
    assert holds_quota(again)
    assert not look(again, 6).status
    ended = look(set_condition(again, "QuotaReserved", "False", "x", 7), 7).workload
    assert not holds_quota(ended)
    assert said(ended)["Requeued"] == ("True", "Reactivated")


def test_a_workload_runs_no_longer_than_it_may() -> None:
    item = with_status(
        with_spec(admitted(JOB, 10), maximum_execution_time_seconds=100),
        accumulated_past_execution_time_seconds=60,
    )
    assert look(item, 20).again == us(50)
    step = look(item, 50)
    assert step.deactivates
    assert said(step.workload)["DeactivationTarget"] == ("True", "MaximumExecutionTimeExceeded")
    ended = look(with_spec(step.workload, active=False), 51)
    assert said(ended.workload)["Evicted"] == ("True", "DeactivatedDueToMaximumExecutionTimeExceeded")
    assert "DeactivationTarget" not in said(ended.workload)
    assert (
        ended.status["schedulingStats"]["evictions"][0]["underlyingCause"] == "MaximumExecutionTimeExceeded"
    )


# ---- admission checks (KEP-3258)


def retried(*checks: AdmissionCheckState, now: int, item: Workload = JOB) -> Step:
    return look(
        with_status(held(item, 1), admission_checks=list(checks)), now, required=[c.name for c in checks]
    )


def test_retry_frees_the_quota_at_once_and_waits_for_the_longest_delay() -> None:
    step = retried(
        check("a", "Retry", 5, requeue_after_seconds=60),
        check("b", "Retry", 6, requeue_after_seconds=30, message="busy"),
        check("c", "Ready", 2),
        now=7,
    )
    conditions = said(step.workload)
    assert conditions["Evicted"] == ("True", "AdmissionCheck")
    assert conditions["QuotaReserved"][0] == "False"
    assert conditions["Requeued"] == ("False", "AdmissionCheck")
    assert [each.state for each in step.workload.status.admission_checks or ()] == ["Retry", "Retry", "Ready"]
    assert step.workload.status.requeue_state == RequeueState(None, at(65))
    assert step.again == us(65)
    message = condition(step.workload, "Evicted")
    assert message is not None
    assert message.message == 'Evicted due to AdmissionChecks in Retry state: "a"; "b" (busy)'


def test_at_the_end_of_the_wait_one_write_resets_the_checks() -> None:
    waiting = retried(check("a", "Retry", 5, requeue_after_seconds=60, retry_count=1), now=7).workload
    step = look(waiting, 65)
    (state,) = step.status["admissionChecks"]
    assert (state["state"], state["retryCount"]) == ("Pending", 2)
    assert "requeueAfterSeconds" not in state
    assert said(step.workload)["Requeued"] == ("True", "BackoffFinished")
    assert step.workload.status.requeue_state is None


def test_an_admission_and_a_deactivation_forget_counts_and_delays() -> None:
    tried = [check("a", "Ready", 5, requeue_after_seconds=60, retry_count=2)]
    reserved = with_status(held(JOB, 1), admission_checks=tried)
    for step in (
        look(reserved, 7, required=("a",)),
        look(with_spec(reserved, active=False), 7, required=("a",)),
    ):
        (state,) = step.status["admissionChecks"]
        assert "retryCount" not in state
        assert "requeueAfterSeconds" not in state
    evicted_for = with_status(
        admitted(JOB, 1), admission_checks=[check("a", "Ready", 5, retry_count=2), check("b", "Retry", 6)]
    )
    checks = look(evicted_for, 7, required=("a", "b")).workload.status.admission_checks or []
    assert checks[0].retry_count == 2


def test_without_a_delay_checks_are_reset_as_soon_as_the_quota_is_free() -> None:
    step = retried(check("a", "Retry", 5), now=7)
    assert said(step.workload)["Requeued"] == ("True", "BackoffFinished")
    assert step.status["admissionChecks"][0]["state"] == "Pending"


def test_a_late_retry_makes_the_wait_longer() -> None:
    waiting = retried(check("a", "Retry", 5, requeue_after_seconds=60), check("b", "Pending"), now=7).workload
    late = with_status(
        waiting,
        admission_checks=[
            check("a", "Retry", 5, requeue_after_seconds=60),
            check("b", "Retry", 20, requeue_after_seconds=100),
        ],
    )
    step = look(late, 21)
    assert step.workload.status.requeue_state == RequeueState(None, at(120))
    assert step.again == us(120)
    assert said(look(step.workload, 120).workload)["Requeued"] == ("True", "BackoffFinished")


def test_a_retry_on_a_workload_that_waits_is_reset_at_its_end() -> None:
    preempted = look(
        set_condition(evicted(admitted(JOB, 1), 5), "QuotaReserved", "False", "x", 6), 6
    ).workload
    late = with_status(preempted, admission_checks=[check("a", "Retry", 10, requeue_after_seconds=20)])
    step = look(late, 11)
    assert said(step.workload)["Requeued"] == ("False", "AdmissionCheck")
    assert step.again == us(30)
    assert look(step.workload, 30).status["admissionChecks"][0]["state"] == "Pending"


def test_of_an_admitted_workload_the_wait_ends_with_its_quota_if_that_is_later() -> None:
    item = with_status(admitted(JOB, 1), admission_checks=[check("a", "Retry", 5, requeue_after_seconds=60)])
    step = look(item, 7, required=["a"])
    assert said(step.workload)["QuotaReserved"] == ("True", "QuotaReserved")
    assert step.workload.status.requeue_state == RequeueState(None, at(65))
    assert not look(step.workload, 70, required=["a"]).status
    ended = look(set_condition(step.workload, "QuotaReserved", "False", "x", 80), 80, required=["a"])
    assert said(ended.workload)["Requeued"] == ("True", "BackoffFinished")


def test_another_eviction_resets_checks_except_those_in_retry() -> None:
    item = with_status(
        admitted(JOB, 1),
        admission_checks=[check("a", "Ready"), check("b", "Retry", 4, requeue_after_seconds=60)],
    )
    step = look(item, 5, required=["a", "b"], preemption=PREEMPTION)
    assert [each["state"] for each in step.status["admissionChecks"]] == ["Pending", "Retry"]


def test_a_rejected_check_deactivates() -> None:
    item = with_status(held(JOB, 1), admission_checks=[check("a", "Rejected", 4, message="no")])
    step = look(item, 5, required=["a"])
    assert step.deactivates
    assert said(step.workload)["DeactivationTarget"] == ("True", "AdmissionCheck")
    assert [event.reason for event in step.events] == ["AdmissionCheckRejected"]
    ended = look(with_spec(step.workload, active=False), 6, required=["a"]).workload
    assert said(ended)["Evicted"] == ("True", "DeactivatedDueToAdmissionCheck")


# ---- preemption gates (KEP-8303)


def test_the_status_of_gates_follows_the_spec() -> None:
    item = with_status(
        workload("w", "q", 1, gates=["a", "b"]),
        preemption_gates=[
            PreemptionGateState("b", "Open", at(1)),
            PreemptionGateState("gone", "Open", at(1)),
        ],
    )
    assert look(item, 5).status["preemptionGates"] == [
        {"name": "a", "position": "Closed", "lastTransitionTime": at(5)},
        {"name": "b", "position": "Open", "lastTransitionTime": at(1)},
    ]


def test_new_gates_are_written_with_the_first_decision_or_after_two_seconds() -> None:
    item = workload("w", "q", 1, gates=["a"])
    first = look(item, 1)
    assert (first.status, first.again) == ({}, us(2))
    closed = [{"name": "a", "position": "Closed", "lastTransitionTime": at(1)}]
    assert reserved(item, 1).status["preemptionGates"] == closed
    waits = look(item, 1, waiting=Waiting("WaitingForQuota", "no room"))
    assert waits.status["preemptionGates"] == closed
    assert "preemptionGates" in look(item, 2).status


def test_new_gates_that_no_decision_follows_are_written_at_once() -> None:
    item = workload("w", "q", 1, gates=["a"])
    assert "preemptionGates" in look(with_spec(item, active=False), 1).status
    assert "preemptionGates" in look(item, 1, cluster_queue=None).status
    assert "preemptionGates" in look(item, 1, inactive="its flavor is missing").status
    assert "preemptionGates" in look(item, -1).status  # the clocks differ


def test_blocked_on_gates_ends_when_nothing_is_held_back() -> None:
    gated = look(JOB, 5, waiting=Waiting("AdmissionGated", "it's gated", True)).workload
    assert said(gated)["BlockedOnPreemptionGates"] == ("True", "PreemptionGated")
    free = look(gated, 6, waiting=Waiting("WaitingForQuota", "no room")).workload
    assert said(free)["BlockedOnPreemptionGates"][0] == "False"


# ---- waiting


@pytest.mark.parametrize(
    ("given", "reason", "words"),
    [
        ({"local_queue": None}, "Misconfigured", "LocalQueue q doesn't exist"),
        ({"cluster_queue": None}, "Misconfigured", "ClusterQueue q doesn't exist"),
        ({"inactive": "why"}, "Suspended", "ClusterQueue q is inactive: why"),
        ({"local_queue": stopped("Hold")[1]}, "Suspended", "LocalQueue q is inactive"),
    ],
)
def test_it_says_why_it_is_in_no_queue(given: Any, reason: str, words: str) -> None:
    found = condition(look(JOB, 5, **given).workload, "QuotaReserved")
    assert found is not None
    assert (found.status, found.reason, found.message) == ("False", reason, words)


def test_a_new_text_is_written_not_too_often() -> None:
    first = look(JOB, 5, waiting=Waiting("WaitingForQuota", "1 more needed")).workload
    given: Any = {"waiting": Waiting("WaitingForQuota", "2 more needed"), "written": us(5)}
    soon = look(first, 8, **given)
    assert not soon.status
    assert soon.again == us(15)
    assert look(first, 15, **given).status
    assert look(first, 8, written=us(5), waiting=Waiting("ExceedsMaxQuota", "never")).status


PATIENT = Limits(overdue=LIMITS.overdue, frees_overdue=False, message=LIMITS.message, reason=us(30) - us(0))
NO_ROOM = Waiting("WaitingForQuota", "1 more needed")


@pytest.mark.parametrize(
    "waiting", [NO_ROOM, Waiting(WAITS, "others are on their way out for somebody else")]
)
def test_that_it_waits_for_quota_is_said_after_a_while(waiting: Waiting) -> None:
    soon = look(JOB, 29, PATIENT, waiting=waiting)
    assert (soon.status, soon.events, soon.again) == ({}, (), us(30))
    late = look(JOB, 30, PATIENT, waiting=waiting)
    assert said(late.workload)["QuotaReserved"] == ("False", waiting.reason)


def test_the_end_of_an_eviction_begins_the_wait_anew() -> None:
    ended = set_condition(JOB, "QuotaReserved", "False", "Pending", 100)
    assert look(ended, 129, PATIENT, waiting=NO_ROOM).again == us(130)
    assert look(ended, 130, PATIENT, waiting=NO_ROOM).status


@pytest.mark.parametrize(
    "waiting",
    [
        Waiting("ExceedsMaxQuota", "never"),
        Waiting("NoMatchingFlavor", "never"),
        Waiting("PendingEvaluation", "the API server refused the admission"),
        Waiting("AdmissionGated", "it would preempt", gated=True),
        WAITING,
    ],
)
def test_what_does_not_pass_by_itself_is_said_at_once(waiting: Waiting) -> None:
    assert look(JOB, 1, PATIENT, waiting=waiting).status


def test_a_text_that_is_no_longer_true_is_replaced_at_once() -> None:
    suspended = set_condition(JOB, "QuotaReserved", "False", "Suspended", 0)
    assert look(suspended, 1, PATIENT, waiting=NO_ROOM).status


def test_a_copy_says_at_once_that_it_waits_for_quota() -> None:
    meta = msgspec.structs.replace(JOB.metadata, labels={ORIGIN_LABEL: "multikueue"})
    assert look(msgspec.structs.replace(JOB, metadata=meta), 1, PATIENT, waiting=NO_ROOM).status


def test_an_equal_says_the_reason_and_keeps_a_text_that_tells_more() -> None:
    equal = Waiting("WaitingForQuota", "an equal one got this answer", of_equal=True)
    step = look(JOB, 5, waiting=equal)
    found = condition(step.workload, "QuotaReserved")
    assert found is not None
    assert (found.reason, found.message) == ("WaitingForQuota", "an equal one got this answer")
    assert not step.events, "the one that got the answer has the event"
    own = look(step.workload, 20, waiting=Waiting("WaitingForQuota", "1 more needed"), written=us(5))
    assert own.status
    assert not look(own.workload, 40, waiting=equal, written=us(20)).status
    other = look(own.workload, 40, waiting=equal._replace(reason="ExceedsMaxQuota"), written=us(39))
    assert said(other.workload)["QuotaReserved"] == ("False", "ExceedsMaxQuota")


def test_a_new_reason_is_an_event() -> None:
    first = look(JOB, 5, waiting=Waiting("WaitingForQuota", "1 more needed"))
    assert [(each.type, each.reason) for each in first.events] == [("Warning", "WaitingForQuota")]
    second = look(first.workload, 20, waiting=Waiting("WaitingForQuota", "2 more needed"))
    assert second.status
    assert not second.events


def text(step: Step) -> str:
    found = condition(step.workload, "QuotaReserved")
    assert found is not None
    assert (found.status, found.reason) == ("False", WAITS)
    return found.message


def test_a_preemptor_says_what_failed_and_not_too_often() -> None:
    first = look(JOB, 5, waiting=WAITING, preempting=Preempting(2))
    assert text(first) == "It waits"
    given: Any = {"waiting": WAITING, "preempting": Preempting(2, "1 eviction failed"), "written": us(5)}
    assert look(first.workload, 8, **given).again == us(15)
    assert text(look(first.workload, 15, **given)) == "It waits; 1 eviction failed"
    del given["waiting"]
    assert text(look(JOB, 8, **given)) == "Pending the preemption of 2 workload(s); 1 eviction failed"
    given["waiting"] = Waiting("WaitingForQuota", "no room")
    assert text(look(JOB, 8, **given)).endswith("1 eviction failed"), "the plan goes on"


def test_a_gate_that_was_opened_by_a_clock_that_is_ahead_closes_at_the_same_time() -> None:
    """The API server takes no earlier time: the eviction would be refused until then."""
    states = [PreemptionGateState("g", "Open", at(3600)), PreemptionGateState("h", "Open", at(1))]
    item = with_status(admitted(JOB, 1), admission_checks=[check("a", "Ready")], preemption_gates=states)
    item = with_spec(item, preemption_gates=workload("x", "q", 1, gates=["g", "h"]).spec.preemption_gates)
    step = look(item, 5, required=["a"], preemption=PREEMPTION)
    assert step.status["preemptionGates"] == [
        {"name": "g", "position": "Closed", "lastTransitionTime": at(3600)},
        {"name": "h", "position": "Closed", "lastTransitionTime": at(5)},
    ]


def opened(position: Any) -> Workload:
    states = [PreemptionGateState("g", position, at(1))]
    return with_status(with_spec(JOB, preemption_gates=[PreemptionGate("g")]), preemption_gates=states)


def test_a_preemptor_with_gates_announces_its_plan_at_once_and_once() -> None:
    first = look(opened("Open"), 5, waiting=WAITING).workload
    given: Any = {"preempting": Preempting(2, "", " [plan p]", is_due=True), "written": us(5)}
    assert text(look(first, 6, waiting=WAITING, **given)) == "It waits [plan p]"
    assert text(look(first, 6, **given)) == "Pending the preemption of 2 workload(s) [plan p]"
    step = look(first, 6, waiting=Waiting("WaitingForQuota", "no room"), **given)
    assert text(step) == "Pending the preemption of 2 workload(s) [plan p]"
    given["preempting"] = Preempting(2, "", " [plan p]")
    later = look(step.workload, 7, waiting=Waiting("WaitingForQuota", "no room"), **given)
    assert said(later.workload)["QuotaReserved"] == ("False", "WaitingForQuota")


def test_a_preemptor_whose_gate_is_closed_announces_nothing() -> None:
    given: Any = {"waiting": WAITING, "preempting": Preempting(2, "", " [plan p]", is_due=True)}
    assert text(look(opened("Closed"), 5, **given)) == "It waits"


def test_nothing_follows_for_a_finished_workload() -> None:
    item = with_spec(set_condition(admitted(JOB, 1), "Finished", "True", "Succeeded", 4), active=False)
    step = look(item, 5, preemption=PREEMPTION)
    assert not step.status
    assert not step.deactivates


def test_a_backoff_of_somebody_else_ends_in_time() -> None:
    item = with_status(
        set_condition(JOB, "Requeued", "False", "PodsReadyTimeout", 1), requeue_state=RequeueState(1, at(40))
    )
    assert look(item, 5).again == us(40)
    assert said(look(item, 40).workload)["Requeued"] == ("True", "BackoffFinished")


def test_a_condition_is_written_with_its_message_also_if_it_is_empty() -> None:
    step = look(set_condition(JOB, "PodsReady", "False", "x", 1), 5, waiting=Waiting("WaitingForQuota", ""))
    assert all("message" in each for each in step.status["conditions"])


def test_it_says_what_is_not_supported() -> None:
    item = workload("w", "q", 1)
    item.metadata.annotations = {"kueue.x-k8s.io/elastic-job": "true"}
    found = condition(look(item, 5).workload, "QuotaReserved")
    assert found is not None
    assert (found.status, found.reason) == ("False", "Misconfigured")
    assert "elastic" in found.message
