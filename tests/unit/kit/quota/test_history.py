"""The checker of quota histories finds what is wrong in forged ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.kueue import RESOURCE_IN_USE, ClusterQueue
from api.meta import Condition
from api.usage import ClusterQueueStatus
from api.workloads import AdmissionCheckState, Workload
from tests.kit.quota import objects as kit
from tests.kit.quota.history import Object, QuotaHistory
from tests.kit.quota.rest import stuck
from tests.kit.quota.rules import (
    CHECKS,
    admitted_without_quota,
    beyond_the_tree,
    evicted_by_turns,
    evicted_twice,
    evicted_without_event,
    evicted_without_reason,
)

NOW = kit.us(1000)
MESSAGE = "Preempted to accommodate a workload (UID: {}, JobUID: UNKNOWN) due to prioritization"


class Forger:
    """Writes a history, one version after the other."""

    def __init__(self, *objects: kit.Object) -> None:
        self.history, self._version = QuotaHistory(), 0
        for each in kit.completed(objects):
            self.put(each)

    def put(self, item: Object, event: str = "MODIFIED", *, version: int = 0, at: float = 0.0) -> None:
        self._version = version or self._version + 1
        body: dict[str, Any] = msgspec.to_builtins(item)
        body |= {"kind": type(item).__name__}
        body["metadata"] |= {"resourceVersion": str(self._version)}
        body["metadata"]["uid"] = body["metadata"].get("uid") or f"{body['kind']}-{item.metadata.name}"
        self.history.record(event, body, at)

    def event(self, uid: str, reason: str) -> None:
        self._version += 1
        meta = {
            "name": f"e{self._version}",
            "uid": f"e{self._version}",
            "resourceVersion": str(self._version),
        }
        body = {"kind": "Event", "metadata": meta, "regarding": {"uid": uid}, "reason": reason}
        self.history.record("ADDED", body)

    def plan(
        self, preemptor: str, *victims: str, phase: str = "QuotaReserved", kind: str = "Workload"
    ) -> None:
        self._version += 1
        one = {"kind": kind, "namespace": "ns", "priority": 0}
        owner = one | {"apiVersion": "v", "name": preemptor, "uid": preemptor}
        units = [
            one | {"name": each, "uid": each, "violatesPodDisruptionBudget": False, "pods": []}
            for each in victims
        ]
        meta = {"name": f"of-{preemptor}", "namespace": "ns", "uid": f"plan-{preemptor}"}
        body = {
            "kind": "PreemptionPlan",
            "metadata": meta | {"resourceVersion": str(self._version)},
            "spec": {"preemptor": owner, "outcome": "Preempts", "reason": "", "victims": units},
            "status": {"phase": phase},
        }
        self.history.record("ADDED", body)


def queue(cpus: int = 2, **options: Any) -> kit.Object:
    return kit.cluster_queue("q", {"default": {"cpu": (cpus, None, None)}}, within="LowerPriority", **options)


def workload(name: str, cpus: int = 1, priority: int = 0) -> Workload:
    return kit.workload(name, "q", cpus, priority=priority)


def held(name: str, cpus: int = 1) -> Workload:
    return kit.held(workload(name, cpus), 5)


def evicted(before: Workload, seconds: int, message: str, reason: str = "Preempted") -> Workload:
    others = [each for each in before.status.conditions or () if each.type != "Evicted"]
    said = Condition("Evicted", "True", reason, message, last_transition_time=kit.at(seconds))
    status = msgspec.structs.replace(before.status, conditions=[*others, said])
    return msgspec.structs.replace(before, status=status)


def test_a_history_without_faults_passes() -> None:
    """A preemption from the begin to the end."""
    forged = Forger(queue())
    forged.put(workload("low", 2))
    forged.put(kit.set_condition(held("low", 2), "Admitted", "True", "Admitted", 6))
    forged.put(workload("high", 2, priority=1))
    forged.plan("high", "low")
    forged.put(evicted(held("low", 2), 7, MESSAGE.format("high")))
    for reason in ("Preempted", "EvictedDueToPreempted"):
        forged.event("low", reason)
    forged.put(kit.preempted(workload("low", 2), 7, "InClusterQueue"))
    admitted = kit.held(workload("high", 2, priority=1), 8)
    forged.put(kit.set_condition(admitted, "Admitted", "True", "Admitted", 8))
    assert [wrong for check in CHECKS for wrong in check(forged.history)] == []
    assert stuck(forged.history, NOW) == []


def test_quota_beyond_the_tree_is_found() -> None:
    forged = Forger(queue())
    forged.put(held("first", 2))
    assert beyond_the_tree(forged.history) == []
    forged.put(held("second"))
    (wrong,) = beyond_the_tree(forged.history)
    assert "ns/second got quota beyond the tree" in wrong


def test_quota_that_was_given_back_before_is_free() -> None:
    forged = Forger(queue())
    forged.put(held("first", 2))
    forged.put(held("first", 2), "DELETED")
    forged.put(held("second"))
    assert beyond_the_tree(forged.history) == []


def test_quota_that_was_lowered_in_the_same_moment_may_still_be_given() -> None:
    """The watch of ClusterQueues told it later than that of Workloads."""
    forged = Forger(queue())
    forged.put(queue(0), at=100.01)
    forged.put(held("first", 2), at=100.0)
    assert beyond_the_tree(forged.history) == []


def test_quota_that_was_lowered_afterwards_is_no_fault() -> None:
    forged = Forger(queue())
    forged.put(held("first", 2))
    forged.put(queue(1))
    assert beyond_the_tree(forged.history) == []
    forged.put(held("second"), at=10.0)
    assert len(beyond_the_tree(forged.history)) == 1


def test_quota_that_grows_later_is_found() -> None:
    forged = Forger(queue(3))
    forged.put(held("first", 2))
    forged.put(held("second"))
    assert beyond_the_tree(forged.history) == []
    forged.put(msgspec.structs.replace(held("second"), status=held("second", 2).status))
    (wrong,) = beyond_the_tree(forged.history)
    assert "ns/second got quota beyond the tree" in wrong


def test_what_a_cohort_does_not_lend_is_found() -> None:
    lends = kit.cluster_queue("lender", {"default": {"cpu": (2, None, 1)}}, "team")
    forged = Forger(lends, kit.cluster_queue("q", {"default": {"cpu": (0, None, None)}}, "team"))
    forged.put(held("first"))
    assert beyond_the_tree(forged.history) == []
    forged.put(held("second"))
    assert len(beyond_the_tree(forged.history)) == 1


@pytest.mark.parametrize(("seconds", "found"), [(4.0, 0), (6.0, 1)])
def test_what_is_taken_back_at_once_is_no_fault(seconds: float, found: int) -> None:
    forged = Forger(queue())
    forged.put(held("first", 2))
    forged.put(held("late"), at=100.0)
    assert len(beyond_the_tree(forged.history)) == 1
    forged.put(evicted(held("late"), 7, "taken back", "QuotaExceeded"), at=100.0 + seconds)
    assert len(beyond_the_tree(forged.history)) == found


def test_what_nobody_watched_is_not_judged() -> None:
    forged = Forger(queue())
    forged.put(held("first", 2), version=10)
    forged.put(held("second"), version=12)
    forged.put(held("third"), version=14)
    forged.history.gap(10, 12)
    (wrong,) = beyond_the_tree(forged.history)
    assert "ns/third" in wrong


@pytest.mark.parametrize(("seconds", "found"), [(1.0, 0), (3.0, 1)])
def test_quota_that_was_lowered_a_moment_ago_may_still_be_given(seconds: float, found: int) -> None:
    forged = Forger(queue(2))
    forged.put(held("first"), at=90.0)
    forged.put(queue(1), at=100.0)
    forged.put(held("second"), at=100.0 + seconds)
    assert len(beyond_the_tree(forged.history)) == found
    forged.put(held("third"), at=100.0 + seconds)
    assert len(beyond_the_tree(forged.history)) == found + 1


def test_events_are_judged_by_version_whatever_order_they_are_told_in() -> None:
    forged = Forger(queue())
    forged.put(held("later", 2), version=20)
    forged.put(held("earlier", 2), version=19)
    (wrong,) = beyond_the_tree(forged.history)
    assert wrong.startswith("version 20: ns/later")


def test_an_admission_without_quota_is_found() -> None:
    forged = Forger(queue())
    forged.put(kit.set_condition(workload("w"), "Admitted", "True", "Admitted", 5))
    assert len(admitted_without_quota(forged.history)) == 1
    forged.put(kit.set_condition(held("w"), "Admitted", "True", "Admitted", 5))
    assert len(admitted_without_quota(forged.history)) == 1


def test_a_workload_that_its_maker_has_ended_is_admitted_for_a_moment() -> None:
    forged = Forger(queue())
    admitted = kit.set_condition(held("w"), "Admitted", "True", "Admitted", 5)
    forged.put(admitted)
    ended = kit.set_condition(admitted, "QuotaReserved", "False", "Pending", 6)
    forged.put(ended)
    stays = "ns/w has no quota, and stays admitted"
    assert admitted_without_quota(forged.history) == []
    assert stays in stuck(forged.history, NOW)
    forged.put(kit.set_condition(ended, "Admitted", "False", "NoReservation", 6))
    assert admitted_without_quota(forged.history) == []
    assert stays not in stuck(forged.history, NOW)


def two_evictions(*between: Object) -> QuotaHistory:
    forged = Forger(queue())
    for each in (workload("high", priority=1), workload("other", priority=1)):
        forged.put(each)
    forged.put(evicted(held("low"), 7, MESSAGE.format("high")))
    forged.put(workload("low"))
    forged.put(held("low"))
    for other in between:
        forged.put(other)
    forged.put(evicted(held("low"), 9, MESSAGE.format("high")))
    return forged.history


def test_a_second_eviction_for_one_preemptor_is_found() -> None:
    (wrong,) = evicted_twice(two_evictions())
    assert "ns/low was evicted twice for the preemptor high" in wrong
    assert len(evicted_twice(two_evictions(kit.held(workload("other", priority=1), 8)))) == 1


@pytest.mark.parametrize(
    "between",
    [
        kit.held(workload("high", priority=1), 8),
        workload("high", priority=2),
        held("low", 2),
        queue(1),
        kit.held(workload("higher", priority=2), 8),
    ],
    ids=["the preemptor got quota", "its spec", "the victim's spec", "a queue's spec", "a higher one passed"],
)
def test_what_happened_in_between_may_explain_a_second_eviction(between: Object) -> None:
    assert evicted_twice(two_evictions(between)) == []


def test_three_that_take_turns_are_found() -> None:
    passer = kit.held(workload("higher", priority=2), 8)
    reclaimed = evicted(passer, 9, MESSAGE.format("low"))
    (wrong,) = evicted_twice(two_evictions(passer, reclaimed))
    assert "ns/low was evicted twice for the preemptor high" in wrong


def test_after_a_fault_each_may_be_evicted_once_more() -> None:
    history = two_evictions()
    history.faults.append((-1.0, 1.0))
    assert evicted_twice(history) == []


def test_a_second_eviction_for_another_preemptor_is_no_fault() -> None:
    forged = Forger(queue())
    forged.put(evicted(held("low"), 7, MESSAGE.format("high")))
    forged.put(held("low"))
    forged.put(evicted(held("low"), 9, MESSAGE.format("higher")))
    assert evicted_twice(forged.history) == []


@pytest.mark.parametrize(("reason", "message"), [("", "why"), ("Deactivated", "")])
def test_an_eviction_without_reason_or_message_is_found(reason: str, message: str) -> None:
    forged = Forger(queue())
    forged.put(held("w"))
    forged.put(evicted(held("w"), 7, message, reason))
    (wrong,) = evicted_without_reason(forged.history)
    assert "ns/w was evicted without reason or message" in wrong


@pytest.mark.parametrize(("times", "found"), [(2, False), (9, True)])
def test_two_that_evict_each_other_are_found(times: int, found: bool) -> None:
    forged = Forger(queue())
    for turn in range(times):
        victim, preemptor = ("a", "b") if turn % 2 else ("b", "a")
        forged.put(held(victim))
        forged.put(evicted(held(victim), turn, MESSAGE.format(preemptor)))
    assert bool(evicted_by_turns(forged.history)) == found


def test_a_preemption_on_nodes_needs_a_plan_of_its_preemptor() -> None:
    message = "Preempted on nodes: PodGroup ns/gang (priority 9) preempts this pod"
    forged = Forger(queue())
    forged.put(held("low"))
    forged.plan("other", "unit", kind="PodGroup")
    forged.put(evicted(held("low"), 7, message))
    assert len(evicted_without_reason(forged.history)) == 1
    forged = Forger(queue())
    forged.put(held("low"))
    forged.plan("gang", "unit", kind="PodGroup")
    forged.put(evicted(held("low"), 7, message))
    assert evicted_without_reason(forged.history) == []


def test_a_preemption_without_a_plan_is_found() -> None:
    forged = Forger(queue())
    forged.put(held("low"))
    forged.plan("other", "low")
    forged.put(evicted(held("low"), 7, MESSAGE.format("high")))
    forged.plan("high", "low")  # too late
    (wrong,) = evicted_without_reason(forged.history)
    assert "ns/low was preempted without a plan" in wrong


@pytest.mark.parametrize("told", ["Preempted", "EvictedDueToPreempted"])
def test_an_eviction_without_its_events_is_found(told: str) -> None:
    forged = Forger(queue())
    forged.put(held("low"))
    forged.put(evicted(held("low"), 7, MESSAGE.format("high")), at=100.0)
    forged.event("low", told)
    forged.event("other", "Preempted")
    forged.event("other", "EvictedDueToPreempted")
    (wrong,) = evicted_without_event(forged.history)
    assert "ns/low was evicted, and there is no event" in wrong
    forged.history.faults.append((50.0, 60.0))
    assert len(evicted_without_event(forged.history)) == 1
    forged.history.faults.append((101.0, 110.0))  # the process died before it wrote the event
    assert evicted_without_event(forged.history) == []


def test_an_eviction_on_nodes_has_no_event_of_a_quota_preemption() -> None:
    """Event ``Preempted`` says that somebody took the quota. On nodes somebody takes the places."""
    forged = Forger(queue())
    forged.put(held("low"))
    forged.put(evicted(held("low"), 7, "Preempted on nodes: Job ns/high needs places"))
    (wrong,) = evicted_without_event(forged.history)
    assert "no event EvictedDueToPreempted" in wrong
    forged.event("low", "EvictedDueToPreempted")
    assert evicted_without_event(forged.history) == []


def test_a_workload_that_would_fit_is_stuck() -> None:
    forged = Forger(queue())
    forged.put(workload("w"))
    assert stuck(forged.history, NOW) == ["ns/w waits, and a cycle says Admit"]


def test_a_workload_that_nobody_preempts_for_is_stuck() -> None:
    forged = Forger(queue())
    forged.put(kit.set_condition(held("low", 2), "Admitted", "True", "Admitted", 5))
    forged.put(workload("high", priority=1))
    assert stuck(forged.history, NOW) == ["ns/high waits, and a cycle says Preempt"]


@pytest.mark.parametrize(("priority", "is_stuck"), [(2, False), (1, True), (None, True)])
def test_who_waits_for_one_that_passed_it_is_not_stuck(priority: int | None, is_stuck: bool) -> None:
    """That one waits, too, and has a higher priority."""
    forged = Forger(queue())
    forged.put(kit.set_condition(held("low", 2), "Admitted", "True", "Admitted", 5))
    waiting = kit.set_condition(workload("high", priority=1), "QuotaReserved", "False", "WaitingForQuota", 5)
    said = next(each for each in waiting.status.conditions or () if each.type == "QuotaReserved")
    said.message = "it does not preempt while Workload ns/passer waits: that Workload has a higher priority"
    forged.put(waiting)
    if priority is not None:
        forged.put(kit.workload("passer", "q", 99, priority=priority))
    assert ("ns/high waits, and a cycle says Preempt" in stuck(forged.history, NOW)) == is_stuck


@pytest.mark.parametrize("holds", [True, False])
def test_who_does_not_take_turns_is_not_stuck(holds: bool) -> None:
    forged = Forger(queue())
    low = kit.set_condition(held("low", 2), "Admitted", "True", "Admitted", 5)
    forged.put(low)
    waiting = kit.set_condition(workload("high", priority=1), "QuotaReserved", "False", "WaitingForQuota", 5)
    said = next(each for each in waiting.status.conditions or () if each.type == "QuotaReserved")
    named = "ns/low" if holds else "ns/gone"
    said.message = (
        f"it does not preempt Workload {named} yet, because that Workload preempted it a short time ago"
    )
    forged.put(waiting)
    assert ("ns/high waits, and a cycle says Preempt" in stuck(forged.history, NOW)) != holds


@pytest.mark.parametrize(("cpus", "is_stuck"), [(1, False), (2, True)])
def test_who_asks_for_the_same_as_one_without_a_place_is_not_stuck(cpus: int, is_stuck: bool) -> None:
    forged = Forger(queue())
    forged.put(kit.set_condition(held("low", 2), "Admitted", "True", "Admitted", 5))
    waiting = kit.set_condition(workload("high", priority=1), "QuotaReserved", "False", "WaitingForQuota", 5)
    said = next(each for each in waiting.status.conditions or () if each.type == "QuotaReserved")
    said.message = "it does not preempt, because its pods would find no place on nodes: 1 Insufficient cpu"
    forged.put(waiting)
    forged.put(workload("same", cpus, priority=1))
    assert ("ns/same waits, and a cycle says Preempt" in stuck(forged.history, NOW)) == is_stuck


def test_a_workload_that_does_not_fit_waits() -> None:
    forged = Forger(queue())
    forged.put(workload("w", 3))
    forged.put(kit.workload("elsewhere", "nowhere", 1))
    assert stuck(forged.history, NOW) == []


def test_a_queue_that_is_stopped_leaves_nobody_stuck() -> None:
    forged = Forger(queue(stop="Hold"))
    forged.put(workload("w"))
    assert stuck(forged.history, NOW) == []


def test_who_waits_behind_the_head_of_a_strict_queue_is_not_stuck() -> None:
    forged = Forger(queue(strict=True))
    forged.put(workload("head", 3, priority=1))
    forged.put(workload("w"))
    assert stuck(forged.history, NOW) == []


def test_a_delay_that_is_over_is_found() -> None:
    forged = Forger(queue())
    forged.put(kit.set_condition(workload("w"), "Requeued", "False", "AdmissionCheck", 5))
    assert stuck(forged.history, NOW) == ["ns/w is not queued again after its delay"]


def test_a_plan_that_does_not_end_is_found() -> None:
    forged = Forger(queue())
    forged.plan("high", "low", phase="Evicting")
    assert stuck(forged.history, NOW) == ["ns/of-high is still carried out"]


def with_check(before: Workload, state: Any) -> Workload:
    check = AdmissionCheckState("check", state, kit.at(5), "")
    return msgspec.structs.replace(
        before, status=msgspec.structs.replace(before.status, admission_checks=[check])
    )


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("Pending", []),
        ("Ready", ["ns/w has quota and no open check, and is not admitted"]),
        ("Retry", ["ns/w keeps its quota, and its checks say Retry"]),
        ("Rejected", ["ns/w keeps its quota, and its checks say Rejected"]),
    ],
)
def test_a_check_that_was_answered_in_vain_is_found(state: str, found: list[str]) -> None:
    forged = Forger(queue())
    forged.put(with_check(held("w"), state))
    assert stuck(forged.history, NOW) == found


def in_deletion(item: Object) -> Object:
    item.metadata.deletion_timestamp = kit.at(5)
    item.metadata.finalizers = [RESOURCE_IN_USE]
    return item


def test_who_stays_in_deletion_is_found() -> None:
    forged = Forger()
    forged.put(in_deletion(queue()))
    forged.put(in_deletion(kit.flavor("default")))
    forged.put(in_deletion(workload("w")))
    said = "is being deleted and not used, and keeps its finalizer"
    assert stuck(forged.history, NOW) == [f"{each} {said}" for each in ("ClusterQueue q", "Workload w")]
    forged.put(in_deletion(kit.set_condition(held("h"), "Admitted", "True", "Admitted", 5)))
    assert f"ClusterQueue q {said}" not in stuck(forged.history, NOW)


def test_a_queue_that_counts_wrong_is_found() -> None:
    counting = queue()
    assert isinstance(counting, ClusterQueue)
    forged = Forger(msgspec.structs.replace(counting, status=ClusterQueueStatus(reserving_workloads=1)))
    (wrong,) = stuck(forged.history, NOW)
    assert wrong.startswith("ClusterQueue q says (1, 0)")
    forged.put(held("w"))
    assert not any("says" in each for each in stuck(forged.history, NOW))
