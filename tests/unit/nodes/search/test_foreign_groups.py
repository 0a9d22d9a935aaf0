"""Groups that other programs make, as victims: whole or not at all, by the lowest priority of their pods."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod, PodSchedulingGroup
from api.groups import DisruptionMode, Empty, PodGroup
from nodes.answers.asking import decide_pod
from nodes.search.decision import workload_decision
from nodes.search.preemptors.supposed import SupposedPods, WorkloadName
from tests.kit.objects import BIG, gang, member, node, pod, tables
from tests.unit.nodes.search.support import NS, decide, names

TRAIN = ("kubeflow.org/v1", "PyTorchJob", "train")
TRAIN_NAME = "PyTorchJob.kubeflow.org:train:uid-train"


def worker(index: int, **fields: Any) -> Pod:
    """A pod of the training job, alone on its node."""
    given: dict[str, Any] = {"node": f"n{index}", "requests": BIG, "priority": 5, "owner": TRAIN}
    return pod(f"train-{index}", **(given | fields))


def test_all_pods_of_an_owner_go() -> None:
    plan = decide(gang(minimum=1), member(), *map(node, ("n0", "n1", "n2")), *map(worker, range(3)))
    [victim] = plan.victims
    assert (victim.kind, victim.name, victim.uid) == ("PodGroup", TRAIN_NAME, "uid-train")
    assert sorted(each.name for each in victim.pods) == ["train-0", "train-1", "train-2"]
    assert victim.priority == 5


def test_the_lowest_priority_of_its_pods_counts() -> None:
    """The gang has priority 100."""
    workers = [worker(0, priority=200), worker(1, priority=7)]
    plan = decide(gang(minimum=1), member(), node("n0"), node("n1"), *workers)
    assert [(each.name, each.priority) for each in plan.victims] == [(TRAIN_NAME, 7)]
    workers = [worker(0, priority=200), worker(1, priority=100)]
    assert decide(gang(minimum=1), member(), node("n0"), node("n1"), *workers).victims == []


def test_a_single_pod_goes_before_a_group() -> None:
    alone = pod("alone", node="n2", requests=BIG, priority=6)
    plan = decide(gang(minimum=1), member(), *map(node, ("n0", "n1", "n2")), worker(0), worker(1), alone)
    assert names(plan) == [TRAIN_NAME]  # its priority is lower, which comes before the number of pods
    alone = pod("alone", node="n2", requests=BIG, priority=5)
    plan = decide(gang(minimum=1), member(), *map(node, ("n0", "n1", "n2")), worker(0), worker(1), alone)
    assert names(plan) == ["alone"]


def test_two_owners_of_one_name_are_two_groups() -> None:
    """The one was deleted and its pods are still there; or their kinds differ."""
    other = ("kubeflow.org/v1", "TFJob", "train")
    plan = decide(
        gang(minimum=1), member(), node("n0"), node("n1"), worker(0, priority=1), worker(1, owner=other)
    )
    assert names(plan) == [TRAIN_NAME]
    assert [each.name for each in plan.victims[0].pods] == ["train-0"]


def test_a_pod_that_cannot_be_evicted_keeps_its_group() -> None:
    plan = decide(gang(minimum=1), member(), node("n0"), node("n1"), worker(0), worker(1, mirror=True))
    assert plan.victims == []


def test_a_pod_of_a_group_asks_with_its_own_priority_and_spares_its_group() -> None:
    """Only our PodGroups replace what their pods say."""
    waiting = worker(9, node="", priority=50)
    other = pod("other", node="n1", requests=BIG, priority=10)
    state = tables(node("n0"), node("n1"), worker(0), other, waiting)
    plan = decide_pod(state.snapshot(), NS, "train-9")
    assert plan.preemptor.priority == 50
    assert names(plan) == ["other"]


def test_a_pod_of_a_group_may_evict_nobody_by_its_own_policy() -> None:
    waiting = worker(9, node="", priority=50, preemptionPolicy="Never")
    other = pod("other", node="n0", requests=BIG, priority=10)
    plan = decide_pod(tables(node("n0"), other, waiting).snapshot(), NS, "train-9")
    assert plan.victims == []


def test_the_internal_form_goes_when_the_last_pod_goes() -> None:
    state = tables(node("n0"), worker(0))
    row = state.pods.group.array[0]
    there = state.groups.objects[row]
    assert isinstance(there, PodGroup)
    assert there.spec.disruption_mode == DisruptionMode(all=Empty())
    assert (len(state.groups), state.groups.find(NS, TRAIN_NAME)) == (0, there)
    state.delete_pod(NS, "train-0")
    assert state.groups.find(NS, TRAIN_NAME) is None
    state.upsert_pod(pod("p", group="absent"))  # takes the row that is free now
    assert state.pods.group.array[0] == row
    assert state.groups.find(NS, "absent") is None


def test_a_pod_may_change_its_group() -> None:
    """Labels of a running pod may be changed."""
    labelled = {"scheduling.x-k8s.io/pod-group": "late"}
    state = tables(node("n0"), worker(0, owner=None))
    state.upsert_pod(worker(0, owner=None, labels=labelled))
    late = state.groups.find(NS, "podgroups.scheduling.x-k8s.io:late")
    assert late is not None
    state.upsert_pod(worker(0, owner=None))
    assert state.groups.find(NS, "podgroups.scheduling.x-k8s.io:late") is None


@pytest.mark.parametrize(("native", "priority"), [(None, 100), ("other", 7)], ids=["ours", "native"])
def test_supposed_pods_have_the_group_that_they_will_have(native: str | None, priority: int) -> None:
    """Also where a native group comes before ours: then the priority of ours does not count."""
    hero = pod("hero", group="gang", priority=7)
    hero.spec.scheduling_group = PodSchedulingGroup(native)
    found = tables(gang(minimum=1, priority=100), node("n0")).snapshot()
    workload = WorkloadName("kueue.x-k8s.io/v1beta2", NS, "w", "uid-w")
    asked = workload_decision(found, workload, [SupposedPods("main", 1, hero)])
    assert asked.spec.preemptor.priority == priority
