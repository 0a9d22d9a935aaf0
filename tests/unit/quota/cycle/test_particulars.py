"""What a plan tells about an entry."""

from __future__ import annotations

import pytest

from quota.cycle.cycle import cycle
from quota.cycle.particulars import AmountParticulars, Particulars, VictimParticulars, particulars
from tests.kit.quota.objects import cluster_queue, cohort, cpu, evicted, held, snapshot, us, workload


def test_each_victim_and_each_amount() -> None:
    """Of the nominal quota of three, one CPU stays in use once `own` is gone: two of the four are borrowed."""
    quotas = {"default": {"cpu": (3, None, None), "memory": (8, None, None)}}
    world = snapshot(
        cohort("all"),
        cohort("team", "all"),
        cluster_queue("a", quotas, "team", within="LowerPriority", reclaim="LowerPriority", borrow=True),
        cluster_queue("b", {"default": {"cpu": (5, None, None), "memory": (8, None, None)}}, "all"),
        cluster_queue("c", {"default": {"cpu": (0, None, None), "memory": (0, None, None)}}, "all"),
        held(workload("own", "a", 2, memory=0), 100),
        held(workload("stays", "a", 1, priority=9, memory=0), 100),
        evicted(held(workload("other", "c", 4, priority=1, memory=0, uid="u"), 400), 900),
    )
    asker = workload("asker", "a", 4, priority=5, memory=2)
    (entry,) = cycle(world, [asker], us(1000))
    assert entry.outcome == "Preempt"
    found = particulars(world, entry, us(1000))
    assert found == Particulars(
        "a",
        "/all/team/a",
        entry.decision.borrowing if entry.decision else -1,
        (
            VictimParticulars(
                "ns/other",
                "u",
                "InCohortReclaimWhileBorrowing",
                "c",
                "/all/c",
                us(1000) - us(400),
                1,
                True,
            ),
        ),
        (
            AmountParticulars("default", "cpu", 4000, 1000, 4000),
            AmountParticulars("default", "memory", 2, 16, 0),
        ),
    )


def test_an_own_victim_gives_nominal_quota_back() -> None:
    world = snapshot(
        cluster_queue("a", cpu(3), "all", within="LowerPriority"),
        cluster_queue("b", cpu(1), "all"),
        held(workload("own", "a", 2), 100),
        held(workload("stays", "a", 1, priority=9), 100),
    )
    (entry,) = cycle(world, [workload("asker", "a", 3, priority=5)], us(50))
    found = particulars(world, entry, us(50))
    assert [(victim.key, victim.reason, victim.held) for victim in found.victims] == [
        ("ns/own", "InClusterQueue", 0)
    ]
    assert found.amounts == (AmountParticulars("default", "cpu", 3000, 1000, 1000),)


def test_without_a_decision_there_is_nothing_to_tell() -> None:
    world = snapshot(cluster_queue("a", cpu(1), stop="Hold"))
    (entry,) = cycle(world, [workload("asker", "a", 1)], us(50))
    with pytest.raises(ValueError, match="no decision"):
        particulars(world, entry, us(50))
