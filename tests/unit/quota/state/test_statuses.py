"""What the status of queues says."""

from __future__ import annotations

import math

import msgspec
import pytest

from api.usage import (
    FairSharingStatus,
    FlavorUsage,
    LocalQueueFlavorUsage,
    LocalQueueResourceUsage,
    ResourceUsage,
)
from api.workloads import Workload
from quota.state.amounts import QuotaError, shown
from quota.state.state import QuotaState
from quota.state.statuses import (
    Counts,
    Tally,
    cluster_queue_status,
    fair_sharing_status,
    local_queue_status,
)
from tests.kit.quota.objects import (
    cluster_queue,
    cohort,
    cpu,
    evicted,
    flavor,
    held,
    preempted,
    set_condition,
    workload,
)

GPUS: dict[str, dict[str, tuple[int | str, int | None, int | None]]] = {
    "spot": {"memory": (0, None, None), "cpu": (1, None, None)},
    "default": {"memory": ("1Gi", None, None), "cpu": (2, None, None)},
}


def admitted(holder: Workload) -> Workload:
    return set_condition(holder, "Admitted", "True", "Admitted", 20)


def test_workloads_are_counted_as_long_as_they_hold_quota() -> None:
    told: list[tuple[str, str]] = []
    tally = Tally(lambda kind, key: told.append((kind, key)))
    waiting = workload("w", "l", 2)
    tally.put(waiting)
    assert tally.cluster_queue("q") == Counts()
    local = [("LocalQueue", "ns/l")]
    assert told == local
    assert tally.queue_of("ns/w") is None
    tally.put(waiting)
    assert told == local * 2
    told.clear()
    holder = held(waiting, 10, queue="q")
    tally.put(holder)
    both = [("ClusterQueue", "q"), ("LocalQueue", "ns/l")]
    assert told == both
    reserved = Counts(1, 0, {("default", "cpu"): 2000})
    assert tally.cluster_queue("q") == tally.local_queue("ns/l", "q") == reserved
    tally.put(holder)
    tally.put(evicted(holder, 30))
    assert told == both
    tally.put(admitted(holder))
    assert told == both * 2
    used = {("default", "cpu"): 2000}
    assert tally.cluster_queue("q") == Counts(1, 1, used, used)
    assert tally.queue_of("ns/w") == ("q", "ns/l")
    tally.put(preempted(admitted(holder), 40, "InClusterQueue"))
    assert tally.cluster_queue("q") == tally.local_queue("ns/l", "q") == Counts()
    assert tally.queue_of("ns/w") is None
    tally.put(holder)
    tally.remove("ns/w")
    tally.remove("ns/w")
    assert told == both * 5
    assert tally.cluster_queue("q") == Counts()


def test_finished_workloads_hold_nothing() -> None:
    tally = Tally()
    tally.put(set_condition(held(workload("w", "q", 1), 1), "Finished", "True", "Done", 2))
    assert tally.cluster_queue("q") == Counts()


def test_what_cannot_be_read_changes_nothing() -> None:
    tally = Tally()
    tally.put(held(workload("w", "q", 1), 1))
    broken = held(workload("w", "q", 3), 1)
    assert broken.status.admission is not None
    assert broken.status.admission.pod_set_assignments is not None
    broken.status.admission.pod_set_assignments[0].resource_usage = {"cpu": "much"}
    with pytest.raises(QuotaError):
        tally.put(broken)
    assert tally.cluster_queue("q").reservation == {("default", "cpu"): 1000}


def test_a_local_queue_counts_in_its_cluster_queue_alone() -> None:
    tally = Tally()
    tally.put(held(workload("w", "l", 1), 1, queue="old"))
    assert tally.local_queue("ns/l", "new") == Counts()
    assert tally.local_queue("ns/l", "old").reserving == 1


COUNTS = Counts(
    3,
    1,
    {("default", "cpu"): 2500, ("default", "memory"): 3 << 30, ("gone", "cpu"): 1000},
    {("default", "cpu"): 500},
)


def resources(cpu: tuple[str, str], memory: tuple[str, str]) -> list[ResourceUsage]:
    return [ResourceUsage("cpu", *cpu), ResourceUsage("memory", *memory)]


def test_a_cluster_queue_shows_every_flavor_that_it_names_and_what_is_borrowed() -> None:
    queue = cluster_queue("q", GPUS, "team")
    state = QuotaState()
    state.apply(queue)
    status = cluster_queue_status(queue.spec, state.quotas("q"), COUNTS, 7, None)
    assert status.flavors_reservation == [
        FlavorUsage("spot", resources(("0", "0"), ("0", "0"))),
        FlavorUsage("default", resources(("2500m", "500m"), ("3Gi", "2Gi"))),
    ]
    assert status.flavors_usage == [
        FlavorUsage("spot", resources(("0", "0"), ("0", "0"))),
        FlavorUsage("default", resources(("500m", "0"), ("0", "0"))),
    ]
    assert (status.pending_workloads, status.reserving_workloads, status.admitted_workloads) == (7, 3, 1)
    assert status.fair_sharing is None
    alone = msgspec.structs.replace(queue.spec, cohort_name="")
    status = cluster_queue_status(alone, state.quotas("q"), COUNTS, 0, 1.5)
    assert status.flavors_reservation is not None
    assert status.flavors_reservation[1].resources == resources(("2500m", "0"), ("3Gi", "0"))
    assert status.fair_sharing == FairSharingStatus(2)


def test_a_local_queue_shows_the_flavors_of_its_cluster_queue() -> None:
    status = local_queue_status(cluster_queue("q", {"default": GPUS["default"]}).spec, COUNTS, 2)
    assert status.flavors_reservation == [
        LocalQueueFlavorUsage(
            "default", [LocalQueueResourceUsage("cpu", "2500m"), LocalQueueResourceUsage("memory", "3Gi")]
        )
    ]
    assert status.flavors_usage == [
        LocalQueueFlavorUsage(
            "default", [LocalQueueResourceUsage("cpu", "500m"), LocalQueueResourceUsage("memory", "0")]
        )
    ]
    assert (status.pending_workloads, status.reserving_workloads, status.admitted_workloads) == (2, 3, 1)
    nothing = local_queue_status(None, Counts(), 2)
    assert nothing.flavors_reservation == nothing.flavors_usage == []


def test_no_more_flavors_than_the_schema_takes() -> None:
    many = {f"f{number:03}": cpu(1)["default"] for number in range(70)}
    queue = cluster_queue("q", many)
    assert len(cluster_queue_status(queue.spec, {}, Counts(), 0, None).flavors_usage or ()) == 64
    assert len(local_queue_status(queue.spec, Counts(), 0).flavors_usage or ()) == 16


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, 0), (0.2, 1), (300.0, 300), (1e30, 2**63 - 1), (math.inf, 2**63 - 1)]
)
def test_shares_are_rounded_up(share: float, shown: int) -> None:
    assert fair_sharing_status(share) == FairSharingStatus(shown)


def test_shares_of_queues_and_cohorts() -> None:
    """q uses 2 of the 8 CPUs of the cohort more than its own."""
    state = QuotaState()
    for thing in (
        cluster_queue("q", cpu(2), "team"),
        cluster_queue("lender", cpu(6), "team"),
        cohort("team", "all"),
        flavor("default"),
        held(workload("w", "q", 4), 10),
    ):
        state.apply(thing)
    assert state.weighted_share("q") == 250
    assert state.weighted_share("lender") == state.weighted_share("team", cohort=True) == 0
    assert state.above("q") == ["team", "all"]
    with pytest.raises(KeyError):
        state.weighted_share("team")


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 0, "0"),
        ("cpu", 1500, "1500m"),
        ("cpu", 2_000_000, "2k"),
        ("memory", 1000, "1k"),
        ("memory", 1024, "1Ki"),
        ("memory", 1500, "1500"),
        ("hugepages-2Mi", 2 << 20, "2Mi"),
        ("nvidia.com/gpu", 1000, "1k"),
        ("nvidia.com/gpu", 1024, "1024"),
    ],
)
def test_amounts_are_written_as_by_kubernetes(resource: str, amount: int, text: str) -> None:
    assert shown(resource, amount) == text
