"""Facts that Kueue's own scenarios check: texts, events, counts, and quota that is only reserved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from api.workloads import AdmissionCheckState, RequeueState, Workload
from controllers.quota.life.around import Around, Limits
from controllers.quota.life.draft import Counted, Step
from controllers.quota.life.evicting import Preemption
from controllers.quota.life.life import next_step
from runtime.exchange.workload_reports import Reported
from tests.kit.quota.objects import at, cluster_queue, cpu, held, local_queue, set_condition, us, workload

LIMITS = Limits(overdue=us(300) - us(0), frees_overdue=False, message=0, reason=0)
QUEUE, LOCAL = cluster_queue("q", cpu(10)), local_queue("q", "q")
RESERVED = held(workload("w", "q", 1), 1)
ADMITTED = set_condition(RESERVED, "Admitted", "True", "Admitted", 10)


def look(item: Workload, now: int, **given: Any) -> Step:
    """What follows at this second. What follows then again must be nothing."""
    around = Around(**{"local_queue": LOCAL, "cluster_queue": QUEUE, **given})
    step = next_step(item, around, LIMITS, us(now))
    assert not next_step(step.workload, around, LIMITS, us(now)).status
    return step


def changed(item: Any, part: str, **fields: Any) -> Any:
    inner = msgspec.structs.replace(getattr(item, part), **fields)
    return msgspec.structs.replace(item, **{part: inner})


def conditions(item: Workload) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    return {each.type: (each.status, each.reason, each.message) for each in item.status.conditions or ()}


# ---- rejected checks


def rejected(*checks: tuple[str, str]) -> Workload:
    states = [AdmissionCheckState(name, "Rejected", at(4), message) for name, message in checks]
    item: Workload = changed(RESERVED, "status", admission_checks=states)
    return item


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ([("check1", "no budget")], 'AdmissionCheck in Rejected state: "check1" (no budget)'),
        ([("check1", "")], 'AdmissionCheck in Rejected state: "check1"'),
        ([("b", "x"), ("a", "")], 'AdmissionChecks in Rejected state: "a"; "b" (x)'),
    ],
)
def test_a_rejection_is_said_in_kueues_words(checks: list[tuple[str, str]], said: str) -> None:
    item = rejected(*checks)
    required = [name for name, _ in checks]
    step = look(item, 5, required=required)
    assert conditions(step.workload)["DeactivationTarget"] == ("True", "AdmissionCheck", said)
    assert [(each.type, each.reason, each.note) for each in step.events] == [
        ("Warning", "AdmissionCheckRejected", f"Deactivated due to {said}")
    ]
    ended = look(changed(step.workload, "spec", active=False), 6, required=required)
    assert conditions(ended.workload)["Evicted"] == (
        "True",
        "DeactivatedDueToAdmissionCheck",
        f"The workload is deactivated due to {said}",
    )


# ---- the time that a Workload may run


def test_the_time_that_deactivates_a_workload_begins_anew() -> None:
    """Whoever activates it again gives it the whole time: otherwise it would be deactivated at once."""
    item = changed(ADMITTED, "spec", maximum_execution_time_seconds=100)
    step = look(changed(item, "status", accumulated_past_execution_time_seconds=60), 50)
    assert step.workload.status.accumulated_past_execution_time_seconds is None
    assert conditions(step.workload)["DeactivationTarget"][2] == "exceeding the maximum execution time"
    assert [each.note for each in step.events] == ["The maximum execution time (100s) exceeded"]
    evicted = look(changed(step.workload, "spec", active=False), 51).workload
    ended = look(set_condition(evicted, "QuotaReserved", "False", "x", 60), 60).workload
    assert conditions(ended)["Admitted"][0] == "False"
    assert ended.status.accumulated_past_execution_time_seconds is None
    again = set_condition(held(changed(ended, "spec", active=True), 70), "Admitted", "True", "Admitted", 70)
    again = set_condition(again, "Evicted", "False", "QuotaReserved", 70)
    assert look(again, 71).again == us(170)


def test_another_eviction_keeps_the_time_that_it_ran() -> None:
    item = changed(ADMITTED, "spec", maximum_execution_time_seconds=100)
    evicted = look(changed(item, "spec", active=False), 40).workload
    ended = look(set_condition(evicted, "QuotaReserved", "False", "x", 50), 50).workload
    assert ended.status.accumulated_past_execution_time_seconds == 40


# ---- what is counted


def counted(step: Step) -> list[Counted]:
    return [each for each in step.counted if each.what == "Evicted"]


def test_an_eviction_counts_once_for_each_reason_and_cause() -> None:
    preemption = Preemption("ns/plan", "w", "InClusterQueue", "Preempted to accommodate x", "q")
    first = look(ADMITTED, 20, preemption=preemption)
    assert counted(first) == [Counted("Evicted", "q", "Preempted", "", is_first=True)]
    back = changed(first.workload, "status", conditions=ADMITTED.status.conditions)
    assert counted(look(back, 30, preemption=preemption)) == [Counted("Evicted", "q", "Preempted")]
    assert counted(look(changed(back, "spec", active=False), 30)) == [
        Counted("Evicted", "q", "Deactivated", "", is_first=True)
    ]


def test_a_cause_is_counted_beside_its_reason() -> None:
    """As in Kueue: only conditions and events have both in one word."""
    step = look(changed(look(rejected(("c", "")), 5, required=["c"]).workload, "spec", active=False), 6)
    assert counted(step) == [Counted("Evicted", "q", "Deactivated", "AdmissionCheck", is_first=True)]
    assert step.status["schedulingStats"]["evictions"] == [
        {"reason": "Deactivated", "underlyingCause": "AdmissionCheck", "count": 1}
    ]
    assert "EvictedDueToDeactivatedDueToAdmissionCheck" in [each.reason for each in step.events]


def test_a_workload_without_quota_that_is_deactivated_counts_for_no_queue() -> None:
    assert counted(look(changed(workload("w", "q", 1), "spec", active=False), 5)) == []


# ---- the preemptor


@pytest.mark.parametrize(("namespace", "named"), [("ns", " ns/w"), ("other", "")])
def test_a_preemptor_hears_of_each_workload_that_it_preempts(namespace: str, named: str) -> None:
    preemptor = changed(workload("high", "q", 1, priority=10), "metadata", namespace=namespace)
    preemption = Preemption("ns/plan", "w", "InClusterQueue", "Preempted to x", "q", preemptor)
    (event,) = [each for each in look(ADMITTED, 20, preemption=preemption).events if each.about is not None]
    assert (event.about, event.type, event.reason) == (preemptor, "Normal", "PreemptedWorkload")
    assert event.series == "ns/plan"
    assert event.note == (
        f"Preempted workload{named} (UID: w) in ClusterQueue q; "
        "preemptor effective priority: 10 (base: 10, boost: 0); "
        "preemptee effective priority: 0 (base: 0, boost: 0)"
    )


# ---- quota that is only reserved


def queues(kind: str, case: str) -> dict[str, Any]:
    """What is around a Workload whose queue of this kind is not what it was."""
    queue: Any = QUEUE if kind == "ClusterQueue" else LOCAL
    if case == "deleted":
        queue = changed(queue, "metadata", deletion_timestamp=at(4))
    elif case == "gone":
        queue = None
    else:
        queue = changed(queue, "spec", stop_policy=case)
    if kind == "LocalQueue":
        return {"local_queue": queue}
    return {"cluster_queue": queue, "inactive": case, **({"required": None} if queue is None else {})}


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
@pytest.mark.parametrize("case", ["deleted", "gone", "Hold", "HoldAndDrain"])
def test_quota_that_is_only_reserved_ends_with_its_queue(kind: str, case: str) -> None:
    """It is not evicted. Otherwise a check that is never ready would keep a ClusterQueue for ever."""
    check = AdmissionCheckState("c", "Ready", at(2), "")
    item = changed(RESERVED, "status", admission_checks=[check])
    around = {"required": ["c", "d"], **queues(kind, case)}
    step = look(item, 5, **around)
    assert conditions(step.workload)["QuotaReserved"][0] == "False"
    assert step.workload.status.admission is None
    assert "Evicted" not in conditions(step.workload)
    assert counted(step) == []
    (state,) = [each.state for each in step.workload.status.admission_checks or () if each.name == "c"]
    assert state == "Pending"


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
@pytest.mark.parametrize("case", ["deleted", "gone", "Hold"])
def test_a_workload_that_runs_goes_on_without_its_queue(kind: str, case: str) -> None:
    step = look(ADMITTED, 5, **queues(kind, case))
    assert conditions(step.workload)["QuotaReserved"][0] == "True"
    assert conditions(step.workload)["Admitted"][0] == "True"


UNADMITTED = set_condition(ADMITTED, "Admitted", "False", "UnsatisfiedAdmissionChecks", 20)
"""It was admitted, until its ClusterQueue got another admission check."""


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
@pytest.mark.parametrize("case", ["deleted", "gone", "Hold"])
def test_quota_of_pods_that_end_is_not_free_although_it_is_only_reserved(kind: str, case: str) -> None:
    around = {"required": ["new"], **queues(kind, case)}
    step = look(UNADMITTED, 25, **around, reported=Reported(runs=True))
    assert conditions(step.workload)["QuotaReserved"][0] == "True"
    step = look(step.workload, 30, **around)
    assert conditions(step.workload)["QuotaReserved"][0] == "False"
    assert "Evicted" not in conditions(step.workload)


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_pods_that_are_drained_end_before_their_quota_is_free(kind: str) -> None:
    around = {"required": ["new"], **queues(kind, "HoldAndDrain")}
    step = look(UNADMITTED, 25, **around, reported=Reported(runs=True))
    assert conditions(step.workload)["Evicted"][:2] == ("True", f"{kind}Stopped")
    assert conditions(step.workload)["QuotaReserved"][0] == "True"
    step = look(step.workload, 30, **around, reported=Reported(nothing_runs=True))
    assert conditions(step.workload)["QuotaReserved"][0] == "False"


def test_an_eviction_of_what_is_only_reserved_waits_for_pods_as_well() -> None:
    item = changed(UNADMITTED, "spec", active=False)
    step = look(item, 25, required=["new"], reported=Reported(runs=True))
    assert conditions(step.workload)["Evicted"][:2] == ("True", "Deactivated")
    assert conditions(step.workload)["QuotaReserved"][0] == "True"


def test_the_reason_why_it_waits_then_is_that_of_its_queue() -> None:
    step = look(RESERVED, 5, **queues("LocalQueue", "Hold"))
    assert conditions(step.workload)["QuotaReserved"][1:] == ("Suspended", "LocalQueue q is inactive")
    step = look(RESERVED, 5, **queues("ClusterQueue", "gone"))
    assert conditions(step.workload)["QuotaReserved"][1:] == ("Misconfigured", "ClusterQueue q doesn't exist")


# ---- the newest state of an object moves each moment


def since(item: Workload, kind: str, seconds: int) -> Workload:
    """The same with another time of this condition, which was changed in place."""
    conditions_ = [
        msgspec.structs.replace(each, last_transition_time=at(seconds)) if each.type == kind else each
        for each in item.status.conditions or ()
    ]
    moved: Workload = changed(item, "status", conditions=conditions_)
    return moved


def runs(seconds: int) -> Workload:
    """It may run for 100 seconds, and is admitted since this second."""
    return since(changed(ADMITTED, "spec", maximum_execution_time_seconds=100), "Admitted", seconds)


def backs_off(seconds: int) -> Workload:
    """It is tried again 100 seconds after this second."""
    item = set_condition(workload("w", "q", 1), "Requeued", "False", "PodsReadyTimeout", 1)
    moved: Workload = changed(item, "status", requeue_state=RequeueState(1, at(seconds + 100)))
    return moved


def retries(seconds: int) -> Workload:
    """A check wants another try, 100 seconds after this second."""
    check = AdmissionCheckState("c", "Retry", at(seconds), "", requeue_after_seconds=100)
    moved: Workload = changed(workload("w", "q", 1), "status", admission_checks=[check])
    return moved


def overdue(seconds: int) -> Workload:
    """It was evicted at this second, and does not end."""
    item = set_condition(ADMITTED, "Evicted", "True", "Preempted", 1)
    return since(item, "Evicted", seconds - 200)


@pytest.mark.parametrize("item", [runs, backs_off, retries, overdue])
def test_the_newest_state_says_when_time_alone_changes_something(item: Callable[[int], Workload]) -> None:
    for seconds in (20, -10, 50):
        step = next_step(item(seconds), Around(local_queue=LOCAL, cluster_queue=QUEUE), LIMITS, us(60))
        assert step.again == us(seconds + 100)


def test_a_preemption_before_the_deactivation_does_not_cost_the_time_of_the_next_activation() -> None:
    """Its time is over, and it is preempted before its spec says so."""
    exceeded = changed(since(ADMITTED, "Admitted", 10), "spec", maximum_execution_time_seconds=100)
    step = look(exceeded, 115)
    assert step.deactivates
    preemption = Preemption("ns/plan", step.workload.metadata.uid, "InClusterQueue", "Preempted", "q")
    preempted = look(step.workload, 116, preemption=preemption)
    ended = look(preempted.workload, 117, reported=Reported(nothing_runs=True))
    inactive = look(changed(ended.workload, "spec", active=False), 118)
    assert conditions(inactive.workload)["Evicted"][1] == "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert not inactive.workload.status.accumulated_past_execution_time_seconds
