"""Who is parked comes back when a change may give it another answer."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from api.checks import AdmissionCheck, AdmissionCheckSpec, AdmissionCheckStatus
from api.kueue import AdmissionChecksStrategy, AdmissionCheckStrategyRule
from api.meta import Condition, ObjectMeta
from api.multikueue import CONTROLLER_NAME
from api.podsets import PodSetTopologyRequest
from api.workloads import Workload
from controllers.quota.workloads.following import Following
from quota.cycle.cycle import cycle
from quota.state.state import QuotaState
from quota.state.workloads import key_of
from runtime.work.queue import KeyedQueue
from tests.kit.quota.objects import at, cluster_queue, completed, cpu, held, us, workload

NOW: Final = us(1000)


class Stage:
    """One ClusterQueue with two CPUs, and Workloads of it."""

    def __init__(self, *workloads: Workload, **preemption: Any) -> None:
        self.state = QuotaState()
        queue = cluster_queue("q", cpu(2), **{"within": "LowerPriority", **preemption})
        for each in completed([queue, *workloads]):
            self.state.apply(each)
        self.now = NOW
        self.following = Following(self.state, KeyedQueue[str](), lambda: self.now, lambda: None)
        self.pending = self.following.pending
        self.following.begin()

    def heads(self) -> list[str]:
        self.now += 1_000_000
        return [key_of(each) for each in self.pending.heads(self.now)]

    def park(self) -> None:
        """Decide about the head. It does not fit."""
        (head,) = self.pending.heads(self.now)
        (entry,) = cycle(self.state.snapshot(), [head], self.now)
        assert entry.requeue == "parked", entry
        self.pending.answered(entry, self.now)

    def put(self, item: Workload, **spec: Any) -> None:
        """It changes to this."""
        after = msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, **spec))
        before = self.state.workloads[key_of(item)]
        self.state.apply(after)
        self.following.workload_changed(key_of(item), before, after)


HOLDER: Final = held(workload("holder", "q", 2, priority=20), 1)
WAITING: Final = workload("waiting", "q", 2, priority=20)


def parked() -> Stage:
    stage = Stage(HOLDER, WAITING)
    stage.park()
    assert stage.heads() == []
    return stage


def test_a_holder_of_a_lower_priority_may_go_now() -> None:
    stage = parked()
    stage.put(HOLDER, priority=10)
    assert stage.heads() == ["ns/waiting"]


def test_a_holder_of_a_higher_priority_changes_nothing() -> None:
    stage = parked()
    stage.put(HOLDER, priority=30)
    assert stage.heads() == []


def test_who_has_a_lower_priority_and_no_quota_changes_nothing() -> None:
    other = workload("other", "q", 9, priority=20)
    stage = Stage(HOLDER, WAITING, other)
    stage.park()
    stage.park()
    stage.put(other, priority=10)
    assert stage.heads() == ["ns/other"]


# ---- a moment that is computed from an object's field


def since(item: Workload, seconds: int) -> Workload:
    """The same holder, which got its quota at that second: its condition was changed in place."""
    conditions = [
        msgspec.structs.replace(each, last_transition_time=at(seconds))
        if each.type == "QuotaReserved"
        else each
        for each in item.status.conditions or ()
    ]
    return msgspec.structs.replace(item, status=msgspec.structs.replace(item.status, conditions=conditions))


def sharing(reserved: int) -> Stage:
    """KEP-8522: the holder may be preempted an hour after `reserved`. A Workload of equal priority waits for that."""
    stage = Stage(
        since(HOLDER, reserved), WAITING, within="LowerOrNewerEqualPriority", min_admit="1h", reclaim="Never"
    )
    stage.park()
    assert stage.heads() == []
    assert stage.pending.next_due(stage.now) == us(reserved + 3600) + 1
    return stage


@pytest.mark.parametrize("earlier", [-9000, 500])
def test_a_moment_that_comes_earlier_counts(earlier: int) -> None:
    """The time of the holder was restored, or another controller wrote it."""
    stage = sharing(900)
    stage.put(since(HOLDER, earlier))
    assert stage.heads() == ["ns/waiting"]
    if earlier < 0:
        (head,) = stage.pending.heads(stage.now)
        (entry,) = cycle(stage.state.snapshot(), [head], stage.now)
        assert entry.outcome == "Preempt"
        return
    stage.park()
    assert stage.pending.next_due(stage.now) == us(earlier + 3600) + 1


def test_a_moment_that_comes_later_counts() -> None:
    stage = sharing(900)
    stage.put(since(HOLDER, 950))
    stage.now = us(900 + 3600)
    assert stage.heads() == ["ns/waiting"], "at the moment that was computed before"
    stage.park()
    assert stage.heads() == []
    assert stage.pending.next_due(stage.now) == us(950 + 3600) + 1


def test_another_change_of_a_holder_changes_nothing() -> None:
    stage = sharing(900)
    stage.put(since(HOLDER, 900), maximum_execution_time_seconds=60)
    assert stage.heads() == []


def test_one_that_asks_for_a_topology_waits_for_quota_only_where_a_manager_sends_it_elsewhere() -> None:
    """Also if the check comes to be that of a manager later."""
    placed = msgspec.structs.replace(
        WAITING.spec.pod_sets[0], topology_request=PodSetTopologyRequest(required="rack")
    )
    item = msgspec.structs.replace(WAITING, spec=msgspec.structs.replace(WAITING.spec, pod_sets=[placed]))
    stage = Stage(item)
    assert stage.heads() == []
    queue = stage.state.cluster_queues["q"]
    strategy = AdmissionChecksStrategy([AdmissionCheckStrategyRule("mk")])
    spec = msgspec.structs.replace(queue.spec, admission_checks_strategy=strategy)
    stage.state.apply(msgspec.structs.replace(queue, spec=spec))
    stage.state.apply(
        AdmissionCheck(
            metadata=ObjectMeta(name="mk"),
            spec=AdmissionCheckSpec(CONTROLLER_NAME),
            status=AdmissionCheckStatus([Condition("Active", "True")]),
        )
    )
    stage.following.follow()
    assert stage.heads() == ["ns/waiting"]
    stage.put(item, priority=7)
    assert stage.heads() == ["ns/waiting"]
    stage.state.delete("AdmissionCheck", "mk")
    stage.following.follow()
    assert stage.heads() == []
