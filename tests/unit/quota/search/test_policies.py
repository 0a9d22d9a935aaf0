"""Whether a rule still lets a victim go, after something has changed."""

from __future__ import annotations

from typing import Any

import pytest

from api.workloads import PreemptionReason, Workload
from quota.search.asks import Options
from quota.search.policies import may_still_preempt
from tests.kit.quota.objects import cluster_queue, cohort, cpu, held, snapshot, us, workload

NOW = 10_000
ASKER = workload("asker", "a", 1, priority=5, created=500)


def goes(victim: Workload, reason: PreemptionReason, *, time_based: bool = True, **queue: Any) -> bool:
    world = snapshot(
        cohort("all"), cluster_queue("a", cpu(1), "all", **queue), cluster_queue("b", cpu(1), "all")
    )
    return may_still_preempt(
        ASKER, world.queues["a"], victim, reason, us(NOW), Options(time_based=time_based)
    )


def own(priority: int, *, created: int = 0, since: int = 1000) -> Workload:
    return held(workload("own", "a", 1, priority=priority, created=created), since)


def other(priority: int) -> Workload:
    return held(workload("other", "b", 1, priority=priority), 1000)


@pytest.mark.parametrize(
    ("victim", "policy", "expected"),
    [
        (own(4), "LowerPriority", True),
        (own(5), "LowerPriority", False),
        (own(4), "Never", False),
        (own(5, created=501), "LowerOrNewerEqualPriority", True),
        (own(5, created=500), "LowerOrNewerEqualPriority", False),
        (own(6, created=501), "LowerOrNewerEqualPriority", False),
        (other(4), "LowerPriority", False),
    ],
)
def test_within_the_cluster_queue(victim: Workload, policy: str, expected: bool) -> None:
    assert goes(victim, "InClusterQueue", within=policy) is expected


@pytest.mark.parametrize(
    ("victim", "time_based", "min_admit", "expected"),
    [
        (own(5, since=NOW - 61), True, "1m", True),
        (own(5, since=NOW - 60), True, "1m", False),
        (own(4, since=0), True, "1m", False),
        (own(5, since=0), False, "1m", False),
        (own(5, since=0), True, None, False),
        (other(5), True, "1m", False),
    ],
)
def test_by_time(victim: Workload, time_based: bool, min_admit: str | None, expected: bool) -> None:
    within = "LowerOrNewerEqualPriority"
    found = goes(victim, "InClusterQueueTimeBased", time_based=time_based, within=within, min_admit=min_admit)
    assert found is expected


@pytest.mark.parametrize("reason", ["InCohortReclamation", "InCohortFairSharing"])
@pytest.mark.parametrize(
    ("victim", "policy", "expected"),
    [
        (other(4), "LowerPriority", True),
        (other(5), "LowerPriority", False),
        (other(9), "Any", True),
        (other(4), "Never", False),
        (own(4), "Any", False),
    ],
)
def test_in_the_cohort(victim: Workload, policy: str, expected: bool, reason: PreemptionReason) -> None:
    assert goes(victim, reason, reclaim=policy, within="LowerPriority") is expected


@pytest.mark.parametrize(
    ("victim", "borrow", "threshold", "expected"),
    [
        (other(4), True, None, True),
        (other(4), True, 4, True),
        (other(4), True, 3, False),
        (other(5), True, None, False),
        (other(4), False, None, False),
        (own(4), True, None, False),
    ],
)
def test_while_borrowing(victim: Workload, borrow: bool, threshold: int | None, expected: bool) -> None:
    found = goes(victim, "InCohortReclaimWhileBorrowing", reclaim="Any", borrow=borrow, threshold=threshold)
    assert found is expected
