"""What is said of a Workload that waits: its status, its queue, its checks, or the decision about its quota."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.meta import ObjectMeta
from api.plan_results import PlanCost
from api.plans import PreemptionPlan, PreemptionPlanSpec, PreemptionPlanStatus, Preemptor, Victim
from api.waits import Wait
from api.workloads import AdmissionCheckState, RequeueState, Workload
from quota.answers.picture import QuotaPicture
from quota.answers.trial import admitted
from quota.answers.waits import Around, outcome_of, why_workload_waits
from quota.state.state import QuotaState
from tests.kit.quota.objects import (
    Object,
    at,
    cluster_queue,
    completed,
    cpu,
    evicted,
    held,
    local_queue,
    preempted,
    set_condition,
    us,
    workload,
)

QUEUE = cluster_queue("q", cpu(4), within="LowerPriority")


def pictured(*things: Object) -> QuotaPicture:
    state = QuotaState(partial=True, deactivated_hold=False)
    for each in completed(things):
        state.apply(each)
    return QuotaPicture(state)


def ask(asked: Workload, *others: Object, plans: tuple[PreemptionPlan, ...] = (), unread: str = "") -> Wait:
    around = Around(pictured(asked, *others), us(100), plans, unread=unread)
    answer = why_workload_waits(asked, around)
    if not plans:  # what decides without words says the same
        outcome = outcome_of(asked, around)
        assert outcome.wait() == answer
        assert outcome.not_modelled == answer.not_modelled
        assert outcome.gets_quota == (answer.state in ("Fits", "Preempts"))
        assert outcome.preempts == (answer.state == "Preempts")
    return answer


def test_words_that_are_made_later_are_those_of_the_decision() -> None:
    quota = pictured(JOB, QUEUE, LOW).own()
    around = Around(quota, us(100), places=quota.places())
    outcome, said = outcome_of(JOB, around), why_workload_waits(JOB, around)
    assert outcome.decision is not None
    assert said.state == "Preempts"
    quota.put(admitted(JOB, outcome.decision, at(100)), workload("other", "q", 1, priority=9))
    assert outcome.wait() == said


def with_status(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, status=msgspec.structs.replace(item.status, **fields))


def with_spec(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, **fields))


def check(state: str, **more: Any) -> AdmissionCheckState:
    return msgspec.convert(
        {"name": "budget", "state": state, "lastTransitionTime": at(5), "message": "no money", **more},
        AdmissionCheckState,
    )


JOB = workload("job", "q", 3)
LOW = held(workload("low", "q", 3, priority=-1), 1)
EQUAL = held(workload("equal", "q", 3), 1)
RETRIED = with_status(
    set_condition(preempted(JOB, 20, "AdmissionCheck"), "Requeued", "False", "AdmissionCheck", 20),
    admission_checks=[check("Retry", retryCount=2, requeueAfterSeconds=600)],
    requeue_state=RequeueState(2, at(620)),
)


@pytest.mark.parametrize(
    ("asked", "others", "state", "words"),
    [
        (set_condition(JOB, "Finished", "True", "Succeeded", 9, "done"), [], "Finished", "(Succeeded). done"),
        (with_spec(JOB, active=False), [QUEUE], "Deactivated", "spec.active is false"),
        (set_condition(held(JOB, 5), "Admitted", "True", "Admitted", 6), [QUEUE], "Admitted", "ClusterQueue q"),
        (evicted(held(JOB, 5), 7), [QUEUE], "Evicting", "(Preempted)"),
        (with_status(held(JOB, 5), admission_checks=[check("Pending")]), [QUEUE], "AdmissionChecks", "budget"),
        (held(JOB, 5), [QUEUE], "AdmissionChecks", "about to be admitted"),
        (RETRIED, [QUEUE], "BackingOff", "queued again 2 times so far"),
        (with_spec(JOB, queue_name=""), [QUEUE], "Misconfigured", "spec.queueName: is not set"),
        (with_spec(JOB, queue_name="none"), [QUEUE], "Misconfigured", "there is no LocalQueue ns/none"),
        (JOB, [local_queue("q", "gone")], "Misconfigured", "there is no ClusterQueue 'gone'"),
        (JOB, [cluster_queue("q", cpu(4), stop="Hold")], "Suspended", "is inactive"),
        (JOB, [QUEUE], "Fits", "in flavor default when it is its turn"),
        (JOB, [QUEUE, LOW], "Preempts", "once 1 Workload is preempted"),
        (with_spec(workload("job", "q", 3, gates=["g"])), [QUEUE, LOW], "PreemptionGated", "gate is closed"),
        (JOB, [QUEUE, EQUAL], "NoCandidates", "too few of the Workloads"),
        (workload("job", "q", 5), [QUEUE], "ExceedsMaxQuota", "more than there would be"),
    ],
)  # fmt: skip
def test_the_state_says_why(asked: Workload, others: list[Object], state: str, words: str) -> None:
    answer = ask(asked, *others)
    assert answer.state == state
    assert words in answer.sentence
    assert answer.waits == (state not in ("Finished", "Admitted"))
    assert bool(answer.tried_again) == answer.waits


def test_checks_are_named_with_their_retries() -> None:
    answer = ask(RETRIED, QUEUE)
    said = f"AdmissionCheck budget is Retry since {at(5)}, 2 retries so far, again after 600 s: no money"
    assert answer.waits_for == (said,)
    assert answer.tried_again == f"Not before {at(620)}."


def test_the_place_in_the_queue_is_by_priority_and_time() -> None:
    others = [workload("first", "q", 1, priority=1), workload("later", "q", 1, created=9)]
    stray = workload("stray", "nowhere", 1, priority=9)
    answer = ask(workload("job", "q", 3, created=5), QUEUE, *others, stray)
    assert (answer.numbers["position"], answer.numbers["waitingInClusterQueue"]) == (2, 3)
    assert "1 Workload before it" in answer.sentence
    assert answer.tried_again.startswith("In its turn")


def test_a_copy_of_a_workload_counts_once() -> None:
    state = QuotaState(partial=True, deactivated_hold=False)
    for each in completed([JOB, QUEUE]):
        state.apply(each)
    answer = why_workload_waits(msgspec.structs.replace(JOB), Around(QuotaPicture(state), us(100)))
    assert (answer.numbers["position"], answer.numbers["waitingInClusterQueue"]) == (1, 1)


def test_who_stays_is_said_with_the_reason() -> None:
    answer = ask(JOB, QUEUE, EQUAL)
    assert answer.stays == ("1 Workload of ClusterQueue q: the priority is not low enough",)
    assert answer.would_help == ("2 cpu more in flavor default.",)
    (place,) = answer.places
    assert (place.name, place.outcome) == ("cpu in flavor default for main", "NoCandidates")
    going = ask(JOB, QUEUE, LOW)
    said = "Workload ns/low of ClusterQueue q, priority -1: lower priority in the same ClusterQueue"
    assert going.waits_for == (said,)


def test_a_closed_gate_is_named() -> None:
    assert ask(workload("job", "q", 3, gates=["a.example/g"]), QUEUE, LOW).would_help == (
        "Open preemption gates: a.example/g.",
    )


GATED = workload("job", "q", 3, gates=["a.example/g"])
COST = "That would cost 1 Workload with 1 pod and 99 pod-seconds of work."


def test_who_waits_for_a_gate_says_what_its_preemption_would_cost() -> None:
    answer = ask(GATED, QUEUE, LOW)
    assert answer.sentence.startswith(
        "It waits for preemption gate a.example/g: 1 Workload would have to be preempted, and a preemption gate is "
        f"closed. {COST} The highest priority of a victim is -1, and the sum of their priorities is -1."
    )
    assert (answer.numbers["victimPods"], answer.numbers["lostPodSeconds"]) == (1, 99)
    assert answer.waits_for[0].startswith("Workload ns/low of ClusterQueue q, priority -1")
    assert answer.plan == ""


def test_what_is_proposed_counts_if_it_is_about_the_same_victims() -> None:
    """It knows the pods that would be evicted on nodes, too."""
    meta = ObjectMeta(name="p", namespace="ns", creation_timestamp=at(50))
    preemptor = Preemptor("Workload", "kueue.x-k8s.io/v1beta2", "ns", "job", "job", 0)
    victims = [Victim("Workload", "ns", "low", "low", -1, False, [])]
    spec = PreemptionPlanSpec(preemptor, "Proposes", "why", victims=victims, cost=PlanCost(-1, -1, 1, 7, 42))
    for status in (PreemptionPlanStatus(phase="Proposed"), None):
        plan = PreemptionPlan(metadata=meta, spec=spec, status=status)
        answer = ask(GATED, QUEUE, LOW, plans=(plan,))
        assert (answer.state, answer.source, answer.plan) == ("PreemptionGated", "Engine", "ns/p")
        assert (answer.numbers["victimPods"], answer.numbers["lostPodSeconds"]) == (7, 42)
        other = held(workload("other", "q", 3, priority=-1), 1)
        assert COST in ask(GATED, QUEUE, other, plans=(plan,)).sentence
        assert ask(JOB, QUEUE, LOW, plans=(plan,)).plan == "", "it is no plan that is carried out"


def test_a_strict_queue_tries_its_head_always() -> None:
    strict = cluster_queue("q", cpu(4), strict=True)
    assert "StrictFIFO" in ask(JOB, strict, EQUAL).tried_again
    assert "Time alone" in ask(JOB, QUEUE, EQUAL).tried_again


def test_a_plan_says_who_still_has_to_leave() -> None:
    meta = ObjectMeta(name="p", namespace="ns", creation_timestamp=at(50))
    preemptor = Preemptor("Workload", "kueue.x-k8s.io/v1beta2", "ns", "job", "job", 0)
    victims = [Victim("Workload", "ns", name, name, -1, False, []) for name in ("low", "left")]
    spec = PreemptionPlanSpec(preemptor, "Preempts", "why", victims=victims)
    plan = PreemptionPlan(metadata=meta, spec=spec, status=PreemptionPlanStatus(phase="Evicting"))
    answer = ask(JOB, QUEUE, LOW, plans=(plan,))
    assert (answer.state, answer.source, answer.plan) == ("WaitingForPreemptedWorkloads", "Plan", "ns/p")
    assert answer.waits_for == ("Workload ns/low, priority -1",)
    assert "1 of 2 have left" in answer.sentence
    plan.status = PreemptionPlanStatus(phase="Aborted")
    assert ask(JOB, QUEUE, LOW, plans=(plan,)).source == "Engine"


def test_the_words_of_its_status_are_repeated() -> None:
    said = set_condition(JOB, "QuotaReserved", "False", "WaitingForQuota", 3, "couldn't assign flavors")
    answer = ask(said, QUEUE, EQUAL)
    assert answer.sentence.endswith("Its status says: couldn't assign flavors")
    assert answer.since == at(3)


def test_without_rights_the_decision_is_not_asked_for() -> None:
    answer = ask(JOB, unread="clusterqueues is forbidden")
    assert answer.state == "NotAsked"
    assert "clusterqueues is forbidden" in answer.sentence
