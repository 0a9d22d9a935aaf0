"""Partial admission: which numbers of pods are tried, and what is decided with fewer pods than were asked for."""

from __future__ import annotations

import msgspec
import pytest

from api.core import Container, PodSpec, ResourceRequirements
from api.podsets import PodSet, PodTemplate
from api.workloads import ReclaimablePod, Workload
from quota.search.decision import Decision, decide
from quota.search.reducer import can_shrink, counts_at, largest
from quota.state.amounts import QuotaError
from quota.state.workloads import PodSetRequest, scaled
from tests.kit.quota.objects import Object, cluster_queue, cohort, cpu, held, snapshot, us, workload

NOW = us(1000)


def pods(count: int, least: int | None = None, name: str = "main", cpus: int | str = 1) -> PodSet:
    spec = PodSpec(containers=[Container("main", ResourceRequirements(requests={"cpu": cpus}))])
    return PodSet(PodTemplate(spec=spec), name=name, count=count, min_count=least)


def of(*pod_sets: PodSet, priority: int = 0) -> Workload:
    made = workload("w", "q", 1, priority=priority)
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, pod_sets=list(pod_sets)))


def decided(incoming: Workload, *things: Object) -> Decision:
    return decide(snapshot(*things), incoming, NOW, explain=True)


def counts(decision: Decision) -> dict[str, tuple[int, int]]:
    """By pod set: the pods that get quota, and the pods that it asks for."""
    return {each.name: (each.count, each.asked) for each in decision.assignment.pod_sets}


# ---- the counts


def test_pod_sets_shrink_in_proportion() -> None:
    both = [pods(10, 2), pods(5), pods(4, 2)]  # they can give up 8, 0 and 2
    assert counts_at(both, 0) == (10, 5, 4)
    assert counts_at(both, 1) == (10, 5, 4)  # 8 * 1 // 10 is 0
    assert counts_at(both, 5) == (6, 5, 3)
    assert counts_at(both, 10) == (2, 5, 2)


def test_only_a_min_count_below_the_count_lets_it_shrink() -> None:
    assert not can_shrink([pods(4), pods(3, 3)])
    assert not can_shrink([pods(2, 3)])  # the API server refuses it
    assert can_shrink([pods(4), pods(3, 2)])


def test_the_largest_number_that_succeeds_wins() -> None:
    tried: list[int] = []

    def attempt(counts: tuple[int, ...]) -> int | None:
        tried.append(counts[0])
        return counts[0] if counts[0] <= 13 else None

    assert largest([pods(100, 1)], attempt) == 13
    assert len(tried) <= 7


def test_nothing_is_found_where_not_even_min_count_fits() -> None:
    assert largest([pods(10, 2)], lambda counts: None) is None


def test_requests_are_those_of_one_pod_times_the_pods() -> None:
    request = PodSetRequest("main", 3, {"cpu": 3000, "memory": 7})
    (fewer,) = scaled([request], [2], "Workload ns/w")
    assert (fewer.count, fewer.requests) == (2, {"cpu": 2000, "memory": 4})


def test_requests_for_no_pod_stay() -> None:
    none = PodSetRequest("main", 0, {"cpu": 0})
    assert scaled([none], [2], "Workload ns/w") == [none]


def test_too_much_is_an_error() -> None:
    with pytest.raises(QuotaError, match="too much"):
        scaled([PodSetRequest("main", 1, {"memory": 2**61})], [4], "Workload ns/w")


# ---- decisions


def test_all_pods_are_admitted_where_they_fit() -> None:
    decision = decided(of(pods(4, 2)), cluster_queue("q", cpu(5)))
    assert (decision.mode, counts(decision), decision.full) == ("Fit", {"main": (4, 4)}, None)


def test_as_many_as_fit_are_admitted() -> None:
    decision = decided(of(pods(10, 2)), cluster_queue("q", cpu(4)))
    assert (decision.mode, decision.message) == ("Fit", "")
    assert counts(decision) == {"main": (4, 10)}
    assert decision.assignment.usage == {("default", "cpu"): 4000}
    assert decision.full is not None
    assert (decision.full.mode, decision.full.no_fit_reason) == ("NoFit", "ExceedsMaxQuota")


def test_fewer_than_min_count_are_not_admitted() -> None:
    decision = decided(of(pods(10, 5)), cluster_queue("q", cpu(4)))
    assert (decision.mode, decision.full) == ("NoFit", None)
    assert counts(decision) == {"main": (10, 10)}


def test_all_pods_with_a_preemption_come_before_fewer_without() -> None:
    queue = cluster_queue("q", cpu(10), within="LowerPriority")
    decision = decided(of(pods(10, 2), priority=1), queue, held(workload("h", "q", 4), 2))
    assert counts(decision) == {"main": (10, 10)}
    assert [each.holder.key for each in decision.targets] == ["ns/h"]


def test_fewer_pods_preempt_too() -> None:
    """All 20 would not fit if everybody were gone. 10 fit once the holder of lower priority is gone."""
    queue = cluster_queue("q", cpu(12), within="LowerPriority")
    low, high = held(workload("low", "q", 4), 2), held(workload("high", "q", 2, priority=5), 2)
    decision = decided(of(pods(20, 2), priority=1), queue, low, high)
    assert (decision.mode, counts(decision)) == ("Preempt", {"main": (10, 20)})
    assert [each.holder.key for each in decision.targets] == ["ns/low"]
    assert decision.explanation is not None


def test_fewer_pods_borrow_what_there_is() -> None:
    queues = [cluster_queue("q", cpu(2), "all"), cluster_queue("r", cpu(4), "all")]
    decision = decided(of(pods(10, 2)), *queues, cohort("all"), held(workload("h", "r", 1), 2))
    assert (decision.mode, counts(decision), decision.borrowing) == ("Fit", {"main": (5, 10)}, 1)


def test_two_pod_sets_give_up_the_same_share() -> None:
    """The numbers are those of a test of Kueue's scheduler: 20 + 30 + 15 pods, and quota for 50."""
    wanted = of(pods(20, name="one"), pods(30, 10, name="two"), pods(15, 5, name="three"))
    decision = decided(wanted, cluster_queue("q", cpu(50)))
    assert counts(decision) == {"one": (20, 20), "two": (20, 30), "three": (10, 15)}


def test_a_pod_set_without_min_count_keeps_all_its_pods() -> None:
    decision = decided(of(pods(1, name="driver"), pods(8, 2)), cluster_queue("q", cpu(4)))
    assert counts(decision) == {"driver": (1, 1), "main": (3, 8)}


def test_the_number_of_pods_is_counted_with_the_fewer_pods() -> None:
    queue = cluster_queue("q", {"default": {"cpu": (100, None, None), "pods": (3, None, None)}})
    decision = decided(of(pods(8, 2)), queue)
    assert decision.assignment.usage == {("default", "cpu"): 3000, ("default", "pods"): 3}


def test_reclaimable_pods_are_not_asked_for() -> None:
    """6 of 10 pods are left. All 6 fit. With less quota, as many as fit."""
    left = of(pods(10, 2))
    left = msgspec.structs.replace(
        left, status=msgspec.structs.replace(left.status, reclaimable_pods=[ReclaimablePod("main", 4)])
    )
    assert counts(decided(left, cluster_queue("q", cpu(7)))) == {"main": (6, 6)}
    assert counts(decided(left, cluster_queue("q", cpu(5)))) == {"main": (5, 6)}
