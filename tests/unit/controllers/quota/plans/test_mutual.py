"""Two Workloads that may each evict the other one do not take turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from api.workloads import Workload
from controllers.quota.plans.mutual import PAUSE_US, Mutual, paused
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.search.decision import Options
from tests.kit.quota.objects import Object, cluster_queue, cohort, cpu, held, snapshot, us, workload

NOW: Final = us(1000)
OWNER: Final = cluster_queue("owner", cpu(2), "team", reclaim="Any")
GUEST: Final = cluster_queue("guest", cpu(0), "team", reclaim="LowerPriority", borrow=True, threshold=20)
LOW: Final = [workload(f"low-{each}", "owner", 1) for each in range(3)]
HIGH: Final = workload("high", "guest", 1, priority=20)


def entry(*holders: Workload, head: Workload) -> Entry:
    queues: list[Object] = [OWNER, GUEST, cohort("team", quotas=cpu(1))]
    (found,) = cycle(snapshot(*queues, *holders, head), [head], NOW, Options())
    assert found.outcome == "Preempt", found
    return found


def owner_takes_back() -> Entry:
    """The borrower is preempted for the owner of the quota."""
    rest = workload("rest", "guest", 2, priority=20)
    return entry(held(HIGH, 1), held(rest, 0), head=LOW[0])


def borrower_takes() -> Entry:
    """The owner borrows, and the borrower evicts it while it borrows itself (KEP-1337)."""
    return entry(*(held(each, at) for at, each in enumerate(LOW[::-1])), head=HIGH)


def test_the_policies_let_both_evict_the_other_one() -> None:
    for found, reason, victim in (
        (owner_takes_back(), "InCohortReclamation", "ns/high"),
        (borrower_takes(), "InCohortReclaimWhileBorrowing", "ns/low-0"),
    ):
        assert found.decision is not None
        assert [(each.holder.key, each.reason) for each in found.decision.targets] == [(victim, reason)]


def test_a_borrower_does_not_evict_whom_it_went_for() -> None:
    mutual = Mutual()
    assert mutual.paused(borrower_takes(), NOW) is None
    mutual.begins(owner_takes_back(), NOW)
    by = mutual.paused(borrower_takes(), NOW + 1)
    assert by == ("ns/low-0", NOW + PAUSE_US)
    waits = paused(borrower_takes(), by, "BestEffortFIFO")
    assert (waits.outcome, waits.requeue, waits.retry_at) == ("NoCandidates", "parked", NOW + PAUSE_US)
    assert waits.message.endswith(
        "it does not preempt Workload ns/low-0 yet, because that Workload preempted it a short time ago"
    )
    assert mutual.paused(borrower_takes(), NOW + PAUSE_US) is None


def test_quota_is_taken_back_at_once() -> None:
    mutual = Mutual()
    mutual.begins(borrower_takes(), NOW)
    assert mutual.paused(owner_takes_back(), NOW + 1) is None


def test_another_workload_may_be_evicted() -> None:
    mutual = Mutual()
    mutual.begins(owner_takes_back(), NOW)
    other = entry(*(held(each, at) for at, each in enumerate([LOW[0], LOW[2], LOW[1]])), head=HIGH)
    assert other.decision is not None
    assert [each.holder.key for each in other.decision.targets] == ["ns/low-1"]
    assert mutual.paused(other, NOW + 1) is None


def test_what_was_long_ago_is_forgotten() -> None:
    mutual = Mutual()
    mutual.begins(owner_takes_back(), NOW)
    mutual.begins(replace(owner_takes_back(), decision=None), NOW + PAUSE_US)
    assert mutual.paused(borrower_takes(), NOW + 1) is None
