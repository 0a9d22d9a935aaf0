"""Who gives to whom with fair sharing: each rule on its own.

Nobody here has quota but the Cohort `all`, so that a share is what is held, or asked for, of its quota.
"""

from __future__ import annotations

import pytest

from api.workloads import Workload
from native.codes import FINAL_SHARE, INITIAL_SHARE
from quota.search.decision import Options, decide
from tests.kit.quota.objects import Object, cluster_queue, cohort, cpu, held, snapshot, us, workload

BOTH = (FINAL_SHARE, INITIAL_SHARE)


def holder(name: str, queue: str, cpus: int, *, since: int = 0, priority: int = 0) -> Workload:
    return held(workload(name, queue, cpus, priority=priority), since)


def victims(wanted: int, *things: Object, strategies: tuple[int, ...] = BOTH) -> dict[str, str]:
    """The victims of a workload of `asks` that wants `wanted`."""
    waiting = workload("waiting", "asks", wanted, created=100)
    asks = cluster_queue("asks", cpu(0), "all", reclaim="Any")
    options = Options(fair_sharing=True, strategies=strategies)
    decision = decide(snapshot(asks, *things, waiting), waiting, us(1000), options)
    assert decision.mode == "Preempt"
    return {target.holder.workload.metadata.name: target.reason for target in decision.targets}


def beside(total: int) -> list[Object]:
    """The ClusterQueue `has` holds four, in two workloads."""
    return [
        cohort("all", quotas=cpu(total)),
        cluster_queue("has", cpu(0), "all"),
        holder("first", "has", 2, since=1),
        holder("second", "has", 2, since=2),
    ]


@pytest.mark.parametrize(
    ("total", "wanted", "goes"),
    [
        (4, 1, True),  # 1 is less than the 2 that are left to the other
        (4, 2, True),  # 2 is as much
        (5, 3, False),
    ],
)
def test_less_than_or_equal_to_final_share(total: int, wanted: int, goes: bool) -> None:
    """The request against what the other has once the victim is gone."""
    found = victims(wanted, *beside(total), strategies=(FINAL_SHARE,))
    assert found == ({"second": "InCohortFairSharing"} if goes else {})


@pytest.mark.parametrize(
    ("total", "wanted", "goes"),
    [
        (5, 3, True),  # 3 is less than the 4 that the other has
        (6, 4, False),  # 4 is not
    ],
)
@pytest.mark.parametrize("strategies", [BOTH, (INITIAL_SHARE,)])
def test_less_than_initial_share(total: int, wanted: int, goes: bool, strategies: tuple[int, ...]) -> None:
    """The request against what the other has with the victim; by default where the first strategy is not enough."""
    found = victims(wanted, *beside(total), strategies=strategies)
    assert found == ({"second": "InCohortFairSharing"} if goes else {})


def test_the_greater_share_gives_first_whatever_the_priority() -> None:
    found = victims(
        1,
        cohort("all", quotas=cpu(6)),
        cluster_queue("much", cpu(0), "all"),
        cluster_queue("little", cpu(0), "all"),
        *(holder(f"much-{number}", "much", 2, since=number, priority=9) for number in range(2)),
        holder("little", "little", 2, since=9),
    )
    assert found == {"much-1": "InCohortFairSharing"}


def test_a_share_is_divided_by_its_weight() -> None:
    found = victims(
        1,
        cohort("all", quotas=cpu(6)),
        cluster_queue("heavy", cpu(0), "all", weight=3),
        cluster_queue("light", cpu(0), "all"),
        *(holder(f"heavy-{number}", "heavy", 2, since=number) for number in range(2)),
        *(holder(f"light-{number}", "light", 1, since=number) for number in range(2)),
    )
    assert found == {"light-1": "InCohortFairSharing"}


def test_weight_zero_gives_before_anybody() -> None:
    found = victims(
        1,
        cohort("all", quotas=cpu(6)),
        cluster_queue("guest", cpu(0), "all", weight=0),
        cluster_queue("much", cpu(0), "all"),
        *(holder(f"guest-{number}", "guest", 1, since=number) for number in range(2)),
        *(holder(f"much-{number}", "much", 1, since=9) for number in range(4)),
    )
    assert found == {"guest-1": "InCohortFairSharing"}


def test_of_cohorts_of_equal_share_the_first_by_name_gives() -> None:
    """Ours; Kueue takes any. Neither the names of the ClusterQueues nor who came last decides."""
    found = victims(
        1,
        cohort("all", quotas=cpu(6)),
        cohort("east", "all"),
        cohort("west", "all"),
        cluster_queue("z", cpu(0), "east"),
        cluster_queue("a", cpu(0), "west"),
        *(holder(f"east-{number}", "z", 1, since=number) for number in range(3)),
        *(holder(f"west-{number}", "a", 1, since=10 + number) for number in range(3)),
    )
    assert found == {"east-2": "InCohortFairSharing"}


def test_of_cluster_queues_of_equal_share_who_came_last_goes() -> None:
    found = victims(
        1,
        cohort("all", quotas=cpu(6)),
        cluster_queue("a", cpu(0), "all"),
        cluster_queue("z", cpu(0), "all"),
        *(holder(f"a-{number}", "a", 1, since=number) for number in range(3)),
        *(holder(f"z-{number}", "z", 1, since=10 + number) for number in range(3)),
    )
    assert found == {"z-2": "InCohortFairSharing"}


def test_a_cohort_gives_before_a_cluster_queue_of_equal_share() -> None:
    found = victims(
        1,
        cohort("all", quotas=cpu(6)),
        cohort("team", "all"),
        cluster_queue("a", cpu(0), "all"),
        cluster_queue("z", cpu(0), "team"),
        *(holder(f"a-{number}", "a", 1, since=10 + number) for number in range(3)),
        *(holder(f"z-{number}", "z", 1, since=number) for number in range(3)),
    )
    assert found == {"z-2": "InCohortFairSharing"}
