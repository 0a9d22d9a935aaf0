"""Which Workload is the head of a queue, and which one returns to it at once."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from api.kueue import ClusterQueue
from api.workloads import FINISHED, RequeueState, Workload
from quota.cycle.queues import ADMISSION_GATED_BY, RequeueReason, heads, requeue
from quota.state.snapshot import QuotaSnapshot
from tests.kit.quota.objects import (
    at,
    cluster_queue,
    cpu,
    evicted,
    held,
    local_queue,
    preempted,
    set_condition,
    snapshot,
    us,
    workload,
)

NOW = us(1000)


def queue(name: str = "queue", *, strict: bool = False) -> ClusterQueue:
    return cluster_queue(name, cpu(10), strict=strict)


def names(workloads: list[Workload]) -> list[str]:
    return [workload.metadata.name for workload in workloads]


def first(*pending: Workload, world: QuotaSnapshot | None = None, **options: object) -> list[str]:
    found = world or snapshot(queue(), *pending)
    results = {
        tuple(names(heads(found, order, NOW, **options)))  # type: ignore[arg-type]  # as given
        for order in itertools.permutations(pending)
    }
    (result,) = results
    return list(result)


def test_higher_priority_then_earlier_then_smaller_uid() -> None:
    late = workload("late", "queue", 1, created=20, priority=1)
    low = workload("low", "queue", 1, created=0)
    early = workload("early", "queue", 1, created=10, priority=1, uid="2")
    twin = workload("twin", "queue", 1, created=10, priority=1, uid="1")
    assert first(late, low, early, twin) == ["twin"]
    assert first(late, low, early) == ["early"]
    assert first(late, low) == ["late"]


def test_each_queue_has_a_head_by_the_name_of_the_queue() -> None:
    pending = [workload("1", "b", 1), workload("2", "a", 1), workload("3", "b", 1, created=1)]
    assert first(*pending, world=snapshot(queue("a"), queue("b"), queue("empty"), *pending)) == ["2", "1"]


@pytest.mark.parametrize(
    ("reason", "head"),
    [
        ("InClusterQueueTimeBased", "other"),
        ("InClusterQueue", "back"),
        ("InCohortReclamation", "back"),
        ("InCohortReclaimWhileBorrowing", "back"),
        ("InCohortFairSharing", "back"),
    ],
)
def test_only_who_was_preempted_for_its_time_queues_anew(reason: str, head: str) -> None:
    """Ours: KEP-8522. Others keep the place that their creation gives them."""
    other = workload("other", "queue", 1, created=50)
    back = preempted(workload("back", "queue", 1, created=0), 100, reason)
    assert first(other, back) == [head]


@pytest.mark.parametrize("reason", ["PodsReadyTimeout", "AdmissionCheck"])
def test_who_was_evicted_for_its_own_sake_queues_anew(reason: str) -> None:
    other = workload("other", "queue", 1, created=50)
    back = evicted(workload("back", "queue", 1, created=0), 100, reason)
    assert first(other, back) == ["other"]


def test_the_sticky_one_stays_first_under_best_effort_alone() -> None:
    pending = workload("urgent", "queue", 1, priority=5), workload("preemptor", "queue", 1)
    sticky = {"queue": "ns/preemptor"}
    assert first(*pending, sticky=sticky) == ["preemptor"]
    assert first(*pending, sticky=sticky, world=snapshot(queue(strict=True), *pending)) == ["urgent"]
    assert first(*pending, sticky={"other": "ns/preemptor"}) == ["urgent"]


def test_parked_ones_are_passed_over() -> None:
    pending = workload("urgent", "queue", 1, priority=5), workload("other", "queue", 1)
    assert first(*pending, parked={"ns/urgent"}) == ["other"]


def finished(done: Workload) -> Workload:
    return set_condition(done, FINISHED, "True", "Succeeded", 0)


def inactive(stopped: Workload) -> Workload:
    return msgspec.structs.replace(stopped, spec=msgspec.structs.replace(stopped.spec, active=False))


def admission_gated(gated: Workload) -> Workload:
    gated.metadata.annotations = {ADMISSION_GATED_BY: "example.com/gate"}
    return gated


def held_back(waiting: Workload) -> Workload:
    return set_condition(waiting, "Requeued", "False", "PodsReadyTimeout", 0)


def later(waiting: Workload) -> Workload:
    status = msgspec.structs.replace(waiting.status, requeue_state=RequeueState(1, at(1001)))
    return msgspec.structs.replace(waiting, status=status)


def lost(waiting: Workload) -> Workload:
    return msgspec.structs.replace(waiting, spec=msgspec.structs.replace(waiting.spec, queue_name="gone"))


def running(admitted: Workload) -> Workload:
    return held(admitted, 0)


@pytest.mark.parametrize("how", [finished, inactive, admission_gated, held_back, later, lost, running])
def test_who_is_not_queued(how: object) -> None:
    assert callable(how)
    other = workload("other", "queue", 1)
    assert first(other, how(workload("urgent", "queue", 1, priority=5))) == ["other"]


def test_backing_off_ends_at_the_time_that_was_set() -> None:
    pending = later(workload("waiting", "queue", 1))
    world = snapshot(queue(), pending)
    assert heads(world, [pending], us(1001) - 1) == []
    assert names(heads(world, [pending], us(1001))) == ["waiting"]


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
@pytest.mark.parametrize("which", ["ClusterQueue", "LocalQueue"])
def test_a_stopped_queue_has_no_head(policy: str, which: str) -> None:
    whole, local, pending = queue(), local_queue("queue", "queue"), workload("waiting", "queue", 1)
    stopped = whole if which == "ClusterQueue" else local
    stopped.spec.stop_policy = policy  # type: ignore[assignment]  # one of the policies
    assert heads(snapshot(whole, local, pending), [pending], NOW) == []


RETRIED: set[RequeueReason] = {"FailedAfterNomination", "PendingPreemption"}
PARKED: set[RequeueReason] = {
    "Generic",
    "NamespaceMismatch",
    "NoFit",
    "PreemptionNoCandidates",
    "PreemptionGated",
}


@pytest.mark.parametrize("reason", sorted(RETRIED | PARKED))
def test_requeue(reason: RequeueReason) -> None:
    """Kueue's table (RequeueIfNotPresent)."""

    def when(strategy: str, *, pending_flavors: bool = False, backing_off: bool = False) -> str:
        return requeue(strategy, reason, pending_flavors=pending_flavors, backing_off=backing_off)

    assert when("BestEffortFIFO") == ("immediate" if reason in RETRIED else "parked")
    assert when("StrictFIFO") == ("parked" if reason == "NamespaceMismatch" else "immediate")
    for strategy in ("BestEffortFIFO", "StrictFIFO"):
        assert when(strategy, pending_flavors=True) == "immediate"
        assert when(strategy, pending_flavors=True, backing_off=True) == "parked"
