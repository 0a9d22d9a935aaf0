"""What a preemption would cost."""

from __future__ import annotations

from typing import Final

import msgspec

from api.plan_results import PlanCost
from api.workloads import ReclaimablePod, Workload
from quota.cycle.costs import cost_of, pods_held
from quota.search.decision import decide
from tests.kit.quota.objects import cluster_queue, cpu, held, set_condition, snapshot, us, workload

NOW: Final = us(1000)
QUEUE: Final = cluster_queue("q", cpu(8), within="LowerPriority")
HERO: Final = workload("hero", "q", 8, priority=50)


def admitted(name: str, reserved: int, since: int | None, *, count: int, priority: int) -> Workload:
    item = held(workload(name, "q", 1, count=count, priority=priority), reserved)
    return item if since is None else set_condition(item, "Admitted", "True", "Admitted", since)


def cost(*victims: Workload, others: int = 0) -> PlanCost:
    targets = decide(snapshot(QUEUE, *victims, HERO), HERO, NOW).targets
    assert len(targets) == len(victims)
    return cost_of(targets, NOW, others)


def test_work_counts_from_the_admission_by_pods() -> None:
    one = admitted("one", 100, 400, count=3, priority=7)
    other = admitted("other", 300, None, count=2, priority=-9)
    assert cost(one, other, others=4) == PlanCost(7, -2, 2, 9, 3 * 600 + 2 * 700)


def test_a_time_that_is_still_to_come_or_cannot_be_read_costs_nothing_wrong() -> None:
    ahead = admitted("ahead", 100, 2000, count=3, priority=0)
    assert cost(ahead).pod_seconds == 0
    odd = admitted("odd", 100, 400, count=3, priority=0)
    for each in odd.status.conditions or ():
        each.last_transition_time = "soon" if each.type == "Admitted" else each.last_transition_time
    assert cost(odd).pod_seconds == 3 * 900


def test_pods_that_have_ended_do_not_count() -> None:
    item = admitted("one", 100, 400, count=3, priority=0)
    status = msgspec.structs.replace(item.status, reclaimable_pods=[ReclaimablePod("main", 2)])
    assert pods_held(msgspec.structs.replace(item, status=status)) == 1


def test_fewer_pods_than_asked_for_count_as_admitted() -> None:
    part = held(workload("part", "q", 1, count=2), 100)
    asked = msgspec.structs.replace(part.spec.pod_sets[0], count=5)
    spec = msgspec.structs.replace(part.spec, pod_sets=[asked])
    assert pods_held(msgspec.structs.replace(part, spec=spec)) == 2
