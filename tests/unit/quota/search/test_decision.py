"""The whole decision: flavors and victims in one, gates, and what cannot be decided."""

from __future__ import annotations

import msgspec
import pytest

from api.workloads import Workload
from quota.search.decision import Decision, Options, decide
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState
from tests.kit.quota.objects import (
    Amount,
    Object,
    cluster_queue,
    cohort,
    cpu,
    evicted,
    flavor,
    held,
    local_queue,
    snapshot,
    us,
    workload,
)

NOW = us(1000)


def holder(name: str, queue: str, cpus: Amount, *, priority: int = 0, since: int = 2) -> Workload:
    return held(workload(name, queue, cpus, priority=priority, created=1), since)


def decided(incoming: Workload, *things: Object, options: Options | None = None) -> Decision:
    return decide(snapshot(*things), incoming, NOW, options)


def targets(decision: Decision) -> dict[str, str]:
    return {target.holder.key: target.reason for target in decision.targets}


def test_fit() -> None:
    decision = decided(workload("w", "q", 3), cluster_queue("q", cpu(5)))
    assert (decision.workload, decision.queue) == ("ns/w", "q")
    assert (decision.mode, decision.borrowing, decision.message) == ("Fit", 0, "")
    assert decision.flavors == {"main": {"cpu": "default"}}
    assert decision.targets == ()


def test_nothing_is_said_of_flavors_that_are_not_to_be_had() -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(5), "all", within="LowerPriority"),
        cluster_queue("r", cpu(5), "all"),
    ]
    decision = decided(workload("w", "q", 6), *things, holder("a", "r", 5))
    assert (decision.mode, decision.flavors, decision.borrowing) == ("NoFit", {}, 0)
    assert (decision.targets, decision.no_fit_reason) == ((), "WaitingForQuota")


def test_nothing_is_borrowed_where_the_rest_does_not_fit() -> None:
    """The first pod set would have borrowed; there is no quota at all for what the second one asks for."""
    things: list[Object] = [cluster_queue("q", cpu(1), "all"), cluster_queue("r", cpu(5), "all")]
    incoming, other = workload("w", "q", 3), workload("w", "q", 1, memory=1)
    incoming.spec.pod_sets.append(msgspec.structs.replace(other.spec.pod_sets[0], name="other"))
    decision = decided(incoming, *things)
    assert decision.assignment.borrowing == 1
    assert (decision.mode, decision.flavors, decision.borrowing) == ("NoFit", {}, 0)


def test_preempt() -> None:
    queue = cluster_queue("q", cpu(5), within="LowerPriority")
    things: list[Object] = [
        queue,
        holder("b", "q", 2),
        holder("a", "q", 2, since=3),
        holder("high", "q", 1, priority=9),
    ]
    decision = decided(workload("w", "q", 4, priority=5), *things)
    assert decision.mode == "Preempt"
    assert decision.message == (
        "couldn't assign flavors to pod set main: "
        "insufficient unused quota for cpu in flavor default, 4 more needed"
    )
    # By name, in whatever order they were found.
    assert targets(decision) == {"ns/a": "InClusterQueue", "ns/b": "InClusterQueue"}
    assert [target.holder.key for target in decision.targets] == ["ns/a", "ns/b"]


def test_nobody_may_go() -> None:
    queue = cluster_queue("q", cpu(5), within="LowerPriority")
    decision = decided(workload("w", "q", 4), queue, holder("a", "q", 5))
    assert (decision.mode, decision.targets) == ("Preempt", ())
    assert decision.flavors == {"main": {"cpu": "default"}}


def test_who_is_on_the_way_out_goes_first() -> None:
    queue = cluster_queue("q", cpu(5), within="LowerPriority")
    leaving = evicted(holder("leaving", "q", 2, priority=3), 4)
    decision = decided(workload("w", "q", 2, priority=5), queue, holder("a", "q", 3), leaving)
    assert targets(decision) == {"ns/leaving": "InClusterQueue"}


@pytest.mark.parametrize(
    "options", [Options(), Options(fair_sharing=True)], ids=["classical", "fair sharing"]
)
def test_who_borrows_gives_back(options: Options) -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(5), "all", reclaim="Any"),
        cluster_queue("r", cpu(5), "all"),
    ]
    decision = decided(workload("w", "q", 5), *things, holder("a", "r", 8), options=options)
    assert targets(decision) == {"ns/a": "InCohortReclamation"}


@pytest.mark.parametrize("options", [Options(), Options(fair_sharing=True)])
def test_nobody_of_a_queue_that_is_not_active_is_preempted(options: Options) -> None:
    """As in Kueue, whose snapshot has no such ClusterQueue; what is held there is used all the same."""
    things: list[Object] = [
        cluster_queue("q", cpu(4), "all", reclaim="Any"),
        cluster_queue("stopped", cpu(0), "all", stop="Hold"),
        held(workload("holds", "stopped", 4), 10),
    ]
    decision = decided(workload("w", "q", 4), *things, options=options)
    assert (decision.mode, decision.targets) == ("Preempt", ())


def test_whose_share_is_greater_gives_with_fair_sharing() -> None:
    things: list[Object] = [
        cohort("all", quotas=cpu(8)),
        cluster_queue("q", cpu(0), "all", reclaim="Any"),
        cluster_queue("r", cpu(0), "all"),
    ]
    holders = [holder(name, "r", 2) for name in "abcd"]
    fair = decided(workload("w", "q", 2), *things, *holders, options=Options(fair_sharing=True))
    assert targets(fair) == {"ns/a": "InCohortFairSharing"}
    assert decided(workload("w", "q", 2), *things, *holders).mode == "NoFit"


def test_whose_time_is_up_goes_unless_the_gate_is_off() -> None:
    queue = cluster_queue("q", cpu(5), within="LowerOrNewerEqualPriority", min_admit="1m")
    things: list[Object] = [queue, holder("a", "q", 5)]
    decision = decided(workload("w", "q", 5, created=900), *things)
    assert targets(decision) == {"ns/a": "InClusterQueueTimeBased"}
    off = decided(workload("w", "q", 5, created=900), *things, options=Options(time_based=False))
    assert (off.mode, off.targets) == ("Preempt", ())


def test_pods_are_contested_but_forgotten_in_the_end() -> None:
    """Kueue's own behaviour: its search for victims does not count pods, so that it is over once one has gone."""
    quotas = {"default": {"cpu": ("100", None, None), "pods": ("3", None, None)}}
    queue = cluster_queue("q", quotas, within="LowerPriority")
    pods = [with_pod(holder(name, "q", 1)) for name in "abc"]
    decision = decided(workload("w", "q", 1, count=3, priority=5), queue, *pods)
    assert (decision.mode, len(decision.targets)) == ("Preempt", 1)


def test_pods_beyond_the_nominal_quota_do_not_keep_it_from_taking_back_the_rest() -> None:
    """`theirs` goes only if nothing is borrowed for it. The pods that `q` has borrowed already are another matter."""

    def quotas(cpus: str) -> dict[str, dict[str, tuple[str, None, None]]]:
        return {"default": {"cpu": (cpus, None, None), "pods": ("2", None, None)}}

    things: list[Object] = [
        cluster_queue("q", quotas("6"), "all", within="LowerPriority", reclaim="Any", borrow=True),
        cluster_queue("r", quotas("0"), "all"),
        *(with_pod(holder(name, "q", 1, priority=9)) for name in "abc"),
        with_pod(holder("low", "q", 1)),
        with_pod(holder("theirs", "r", 2, priority=9)),
    ]
    decision = decided(workload("w", "q", 3, priority=5), *things)
    assert decision.assignment.contested == {("default", "cpu"), ("default", "pods")}
    assert targets(decision) == {"ns/theirs": "InCohortReclamation", "ns/low": "InClusterQueue"}


def with_pod(holder: Workload) -> Workload:
    """With the pod counted as well."""
    admission = holder.status.admission
    assert admission is not None
    (assignment,) = admission.pod_set_assignments or []
    assignment = msgspec.structs.replace(
        assignment,
        flavors={**(assignment.flavors or {}), "pods": "default"},
        resource_usage={**(assignment.resource_usage or {}), "pods": 1},
    )
    admission = msgspec.structs.replace(admission, pod_set_assignments=[assignment])
    return msgspec.structs.replace(holder, status=msgspec.structs.replace(holder.status, admission=admission))


# ---- gates (KEP-8303)


@pytest.mark.parametrize("cpus", [1, 5])
def test_a_gate_changes_nothing_but_the_mark(cpus: int) -> None:
    things: list[Object] = [cluster_queue("q", cpu(5), within="LowerPriority"), holder("a", "q", 3)]
    plain = decided(workload("w", "q", cpus, priority=5), *things)
    gated = decided(workload("w", "q", cpus, priority=5, gates=["hold"]), *things)
    assert (plain.gated, gated.gated) == (False, True)
    assert (gated.mode, gated.flavors, targets(gated)) == (plain.mode, plain.flavors, targets(plain))


# ---- what cannot be decided


@pytest.mark.parametrize(
    ("things", "error"),
    [
        ([], "Workload ns/w: spec.queueName: there is no LocalQueue ns/q"),
        ([local_queue("q", "gone")], "LocalQueue ns/q: spec.clusterQueue: there is no ClusterQueue 'gone'"),
        (
            [local_queue("q", "q"), cluster_queue("q", cpu(5))],
            "ClusterQueue q: is not active: "
            "spec.resourceGroups[0].flavors[0].name: there is no ResourceFlavor default",
        ),
        (
            [
                local_queue("q", "q"),
                flavor("default"),
                cluster_queue("q", cpu(5), "a"),
                cohort("a", "b"),
                cohort("b", "a"),
            ],
            "ClusterQueue q: is not active: spec.cohortName: the cohorts form a cycle: a -> b -> a",
        ),
    ],
)
def test_what_cannot_be_decided_is_an_error_with_the_object(things: list[Object], error: str) -> None:
    state = QuotaState()
    for thing in things:
        state.apply(thing)
    with pytest.raises(QuotaError) as caught:
        decide(state.snapshot(), workload("w", "q", 1), NOW)
    assert str(caught.value) == error


def test_nothing_is_changed() -> None:
    world = snapshot(cluster_queue("q", cpu(5), within="LowerPriority"), holder("a", "q", 5))
    first = decide(world, workload("w", "q", 5, priority=1), NOW, explain=True)
    assert decide(world, workload("w", "q", 5, priority=1), NOW, explain=True) == first
    assert world.ledger.usage(world.queues["q"].node, 0) == 5000
