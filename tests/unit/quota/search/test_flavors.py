"""Which flavor is taken, and why no other was: each rule on its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from api.kueue import ClusterQueue, FlavorFungibility, ResourceFlavor
from api.workloads import ReclaimablePod, Workload
from quota.search.asks import Options
from quota.search.assignment import Assignment, Attempt, Check, Tried
from quota.search.flavors import assign
from quota.state.snapshot import QuotaSnapshot
from tests.kit.quota.objects import (
    Amount,
    Object,
    cluster_queue,
    cohort,
    cpu,
    flavor,
    held,
    local_queue,
    snapshot,
    us,
    workload,
)

NOW = us(1000)


def flavors(**nominal: Amount) -> dict[str, dict[str, tuple[Amount, None, None]]]:
    """CPUs in several flavors."""
    return {name: {"cpu": (amount, None, None)} for name, amount in nominal.items()}


def with_fungibility(queue: ClusterQueue, **policies: Any) -> ClusterQueue:
    spec = msgspec.structs.replace(queue.spec, flavor_fungibility=FlavorFungibility(**policies))
    return msgspec.structs.replace(queue, spec=spec)


def assigned(
    world: QuotaSnapshot,
    incoming: Workload,
    *,
    options: Options | None = None,
    only: Mapping[str, Mapping[str, str]] | None = None,
    last_tried: Tried | None = None,
) -> Assignment:
    return assign(
        world,
        world.queue_of(incoming),
        incoming,
        options or Options(),
        NOW,
        only=only,
        last_tried=last_tried,
    )


def one(assignment: Assignment) -> tuple[str, str, int]:
    """Mode, flavor and borrowing of the only resource of the only pod set."""
    (pods,) = assignment.pod_sets
    (each,) = pods.flavors.values()
    assert assignment.mode == each.mode
    return each.mode, each.flavor, each.borrowing


def attempts(assignment: Assignment) -> list[Attempt]:
    (search,) = assignment.searches
    return list(search.attempts)


def check(assignment: Assignment) -> Check:
    ((only,),) = (attempt.checks for attempt in attempts(assignment))
    return only


def holder(name: str, queue: str, cpus: Amount, *, priority: int = 0, flavor: str = "default") -> Workload:
    return held(workload(name, queue, cpus, priority=priority, created=1), 2, flavors={"cpu": flavor})


# ---- one flavor


def test_what_is_free_fits() -> None:
    assignment = assigned(snapshot(cluster_queue("q", cpu(5)), holder("a", "q", 2)), workload("w", "q", 3))
    assert one(assignment) == ("Fit", "default", 0)
    assert assignment.message == ""
    assert assignment.usage == {("default", "cpu"): 3000}
    assert assignment.contested == frozenset()
    assert check(assignment) == Check("cpu", 3000, 0, 3000, 5000, 5000, 0, "Fit", "WithinAvailable", "")


def test_more_than_there_can_be_never_fits() -> None:
    assignment = assigned(snapshot(cluster_queue("q", cpu(5))), workload("w", "q", 6))
    assert (assignment.mode, assignment.no_fit_reason) == ("NoFit", "ExceedsMaxQuota")
    assert assignment.message == (
        "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously "
        "considered podsets requests (0) + current podset request (6) > maximum capacity (5)"
    )
    assert check(assignment).rule == "ExceedsMaxQuota"
    assert (assignment.usage, assignment.tried) == ({}, None)


def test_nothing_is_borrowed_of_what_is_not_there() -> None:
    """The cohort has ten. It is no matter of height that eleven are too many."""
    world = snapshot(cluster_queue("q", cpu(5), "all"), cluster_queue("r", cpu(5), "all"))
    found = check(assigned(world, workload("w", "q", 11)))
    assert (found.rule, found.potential, found.borrowing) == ("ExceedsMaxQuota", 10000, 0)


def test_what_a_cohort_has_left_is_borrowed() -> None:
    world = snapshot(
        cohort("top"),
        cohort("all", "top"),
        cluster_queue("q", cpu(5), "all"),
        cluster_queue("r", cpu(5), "all"),
    )
    assert one(assigned(world, workload("w", "q", 5))) == ("Fit", "default", 0)
    assert one(assigned(world, workload("w", "q", 6))) == ("Fit", "default", 1)


def test_the_height_is_of_the_smallest_subtree_with_enough() -> None:
    world = snapshot(
        cohort("top", quotas=cpu(5)),
        cohort("all", "top"),
        cluster_queue("q", cpu(5), "all"),
        cohort("x", "top"),
    )
    assert one(assigned(world, workload("w", "q", 6))) == ("Fit", "default", 2)


def test_nobody_goes_for_more_than_the_nominal_quota() -> None:
    world = snapshot(
        cluster_queue("q", cpu(5), "all", within="LowerPriority"),
        cluster_queue("r", cpu(5), "all"),
        holder("a", "q", 5),
    )
    assignment = assigned(world, workload("w", "q", 6, priority=9))
    assert (assignment.mode, assignment.no_fit_reason) == ("NoFit", "WaitingForQuota")
    assert check(assignment).rule == "ExceedsNominalQuota"
    assert assignment.message.endswith("insufficient unused quota for cpu in flavor default, 1 more needed")


@pytest.mark.parametrize(
    ("policies", "fair", "mode"),
    [
        ({"reclaim": "LowerPriority"}, False, "NoFit"),
        ({"reclaim": "LowerPriority", "borrow": True}, False, "Preempt"),
        ({"reclaim": "LowerPriority"}, True, "Preempt"),
        ({"within": "LowerPriority"}, True, "NoFit"),
    ],
)
def test_unless_it_may_preempt_while_borrowing(policies: dict[str, Any], fair: bool, mode: str) -> None:
    world = snapshot(
        cluster_queue("q", cpu(5), "all", **policies), cluster_queue("r", cpu(5), "all"), holder("a", "r", 6)
    )
    assignment = assigned(world, workload("w", "q", 6, priority=9), options=Options(fair))
    assert assignment.mode == mode


def test_or_a_cohort_below_the_root_has_the_quota_for_it() -> None:
    world = snapshot(
        cohort("top"),
        cohort("side", "top", cpu(10)),
        cluster_queue("q", cpu(5), "side", reclaim="LowerPriority"),
        cohort("other", "top"),
        cluster_queue("r", cpu(0), "other"),
        holder("a", "r", 12),
    )
    assignment = assigned(world, workload("w", "q", 6, priority=9))
    assert one(assignment) == ("Preempt", "default", 1)
    assert check(assignment).rule == "PreemptionReclaims"


@pytest.mark.parametrize(
    ("priority", "outcome", "rule"),
    [(0, "NoCandidates", "NoPreemptionCandidates"), (1, "Preempt", "PreemptionSuffices")],
)
def test_preemption_is_simulated(priority: int, outcome: str, rule: str) -> None:
    world = snapshot(cluster_queue("q", cpu(5), within="LowerPriority"), holder("a", "q", 5))
    assignment = assigned(world, workload("w", "q", 1, priority=priority))
    assert one(assignment) == ("Preempt", "default", 0)
    assert assignment.contested == {("default", "cpu")}
    assert (check(assignment).outcome, check(assignment).rule) == (outcome, rule)


def test_who_borrows_gives_back() -> None:
    world = snapshot(
        cluster_queue("q", cpu(5), "all", reclaim="Any"),
        cluster_queue("r", cpu(5), "all"),
        holder("a", "r", 8),
    )
    assert check(assigned(world, workload("w", "q", 5))).outcome == "Reclaim"


# ---- several flavors


def test_the_first_that_fits_is_taken() -> None:
    world = snapshot(cluster_queue("q", flavors(first=1, second=5, third=5)))
    assignment = assigned(world, workload("w", "q", 2))
    assert one(assignment) == ("Fit", "second", 0)
    assert [attempt.outcome for attempt in attempts(assignment)] == ["NoFit", "Fit"]
    assert assignment.searches[0].stop == "Fits"
    assert assignment.message == ""


@pytest.mark.parametrize(
    ("borrow", "flavor", "borrowing", "stop"),
    [("MayStopSearch", "first", 1, "WhenCanBorrow"), ("TryNextFlavor", "second", 0, "Fits")],
)
def test_when_can_borrow(borrow: str, flavor: str, borrowing: int, stop: str) -> None:
    queue = with_fungibility(cluster_queue("q", flavors(first=1, second=5), "all"), when_can_borrow=borrow)
    world = snapshot(queue, cluster_queue("r", flavors(first=5, second=5), "all"))
    assignment = assigned(world, workload("w", "q", 2))
    assert one(assignment) == ("Fit", flavor, borrowing)
    assert assignment.searches[0].stop == stop


@pytest.mark.parametrize(
    ("preempt", "expected", "stop"),
    [
        ("MayStopSearch", ("Preempt", "first", 0), "WhenCanPreempt"),
        ("TryNextFlavor", ("Fit", "second", 0), "Fits"),
    ],
)
def test_when_can_preempt(preempt: str, expected: tuple[str, str, int], stop: str) -> None:
    queue = with_fungibility(
        cluster_queue("q", flavors(first=5, second=5), within="LowerPriority"), when_can_preempt=preempt
    )
    assignment = assigned(
        snapshot(queue, holder("a", "q", 5, flavor="first")), workload("w", "q", 2, priority=1)
    )
    assert one(assignment) == expected
    assert assignment.searches[0].stop == stop


def test_a_flavor_without_candidates_is_never_the_last() -> None:
    queue = with_fungibility(
        cluster_queue("q", flavors(first=5, second=5), within="LowerPriority"),
        when_can_preempt="MayStopSearch",
    )
    world = snapshot(
        queue, holder("a", "q", 5, flavor="first", priority=5), holder("b", "q", 5, flavor="second")
    )
    assignment = assigned(world, workload("w", "q", 2, priority=1))
    assert one(assignment) == ("Preempt", "second", 0)
    assert [attempt.outcome for attempt in attempts(assignment)] == ["NoCandidates", "Preempt"]


def both(preference: str | None) -> QuotaSnapshot:
    """In the first flavor it must preempt, in the second it must borrow."""
    queue = with_fungibility(
        cluster_queue("q", flavors(first=5, second=1), "all", within="LowerPriority"),
        when_can_borrow="TryNextFlavor",
        when_can_preempt="TryNextFlavor",
        preference=preference,
    )
    lender = cluster_queue("r", flavors(first=0, second=5), "all")
    return snapshot(queue, lender, holder("a", "q", 5, flavor="first"))


@pytest.mark.parametrize(
    ("preference", "expected"),
    [
        (None, ("Fit", "second", 1)),
        ("BorrowingOverPreemption", ("Fit", "second", 1)),
        ("PreemptionOverBorrowing", ("Preempt", "first", 0)),
    ],
)
def test_preference(preference: str | None, expected: tuple[str, str, int]) -> None:
    assignment = assigned(both(preference), workload("w", "q", 2, priority=1))
    assert one(assignment) == expected
    assert assignment.searches[0].stop == "LastFlavor"


def test_preference_does_not_count_before_somebody_may_go() -> None:
    assignment = assigned(both("PreemptionOverBorrowing"), workload("w", "q", 2, priority=0))
    assert one(assignment) == ("Fit", "second", 1)


def test_the_first_of_equals_is_taken() -> None:
    world = snapshot(
        cluster_queue("q", flavors(first=5, second=5), within="LowerPriority"),
        holder("a", "q", 5, flavor="first"),
        holder("b", "q", 5, flavor="second"),
    )
    assert one(assigned(world, workload("w", "q", 2, priority=1))) == ("Preempt", "first", 0)


def test_all_problems_are_named_in_order() -> None:
    world = snapshot(
        cluster_queue("q", flavors(zeta=5, alpha=1), within="LowerPriority"),
        holder("a", "q", 5, flavor="zeta"),
    )
    assignment = assigned(world, workload("w", "q", 2, priority=1))
    assert assignment.message == (
        "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor alpha, previously considered "
        "podsets requests (0) + current podset request (2) > maximum capacity (1), "
        "insufficient unused quota for cpu in flavor zeta, 2 more needed"
    )


# ---- flavors that pods cannot have


def test_a_flavor_that_does_not_suit_the_pods_is_passed_over() -> None:
    tainted: ResourceFlavor = msgspec.convert(
        {
            "metadata": {"name": "first"},
            "spec": {"nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}]},
        },
        ResourceFlavor,
    )
    world = snapshot(cluster_queue("q", flavors(first=5, second=5)), tainted)
    assignment = assigned(world, workload("w", "q", 2))
    assert one(assignment) == ("Fit", "second", 0)
    assert (
        attempts(assignment)[0].mismatch == "untolerated taint {spot true NoSchedule <nil>} in flavor first"
    )


def test_no_flavor_at_all() -> None:
    tainted: ResourceFlavor = msgspec.convert(
        {"metadata": {"name": "default"}, "spec": {"nodeTaints": [{"key": "x", "effect": "NoExecute"}]}},
        ResourceFlavor,
    )
    assignment = assigned(snapshot(cluster_queue("q", cpu(5)), tainted), workload("w", "q", 2))
    assert (assignment.mode, assignment.no_fit_reason) == ("NoFit", "NoMatchingFlavor")


def test_the_reason_is_what_the_least_hopeless_flavor_lacks() -> None:
    """Of flavors that are alternatives: quota may come free, a taint does not go away."""
    tainted: ResourceFlavor = msgspec.convert(
        {"metadata": {"name": "tainted"}, "spec": {"nodeTaints": [{"key": "x", "effect": "NoExecute"}]}},
        ResourceFlavor,
    )
    lender = cluster_queue("r", flavors(tainted=0, small=1, full=5), "all")
    things: list[Object] = [tainted, lender, holder("a", "r", 6, flavor="full")]
    for names, expected in (
        (("tainted", "small", "full"), "WaitingForQuota"),
        (("small", "tainted"), "ExceedsMaxQuota"),
        (("tainted",), "NoMatchingFlavor"),
    ):
        queue = cluster_queue("q", flavors(**dict.fromkeys(names, 1)), "all")
        assignment = assigned(snapshot(queue, *things), workload("w", "q", 3))
        assert (assignment.mode, assignment.no_fit_reason) == ("NoFit", expected)


# ---- several resources


def two_groups() -> ClusterQueue:
    """CPUs and memory in `first` and `second`, GPUs in `gpu`."""
    groups = [
        {
            "coveredResources": ["cpu", "memory"],
            "flavors": [
                {
                    "name": name,
                    "resources": [
                        {"name": "cpu", "nominalQuota": cpus},
                        {"name": "memory", "nominalQuota": memory},
                    ],
                }
                for name, cpus, memory in (("first", 8, "1Gi"), ("second", 4, "8Gi"))
            ],
        },
        {
            "coveredResources": ["gpu", "pods"],
            "flavors": [
                {
                    "name": "gpu",
                    "resources": [
                        {"name": "gpu", "nominalQuota": 2},
                        {"name": "pods", "nominalQuota": 3},
                    ],
                }
            ],
        },
    ]
    spec = {"resourceGroups": groups, "namespaceSelector": {}}
    return msgspec.convert({"metadata": {"name": "q"}, "spec": spec}, ClusterQueue)


def of_pod_sets(*pod_sets: dict[str, Any]) -> Workload:
    document = {
        "metadata": {"namespace": "ns", "name": "w", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"queueName": "q", "podSets": list(pod_sets)},
    }
    return msgspec.convert(document, Workload)


def pods(name: str, count: int = 1, group: str | None = None, **requests: Amount) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": requests}}]
    topology = {} if group is None else {"topologyRequest": {"podSetGroupName": group}}
    return {"name": name, "count": count, "template": {"spec": {"containers": containers}}, **topology}


def chosen(assignment: Assignment) -> dict[str, dict[str, str]]:
    return {
        each.name: {resource: one.flavor for resource, one in each.flavors.items()}
        for each in assignment.pod_sets
    }


def test_the_resources_of_a_group_get_one_flavor() -> None:
    assignment = assigned(snapshot(two_groups()), of_pod_sets(pods("main", cpu=2, memory="2Gi", gpu=1)))
    assert assignment.mode == "Fit"
    assert chosen(assignment) == {"main": {"cpu": "second", "memory": "second", "gpu": "gpu", "pods": "gpu"}}
    first = assignment.searches[0].attempts[0]
    assert [(each.resource, each.rule) for each in first.checks] == [
        ("cpu", "WithinAvailable"),
        ("memory", "ExceedsMaxQuota"),
    ]


@pytest.mark.parametrize("written", [pods("main", cpu=99, gpu=99), pods("main", gpu=99, cpu=99)])
def test_resources_are_looked_at_by_name(written: dict[str, Any]) -> None:
    """Too much of both is asked for, and the first is said, however the pods were written."""
    assignment = assigned(snapshot(two_groups()), of_pod_sets(written))
    assert "insufficient quota for cpu" in assignment.message
    assert [search.resources for search in assignment.searches] == [("cpu",)]


def test_pods_are_counted_where_there_is_quota_for_them() -> None:
    world = snapshot(two_groups())
    assert assigned(world, of_pod_sets(pods("main", 3, cpu=1))).usage[("gpu", "pods")] == 3
    assert assigned(world, of_pod_sets(pods("main", 4, cpu=1))).mode == "NoFit"
    fewer = of_pod_sets(pods("main", 4, cpu=1))
    fewer.status.reclaimable_pods = [ReclaimablePod("main", 2)]
    assert assigned(world, fewer).usage == {("first", "cpu"): 2000, ("gpu", "pods"): 2}
    alone = assigned(snapshot(cluster_queue("q", cpu(5))), workload("w", "q", 1))
    assert chosen(alone) == {"main": {"cpu": "default"}}


def test_later_pod_sets_see_what_earlier_ones_take() -> None:
    world = snapshot(cluster_queue("q", flavors(first=4, second=9)))
    assignment = assigned(world, of_pod_sets(pods("a", cpu=3), pods("b", cpu=3)))
    assert chosen(assignment) == {"a": {"cpu": "first"}, "b": {"cpu": "second"}}
    assert assignment.searches[1].attempts[0].checks[0].earlier == 3000


def test_pod_sets_of_one_name_of_a_group_get_the_same_flavor() -> None:
    world = snapshot(cluster_queue("q", flavors(first=4, second=9)))
    assignment = assigned(world, of_pod_sets(pods("a", cpu=3, group="x"), pods("b", cpu=3, group="x")))
    assert chosen(assignment) == {"a": {"cpu": "second"}, "b": {"cpu": "second"}}
    assert assignment.searches[0].pod_sets == ("a", "b")
    assert assignment.usage == {("second", "cpu"): 6000}


def test_all_pod_sets_of_a_group_have_its_problem() -> None:
    world = snapshot(cluster_queue("q", flavors(first=4)))
    assignment = assigned(world, of_pod_sets(pods("a", cpu=3, group="x"), pods("b", cpu=3, group="x")))
    problem = (
        "insufficient quota for cpu in flavor first, previously considered podsets requests (0) + "
        "current podset request (6) > maximum capacity (4)"
    )
    assert assignment.message == "; ".join(
        f"couldn't assign flavors to pod set {name}: {problem}" for name in "ab"
    )


def test_a_resource_without_quota_is_not_to_be_had() -> None:
    world = snapshot(cluster_queue("q", cpu(5)))
    assignment = assigned(world, of_pod_sets(pods("a", cpu=1), pods("b", cpu=1, disk=1), pods("c", cpu=1)))
    assert (assignment.mode, assignment.no_fit_reason) == ("NoFit", "NoMatchingFlavor")
    assert assignment.message == (
        "couldn't assign flavors to pod set b: resource disk unavailable in ClusterQueue"
    )
    assert [each.name for each in assignment.pod_sets] == ["a", "b"]
    search = assignment.searches[-1]
    assert (search.pod_sets, search.resources) == (("b",), ("disk",))
    assert (search.attempts, search.chosen, search.stop) == ((), None, "NotCovered")


def test_unless_nothing_of_it_is_asked() -> None:
    world = snapshot(cluster_queue("q", {"default": {"cpu": (5, None, None), "memory": (0, None, None)}}))
    assignment = assigned(world, of_pod_sets(pods("a", cpu=1, memory=0, disk=0)))
    assert assignment.mode == "Fit"
    assert chosen(assignment) == {"a": {"cpu": "default", "memory": "default"}}
    assert assignment.usage == {("default", "cpu"): 1000}


def test_each_resource_keeps_its_own_mode() -> None:
    quotas = {"default": {"cpu": (5, None, None), "memory": (5, None, None)}}
    world = snapshot(cluster_queue("q", quotas, within="LowerPriority"), holder("a", "q", 5))
    assignment = assigned(world, workload("w", "q", 1, priority=1, memory=1))
    (pods,) = assignment.pod_sets
    assert {resource: each.mode for resource, each in pods.flavors.items()} == {
        "cpu": "Preempt",
        "memory": "Fit",
    }
    assert assignment.mode == "Preempt"
    assert assignment.contested == {("default", "cpu")}


def test_preemption_is_not_simulated_where_another_resource_rules_the_flavor_out() -> None:
    quotas = {"default": {"cpu": (5, None, None), "memory": (5, None, None)}}
    world = snapshot(cluster_queue("q", quotas, within="LowerPriority"), holder("a", "q", 5))
    assignment = assigned(world, workload("w", "q", 1, priority=1, memory=6))
    ((attempt,),) = (search.attempts for search in assignment.searches)
    assert [(each.rule, each.outcome) for each in attempt.checks] == [
        ("NotSimulated", None),
        ("ExceedsMaxQuota", "NoFit"),
    ]


# ---- where the last search ended


def test_the_next_search_goes_on_behind_the_last_flavor_tried() -> None:
    world = snapshot(
        cluster_queue("q", flavors(first=5, second=5, third=5), within="LowerPriority"),
        holder("a", "q", 5, flavor="first"),
    )
    incoming = workload("w", "q", 2, priority=1)
    before = assigned(world, incoming)
    assert before.tried == {"main": {"cpu": 1}}
    after = assigned(world, incoming, last_tried=before.tried)
    assert one(after) == ("Fit", "third", 0)
    assert after.tried is None
    # -1 is how a pod set says that it has seen them all while others have not.
    assert one(assigned(world, incoming, last_tried={"main": {"cpu": -1}})) == ("Fit", "second", 0)


def test_only_the_nominated_flavor_is_tried() -> None:
    world = snapshot(cluster_queue("q", flavors(first=5, second=1)))
    incoming = workload("w", "q", 2)
    assert one(assigned(world, incoming, only={"main": {"cpu": "first"}})) == ("Fit", "first", 0)
    assignment = assigned(world, incoming, only={"main": {"cpu": "second"}})
    assert assignment.mode == "NoFit"
    assert [attempt.flavor for attempt in attempts(assignment)] == ["second"]


def test_the_objects_of_a_scenario_may_come_in_any_order() -> None:
    objects: list[Object] = [
        flavor("default"),
        local_queue("q", "q"),
        cluster_queue("q", cpu(5), "all"),
        cluster_queue("r", cpu(5), "all"),
        holder("a", "r", 3),
    ]
    answers = {
        assigned(snapshot(*order), workload("w", "q", 6)).searches for order in (objects, objects[::-1])
    }
    assert len(answers) == 1
