"""Who is parked comes back when a change may give it another answer."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from api.workloads import Workload
from controllers.quota.workloads.following import Following
from quota.cycle.cycle import cycle
from quota.state.state import QuotaState
from quota.state.workloads import key_of
from runtime.work.queue import KeyedQueue
from tests.kit.quota import cluster_queue, completed, cpu, held, us, workload

NOW: Final = us(1000)


class Stage:
    """One ClusterQueue with two CPUs, and Workloads of it."""

    def __init__(self, *workloads: Workload) -> None:
        self.state = QuotaState()
        for each in completed([cluster_queue("q", cpu(2), within="LowerPriority"), *workloads]):
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
