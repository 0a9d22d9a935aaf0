"""What is read of a Workload: what it holds, what it asks for, since when, and its errors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.workloads import Workload
from quota.state.amounts import QuotaError
from quota.state.workloads import (
    effective_priority,
    has_closed_preemption_gate,
    holds_quota,
    is_evicting,
    pod_set_requests,
    queue_timestamp,
    reserved_at,
    time_us,
    usage,
)
from tests.kit.quota.objects import evicted, held, preempted, set_condition, us, workload

HELD = held(workload("a", "q", 2, created=5), 10)


def of(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Workload:
    """As it is read from a manifest."""
    document = {"metadata": {"namespace": "ns", "name": "a"}, "spec": spec, "status": status or {}}
    return msgspec.convert(document, Workload)


def pods(count: int = 1, name: str = "main", **spec: Any) -> dict[str, Any]:
    return {"name": name, "count": count, "template": {"spec": spec}}


def container(requests: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests or {}, **more}}


# ---- who holds quota, and since when


def test_it_holds_quota_until_the_reservation_is_gone() -> None:
    assert holds_quota(HELD)
    assert holds_quota(evicted(HELD, 20))
    assert not holds_quota(workload("a", "q", 2))
    assert not holds_quota(preempted(HELD, 20, "InClusterQueue"))
    assert not holds_quota(set_condition(HELD, "Finished", "True", "Succeeded", 20))
    assert holds_quota(set_condition(HELD, "Finished", "False", "Running", 20))


def test_one_that_is_deactivated_holds_its_quota_until_the_reservation_is_gone() -> None:
    """Something of it may still run. If it is activated again meanwhile, nobody else has got its quota."""
    inactive = msgspec.structs.replace(HELD, spec=msgspec.structs.replace(HELD.spec, active=False))
    assert holds_quota(inactive)
    assert not holds_quota(preempted(inactive, 20, "InClusterQueue"))


def test_since_when() -> None:
    assert reserved_at(HELD) == us(10)
    with pytest.raises(QuotaError, match=r"Workload ns/a: status.conditions: QuotaReserved is not True"):
        reserved_at(workload("a", "q", 2))


def test_a_condition_without_a_time_is_an_error() -> None:
    status = {"conditions": [{"type": "QuotaReserved", "status": "True"}]}
    with pytest.raises(
        QuotaError, match=r"status.conditions\[QuotaReserved\].lastTransitionTime: is missing"
    ):
        reserved_at(of({}, status))


def test_who_is_on_the_way_out() -> None:
    assert is_evicting(evicted(HELD, 20))
    assert not is_evicting(HELD)
    assert not is_evicting(set_condition(evicted(HELD, 20), "Evicted", "False", "QuotaReserved", 30))


def test_the_priority_is_zero_unless_it_is_set() -> None:
    assert effective_priority(of({})) == 0
    assert effective_priority(workload("a", "q", 1, priority=-7)) == -7


# ---- the place in the queue


def test_it_queues_since_its_creation() -> None:
    assert queue_timestamp(workload("a", "q", 1, created=5)) == us(5)
    assert queue_timestamp(preempted(HELD, 20, "InClusterQueue")) == us(5)
    assert queue_timestamp(preempted(HELD, 20, "InCohortReclaimWhileBorrowing")) == us(5)


@pytest.mark.parametrize("reason", ["PodsReadyTimeout", "AdmissionCheck"])
def test_it_queues_again_since_an_eviction_of_its_own_making(reason: str) -> None:
    gone = evicted(HELD, 20, reason)
    assert queue_timestamp(gone) == us(20)
    assert queue_timestamp(set_condition(gone, "Evicted", "False", "QuotaReserved", 30)) == us(5)


def test_it_queues_again_since_its_time_was_up() -> None:
    gone = preempted(HELD, 20, "InClusterQueueTimeBased")
    assert queue_timestamp(gone) == us(20)


def test_its_turn_counts_before_an_eviction_of_its_own_making() -> None:
    had_its_turn = set_condition(HELD, "Preempted", "True", "InClusterQueueTimeBased", 20)
    assert queue_timestamp(evicted(had_its_turn, 30, "AdmissionCheck")) == us(20)


def test_one_that_was_never_created_is_the_oldest() -> None:
    assert queue_timestamp(of({})) < us(-(10**9))


# ---- gates


@pytest.mark.parametrize(
    ("gates", "states", "closed"),
    [
        ([], {}, False),
        (["a"], {}, True),
        (["a"], {"a": "Closed"}, True),
        (["a"], {"a": "Open"}, False),
        (["a", "b"], {"a": "Open"}, True),
        (["a"], {"a": "Open", "b": "Closed"}, False),
        ([], {"a": "Closed"}, False),
    ],
)
def test_all_gates_of_the_spec_must_be_open(gates: list[str], states: dict[str, str], closed: bool) -> None:
    reported = [
        {"name": name, "position": position, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for name, position in states.items()
    ]
    gated = of({"preemptionGates": [{"name": name} for name in gates]}, {"preemptionGates": reported})
    assert has_closed_preemption_gate(gated) is closed


# ---- what it uses


def admission(*assignments: dict[str, Any], reclaimable: dict[str, int] | None = None) -> dict[str, Any]:
    return {
        "admission": {"clusterQueue": "q", "podSetAssignments": list(assignments)},
        "reclaimablePods": [{"name": name, "count": count} for name, count in (reclaimable or {}).items()],
    }


def assignment(name: str, amounts: dict[str, str], count: int | None = None) -> dict[str, Any]:
    flavors = dict.fromkeys(amounts, "spot")
    counted = {} if count is None else {"count": count}
    return {"name": name, "flavors": flavors, "resourceUsage": amounts, **counted}


def test_it_uses_what_it_was_assigned_and_not_what_it_asks_for() -> None:
    status = admission(assignment("main", {"cpu": "3", "memory": "1Gi"}, 1))
    assert usage(of({"podSets": [pods(containers=[container({"cpu": "9"})])]}, status)) == {
        ("spot", "cpu"): 3000,
        ("spot", "memory"): 2**30,
    }


def test_pod_sets_add_up_and_nothing_of_a_flavor_is_still_of_that_flavor() -> None:
    first, second = assignment("a", {"cpu": "3", "memory": "0"}), assignment("b", {"cpu": "1"})
    first["flavors"]["example.com/disk"] = "spot"
    spec = {"podSets": [pods(name="a"), pods(name="b")]}
    assert usage(of(spec, admission(first, second))) == {
        ("spot", "cpu"): 4000,
        ("spot", "memory"): 0,
        ("spot", "example.com/disk"): 0,
    }


@pytest.mark.parametrize(
    ("count", "assigned", "gone", "used"),
    [
        (4, 4, 0, 4000),
        (4, 4, 1, 3000),
        (4, None, 1, 3000),
        (4, 4, 4, 0),
        (4, 4, 9, 0),
        # Admitted for fewer than it has: those that are gone are not among them until few are left.
        (4, 2, 1, 4000),
        (4, 2, 3, 2000),
    ],
)
def test_reclaimable_pods_use_nothing(count: int, assigned: int | None, gone: int, used: int) -> None:
    status = admission(assignment("main", {"cpu": "4"}, assigned), reclaimable={"main": gone})
    assert usage(of({"podSets": [pods(count)]}, status)) == {("spot", "cpu"): used}


def test_what_one_pod_uses_is_rounded_down_before_it_is_multiplied() -> None:
    status = admission(assignment("main", {"memory": "11"}, 3), reclaimable={"main": 1})
    assert usage(of({"podSets": [pods(3)]}, status)) == {("spot", "memory"): 6}


def test_usage_that_cannot_be_read_is_an_error_with_the_field() -> None:
    with pytest.raises(QuotaError, match=r"status.admission: must be set while QuotaReserved is True"):
        usage(workload("a", "q", 1))
    with pytest.raises(QuotaError, match=r"podSetAssignments\[0\].name: the Workload has no pod set 'b'"):
        usage(of({"podSets": [pods()]}, admission(assignment("b", {"cpu": "1"}))))
    with pytest.raises(QuotaError, match=r"podSetAssignments\[0\].resourceUsage\[cpu\]: must be greater"):
        usage(of({"podSets": [pods()]}, admission(assignment("main", {"cpu": "-1"}))))


# ---- what it asks for


def requests(*pod_sets: dict[str, Any], reclaimable: dict[str, int] | None = None) -> list[dict[str, int]]:
    status = admission(reclaimable=reclaimable)
    return [dict(each.requests) for each in pod_set_requests(of({"podSets": list(pod_sets)}, status))]


def test_it_asks_for_all_pods_that_are_still_needed() -> None:
    spec = pods(3, containers=[container({"cpu": "1500m", "foo": "2"})])
    assert requests(spec) == [{"cpu": 4500, "foo": 6}]
    assert requests(spec, reclaimable={"main": 1}) == [{"cpu": 3000, "foo": 4}]
    (request,) = pod_set_requests(of({"podSets": [spec]}))
    assert (request.name, request.count) == ("main", 3)


def test_zeros_are_asked_for_too() -> None:
    assert requests(pods(2, containers=[container({"cpu": "0"})])) == [{"cpu": 0}]


def test_one_pod_is_rounded_up_before_it_is_multiplied() -> None:
    two = [container({"memory": "0.5"}), container({"memory": "0.2"})]
    assert requests(pods(10, containers=two)) == [{"memory": 10}]


def test_init_containers_overhead_and_pod_level_requests_count() -> None:
    init = [container({"cpu": "4"})]
    assert requests(pods(containers=[container({"cpu": "1"})], initContainers=init)) == [{"cpu": 4000}]
    assert requests(pods(containers=[container({"cpu": "1"})], overhead={"cpu": "1"})) == [{"cpu": 2000}]
    level = {"requests": {"cpu": "3"}}
    assert requests(pods(containers=[container({"cpu": "1"})], resources=level)) == [{"cpu": 3000}]


def test_a_limit_is_a_request_where_there_is_no_other() -> None:
    limited = [container({"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi"})]
    assert requests(pods(containers=limited)) == [{"cpu": 1000, "memory": 2**30}]


def test_a_limit_of_the_pod_is_a_request_where_no_container_has_one() -> None:
    level = {"limits": {"cpu": "8", "memory": "1Gi", "hugepages-2Mi": "4Mi"}}
    containers = [container({"cpu": "1", "hugepages-2Mi": "2Mi"})]
    assert requests(pods(containers=containers, resources=level)) == [
        {"cpu": 1000, "memory": 2**30, "hugepages-2Mi": 4 * 2**20}
    ]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": [container({"cpu": "x"})]}, "containers[0].resources.requests[cpu]"),
        ({"containers": [container({"cpu": "-1"})]}, "containers[0].resources.requests[cpu]"),
        ({"containers": [container({}, limits={"cpu": "-1"})]}, "containers[0].resources.limits[cpu]"),
        ({"initContainers": [container({"cpu": "1E"})]}, "initContainers[0].resources.requests[cpu]"),
        ({"resources": {"requests": {"memory": "-1"}}}, "resources.requests[memory]"),
        ({"overhead": {"memory": "1Z"}}, "overhead[memory]"),
    ],
)
def test_a_quantity_that_cannot_be_counted_is_an_error_with_its_field(
    spec: dict[str, Any], field: str
) -> None:
    with pytest.raises(QuotaError) as caught:
        requests(pods(name="first"), pods(**spec))
    assert caught.value.subject == "Workload ns/a"
    assert caught.value.field == f"spec.podSets[1].template.spec.{field}"


def test_more_than_can_be_counted_together_is_an_error() -> None:
    most = [container({"memory": "2Ei"})]
    with pytest.raises(QuotaError, match=r"Workload ns/a: spec.podSets: memory is too much"):
        requests(pods(name="a", containers=most), pods(name="b", containers=most))
    with pytest.raises(QuotaError, match=r"Workload ns/a: spec.podSets: memory is too much"):
        requests(pods(2**31 - 1, containers=most))


def test_two_pod_sets_of_one_name_are_an_error() -> None:
    with pytest.raises(QuotaError, match=r"spec.podSets\[1\].name: 'main' occurs twice"):
        requests(pods(), pods())


# ---- times


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-01T00:00:10Z", us(10)),
        ("2026-01-01T00:00:10.25Z", us(10) + 250_000),
        ("2026-01-01T00:00:10.123456789Z", us(10) + 123_456),
        ("2026-01-01T01:30:10+01:30", us(10)),
        ("2025-12-31T22:00:10-02:00", us(10)),
        ("1969-12-31T23:59:59.5Z", -500_000),
    ],
)
def test_times(text: str, microseconds: int) -> None:
    assert time_us(text, "now") == microseconds


@pytest.mark.parametrize(
    "text", ["", "now", "2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T24:00:00Z"]
)
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(QuotaError, match=r"^now: '.*' is not a time such as 2026-01-31T12:00:00Z$"):
        time_us(text, "now")
