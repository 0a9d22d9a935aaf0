"""The state as events come in: what counts, what waits for its ClusterQueue, and what leaves everything as it was."""

from __future__ import annotations

import msgspec
import pytest

from api.kueue import MIN_ADMIT_DURATION_ANNOTATION, ClusterQueue, WithinClusterQueueConfig
from api.meta import LabelSelector, LabelSelectorRequirement
from api.workloads import RequeueState
from quota.state.amounts import QuotaError
from quota.state.remains import Remains
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from tests.kit.quota.objects import (
    Object,
    cluster_queue,
    cohort,
    cpu,
    evicted,
    flavor,
    held,
    local_queue,
    set_condition,
    workload,
)


def state(*things: Object) -> QuotaState:
    result = QuotaState()
    for thing in things:
        result.apply(thing)
    return result


def used(snapshot: QuotaSnapshot, queue: str, resource: str = "cpu") -> int:
    fr = snapshot.fr("default", resource)
    assert fr is not None
    return snapshot.ledger.usage(snapshot.queues[queue].node, fr)


def holders(snapshot: QuotaSnapshot, queue: str) -> list[str]:
    found = snapshot.ledger.holders(snapshot.queues[queue].node)
    return [str(getattr(each, "key", None)) for each in found]


QUEUE = cluster_queue("q", cpu(10))


def test_events_count_in_place() -> None:
    world = state(QUEUE, flavor("default"))
    world.snapshot()
    world.apply(held(workload("a", "q", 3), 10))
    world.apply(held(workload("b", "q", 4), 20))
    assert used(world.snapshot(), "q") == 7000
    assert holders(world.snapshot(), "q") == ["ns/b", "ns/a"]
    world.apply(evicted(held(workload("a", "q", 3), 10), 30))
    assert holders(world.snapshot(), "q") == ["ns/a", "ns/b"]
    world.apply(set_condition(held(workload("b", "q", 4), 20), "Finished", "True", "Succeeded", 40))
    assert used(world.snapshot(), "q") == 3000
    world.delete("Workload", "ns/a")
    world.delete("Workload", "ns/never-was")
    assert used(world.snapshot(), "q") == 0
    assert list(world.workloads) == ["ns/b"]


def test_a_snapshot_does_not_see_what_happens_after_it() -> None:
    world = state(QUEUE, flavor("default"), held(workload("a", "q", 3), 10))
    before = world.snapshot()
    world.apply(held(workload("b", "q", 4), 20))
    world.delete("Workload", "ns/a")
    world.delete("ResourceFlavor", "default")
    assert (used(before, "q"), holders(before, "q"), list(before.flavors)) == (3000, ["ns/a"], ["default"])
    after = world.snapshot()
    assert (used(after, "q"), holders(after, "q"), list(after.flavors)) == (4000, ["ns/b"], [])


def test_who_holds_quota_of_a_queue_that_is_gone_counts_when_it_is_back() -> None:
    world = state(QUEUE, held(workload("a", "q", 3), 10))
    assert used(world.snapshot(), "q") == 3000
    assert world.strays() == []
    world.delete("ClusterQueue", "q")
    assert [each.key for each in world.strays()] == ["ns/a"]
    assert world.snapshot().queues == {}
    world.apply(QUEUE)
    assert used(world.snapshot(), "q") == 3000


def test_quota_that_is_held_of_a_flavor_that_the_queue_no_longer_has() -> None:
    world = state(QUEUE)
    world.snapshot()
    world.apply(held(workload("a", "q", 3), 10, flavors={"cpu": "old"}))
    snapshot = world.snapshot()
    fr = snapshot.fr("old", "cpu")
    assert fr is not None
    assert snapshot.ledger.usage(snapshot.queues["q"].node, fr) == 3000
    assert snapshot.ledger.quota(snapshot.queues["q"].node, fr) == 0


def test_a_changed_quota_keeps_the_holders() -> None:
    world = state(QUEUE, held(workload("a", "q", 3), 10))
    world.snapshot()
    world.apply(cluster_queue("q", cpu(2), "team"))
    world.apply(cohort("team", quotas=cpu(5)))
    snapshot = world.snapshot()
    assert snapshot.ledger.available(snapshot.queues["q"].node, 0) == 4000
    assert snapshot.path(snapshot.queues["q"].node) == "/team/q"


def test_what_cannot_be_used_changes_nothing() -> None:
    world = state(QUEUE, held(workload("a", "q", 3), 10))
    world.snapshot()
    huge = held(workload("a", "q", 2**51), 10)
    world.apply(held(workload("b", "q", 3 * 2**50), 20))
    with pytest.raises(QuotaError, match=r"^Workload ns/a: status.admission.*cpu in flavor default"):
        world.apply(huge)
    assert world.workloads["ns/a"] != huge
    assert used(world.snapshot(), "q") == 3000 + 3 * 2**50 * 1000
    # Nor is its name left behind, among which others find their place.
    world.delete("Workload", "ns/a")
    for name in ("A", "aa"):
        world.apply(held(workload(name, "q", 1), 10))
    assert holders(world.snapshot(), "q") == ["ns/b", "ns/A", "ns/aa"]
    with pytest.raises(QuotaError, match=r"nominalQuota"):
        world.apply(cluster_queue("q", cpu(-1)))
    assert world.snapshot().queues["q"].spec == QUEUE.spec


def test_uids_that_are_missing_or_the_same_are_told_apart_by_name() -> None:
    same = [held(workload(name, "q", 1, uid="x"), 10) for name in "abc"]
    for order in (same, same[::-1]):
        assert holders(state(QUEUE, *order).snapshot(), "q") == ["ns/a", "ns/b", "ns/c"]


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        (cluster_queue("q", cpu(1)), ""),
        (
            cluster_queue("q", {"rare": {"cpu": (1, None, None)}}),
            "spec.resourceGroups[0].flavors[0].name: there is no ResourceFlavor rare",
        ),
        (cluster_queue("q", cpu(1), "loop"), "spec.cohortName: the cohorts form a cycle: loop -> loop"),
    ],
)
def test_queues_that_cannot_admit(queue: ClusterQueue, why: str) -> None:
    assert state(queue, cohort("loop", "loop"), flavor("default")).snapshot().queues["q"].inactive == why


def test_a_stopped_queue() -> None:
    spec = msgspec.structs.replace(QUEUE.spec, stop_policy="Hold")
    stopped = msgspec.structs.replace(QUEUE, spec=spec)
    assert state(stopped, flavor("default")).snapshot().queues["q"].inactive == "spec.stopPolicy: is Hold"


def annotated(queue: ClusterQueue, duration: str) -> ClusterQueue:
    annotations = {MIN_ADMIT_DURATION_ANNOTATION: duration}
    return msgspec.structs.replace(
        queue, metadata=msgspec.structs.replace(queue.metadata, annotations=annotations)
    )


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        (LabelSelector(match_labels={"a b": "c"}), r"\.matchLabels: not a label key: 'a b'$"),
        (
            LabelSelector(match_expressions=[LabelSelectorRequirement("team", "In")]),
            r"\.matchExpressions\[0\]\.values: In needs at least one value$",
        ),
    ],
)
def test_a_namespace_selector_that_is_none(selector: LabelSelector, problem: str) -> None:
    queue = cluster_queue("q", cpu(1))
    queue.spec.namespace_selector = selector
    current = state()
    with pytest.raises(QuotaError, match=rf"^ClusterQueue q: spec\.namespaceSelector{problem}"):
        current.apply(queue)
    assert not current.snapshot().queues


@pytest.mark.parametrize(
    ("queue", "minutes"),
    [
        (QUEUE, None),
        (cluster_queue("q", cpu(1), min_admit="4h"), 240),
        (annotated(QUEUE, "1m"), 1),
        (annotated(cluster_queue("q", cpu(1), min_admit="4h"), "2h"), 240),
    ],
)
def test_min_admit_duration_is_the_fields_else_the_annotations(
    queue: ClusterQueue, minutes: int | None
) -> None:
    found = state(queue).snapshot().queues["q"].min_admit
    assert found == (None if minutes is None else minutes * 60_000_000)


def test_a_change_of_the_annotation_alone_is_seen() -> None:
    world = state(annotated(QUEUE, "1m"))
    assert world.snapshot().queues["q"].min_admit == 60_000_000
    world.apply(annotated(QUEUE, "2m"))
    assert world.snapshot().queues["q"].min_admit == 120_000_000
    world.apply(QUEUE)
    assert world.snapshot().queues["q"].min_admit is None


@pytest.mark.parametrize("duration", ["0s", "59s", "-1h", "soon", ""])
def test_a_min_admit_duration_that_is_none(duration: str) -> None:
    config = WithinClusterQueueConfig(duration)
    preemption = msgspec.structs.replace(QUEUE.spec.preemption, within_cluster_queue_config=config)
    spec = msgspec.structs.replace(QUEUE.spec, preemption=preemption)
    path = r"spec\.preemption\.withinClusterQueueConfig\.minAdmitDuration"
    with pytest.raises(QuotaError, match=f"^ClusterQueue q: {path}: "):
        state(msgspec.structs.replace(QUEUE, spec=spec))
    with pytest.raises(QuotaError, match=r"^ClusterQueue q: metadata\.annotations\[reprieve\.dev/min-admit"):
        state(annotated(QUEUE, duration))


def test_the_way_from_a_workload_to_its_queue() -> None:
    snapshot = state(QUEUE, local_queue("to-q", "q"), local_queue("to-nowhere", "gone")).snapshot()
    assert snapshot.queue_of(workload("w", "to-q", 1)).name == "q"
    for queue, problem in (
        ("", r"^Workload ns/w: spec\.queueName: is not set"),
        ("none", r"^Workload ns/w: spec\.queueName: there is no LocalQueue ns/none"),
        ("to-nowhere", r"^LocalQueue ns/to-nowhere: spec\.clusterQueue: there is no ClusterQueue 'gone'"),
    ):
        with pytest.raises(QuotaError, match=problem):
            snapshot.queue_of(workload("w", queue, 1))


def test_times_that_are_none_are_refused_of_whoever_waits() -> None:
    """Or a cycle would stumble over the one of them, and nobody would get anything."""
    pending = workload("w", "q", 1)
    metadata = msgspec.structs.replace(pending.metadata, creation_timestamp="yesterday")
    status = msgspec.structs.replace(pending.status, requeue_state=RequeueState(requeue_at="tomorrow"))
    for broken, field in (
        (msgspec.structs.replace(pending, metadata=metadata), r"metadata\.creationTimestamp"),
        (msgspec.structs.replace(pending, status=status), r"status\.requeueState\.requeueAt"),
    ):
        with pytest.raises(QuotaError, match=f"^Workload ns/w: {field}: "):
            state(QUEUE, broken)


@pytest.mark.parametrize("hold", [True, False])
def test_the_quota_of_a_deactivated_workload_counts_until_it_is_given_back_and_with_kueue_not(
    hold: bool,
) -> None:
    world = QuotaState(deactivated_hold=hold)
    for each in (QUEUE, flavor("default"), held(workload("a", "q", 3), 10)):
        world.apply(each)
    inactive = held(workload("a", "q", 3), 10)
    inactive = msgspec.structs.replace(inactive, spec=msgspec.structs.replace(inactive.spec, active=False))
    world.apply(inactive)
    assert used(world.snapshot(), "q") == (3000 if hold else 0)
    world.apply(set_condition(inactive, "QuotaReserved", "False", "Pending", 20))
    assert used(world.snapshot(), "q") == 0


def test_what_is_left_of_a_workload_that_cannot_be_read_counts_and_nobody_preempts_it() -> None:
    world = state(QUEUE, flavor("default"))
    world.snapshot()
    world.keep(Remains("ns/a", "q", "ns/l", {("default", "cpu"): 3000}))
    assert used(world.snapshot(), "q") == 3000
    assert holders(world.snapshot(), "q") == []
    world.keep(Remains("ns/a", "q", "ns/l", {("other", "gpu"): 2}))
    assert used(world.snapshot(), "q") == 0
    world.keep(Remains("ns/a", "q", "ns/l", None))
    world.keep(Remains("ns/b", "later", "", {("default", "cpu"): 1000}))
    assert used(world.snapshot(), "q") == 0
    world.apply(cluster_queue("later", cpu(1)))
    assert used(world.snapshot(), "later") == 1000
    world.apply(held(workload("b", "q", 4), 10))
    assert used(world.snapshot(), "later") == 0
    assert used(world.snapshot(), "q") == 4000
    assert set(world.remains) == {"ns/a"}
    world.delete("Workload", "ns/a")
    assert not world.remains


def test_a_state_that_is_refused_leaves_what_is_left_of_the_workload() -> None:
    world = state(QUEUE, flavor("default"))
    world.keep(Remains("ns/a", "q", "ns/l", {("default", "cpu"): 3000}))
    world.apply(held(workload("most", "q", "4000000000000000"), 10))
    world.snapshot()
    with pytest.raises(QuotaError, match="does not fit 64 bits"):
        world.apply(held(workload("a", "q", "4000000000000000"), 10))
    assert set(world.remains) == {"ns/a"}
