"""Groups of other programs, live: what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from api.foreign_groups import CoschedulingPodGroup, CoschedulingSpec, VolcanoPodGroup, VolcanoSpec
from api.meta import ObjectMeta
from api.times import rfc3339
from controllers.gangs.configuration import PlanningConfiguration
from tests.kit.objects import node, pod
from tests.kit.stage import Stage, staged

LABEL = "scheduling.x-k8s.io/pod-group"


def member(name: str, **fields: Any) -> Pod:
    return pod(name, labels={LABEL: "mpi"}, **fields)


def events(stage: Stage) -> list[tuple[str, str, str]]:
    """Reason, kind and name of the object, and note of each event, in order."""
    stored = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return [
        (each["reason"], f"{each['regarding']['kind']} {each['regarding']['name']}", each["note"])
        for each in stored
    ]


async def test_pods_of_several_priorities_are_named_once() -> None:
    pods = [member("a", node="n0", priority=5), member("b", node="n0", priority=9)]
    async with staged(node("n0"), *pods) as stage:
        await stage.settle()
        note = "podgroups.scheduling.x-k8s.io:mpi is evicted whole at priority 5, that of pod a: b has 9"
        assert events(stage) == [("PodGroupPriorityDiffers", "Pod a", note)]
        stage.add(member("c", node="n0", priority=9))
        await stage.settle()
        assert len(events(stage)) == 1
        stage.delete(pods[0])
        await stage.settle()
        stage.add(member("d", node="n0", priority=3))
        await stage.settle()
        assert [each[1] for each in events(stage)] == ["Pod a", "Pod d"]


# ---- scheduler-plugins' PodGroups preempt

BIG = {"cpu": "4"}
KEY = ("default", "podgroups.scheduling.x-k8s.io:mpi")


def mpi(minimum: int = 2, uid: str = "uid-mpi") -> CoschedulingPodGroup:
    meta = ObjectMeta("mpi", "default", uid, generation=1, creation_timestamp="2026-01-01T00:00:00Z")
    return CoschedulingPodGroup(metadata=meta, spec=CoschedulingSpec(minimum))


def waiting(name: str, priority: int = 100, **fields: Any) -> Pod:
    return member(name, priority=priority, requests=BIG, **fields)


def cluster() -> list[Any]:
    """Two nodes, and a pod on each that fills it."""
    nodes = [node(f"n{number}") for number in range(2)]
    return [*nodes, *(pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1) for number in range(2))]


async def test_it_gathers_and_evicts_as_one() -> None:
    async with staged(*cluster(), mpi(), waiting("m0")) as stage:
        await stage.settle()
        stage.clock += 2.0
        await stage.settle()
        assert stage.filter(waiting("m0"), "n0", "n1") == [], "it waits for its sibling"
        assert (stage.api.deleted, stage.api.plans) == ([], {})
        stage.add(waiting("m1"))
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]
        [plan] = stage.api.plans.values()
        assert plan["metadata"]["name"].startswith("podgroups.scheduling.x-k8s.io.mpi-")
        assert plan["spec"]["preemptor"] == {
            "kind": "PodGroup",
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "namespace": "default",
            "name": KEY[1],
            "uid": "uid-mpi",
            "priority": 100,
        }
        for number in range(2):
            stage.delete(pod(f"v{number}", node=f"n{number}"))
        await stage.settle()
        assert stage.phases() == ["Ready"]
        placed = [stage.filter(waiting(name), "n0", "n1") for name in ("m0", "m1")]
        assert sorted(placed) == [["n0"], ["n1"]]
        for name, where in (("m0", placed[0]), ("m1", placed[1])):
            stage.add(waiting(name, node=where[0]))
        await stage.settle()
        assert stage.phases() == ["Bound"]
        assert not any("/podgroups/" in each.path for each in stage.api.written), "its status is not ours"
        said = [reason for reason, regarding, _ in events(stage) if regarding == "PodGroup mpi"]
        assert said[0] == "Gathering"
        assert {"Preempting", "Bound"} <= set(said)


async def test_without_its_object_its_pods_are_ordinary() -> None:
    async with staged(*cluster(), waiting("m0")) as stage:
        stage.clock += 10.0  # it is not new
        await stage.settle()
        assert stage.filter(waiting("m0"), "n0") == ["n0"]
        stage.add(mpi())
        await stage.settle()
        assert stage.filter(waiting("m0"), "n0") == []


def newborn(stage: Stage) -> Pod:
    """A member that was created just now."""
    return waiting("m0", created=rfc3339(stage.api.clock.wall()))


async def test_a_new_pod_waits_a_moment_for_its_pod_group() -> None:
    """The scheduler may hear of a pod before we hear of its PodGroup. The pod would preempt alone."""
    async with staged(*cluster()) as stage:
        await stage.settle()
        first = newborn(stage)
        stage.add(first)
        assert stage.filter(first, "n0") == []
        assert stage.preempt(first, n0=["uid-default-v0"]) == []
        stage.add(mpi())
        await stage.settle()
        stage.clock += 10.0
        await stage.settle()
        assert stage.filter(first, "n0") == [], "its sibling is missing"
        assert (stage.api.deleted, stage.api.plans) == ([], {})


async def test_a_pod_group_that_does_not_come_holds_nobody_for_long() -> None:
    async with staged(*cluster()) as stage:
        await stage.settle()
        first = newborn(stage)
        stage.add(first)
        assert stage.filter(first, "n0") == []
        stage.clock += 2.0
        await stage.settle()
        assert stage.api.woken == ["m0"], "it comes back"
        assert stage.filter(first, "n0") == []
        stage.clock += 4.0
        await stage.settle()
        assert stage.api.woken == ["m0", "m0"]
        assert stage.filter(first, "n0") == ["n0"]
        assert stage.preempt(first, n0=["uid-default-v0"]) == ["n0"]


async def test_a_new_pod_waits_until_it_is_certain_that_its_kind_is_not_served() -> None:
    """The CRD may have been installed since we last asked: a pod of a gang would preempt alone."""
    async with staged(*cluster()) as stage:
        await stage.settle()
        stage.refuse(CoschedulingPodGroup, 404)
        stage.clock += 3.0
        first = newborn(stage)
        stage.add(first)
        assert stage.preempt(first, n0=["uid-default-v0"]) == []
        assert stage.asked(CoschedulingPodGroup)
        stage.clock += 1.0  # times of creation have whole seconds
        stage.refuse(CoschedulingPodGroup, 404)
        assert stage.preempt(first, n0=["uid-default-v0"]) == ["n0"]


@pytest.mark.parametrize("why", ["forbidden", "old", "native"])
async def test_others_are_not_waited_for(why: str) -> None:
    """Nobody gets a right at the moment at which a pod comes. With Off, Kubernetes plans for native gangs itself."""
    off = PlanningConfiguration(mode="Enforce", native_groups="Off")
    async with staged(*cluster(), configuration=off) as stage:
        await stage.settle()
        stage.refuse(CoschedulingPodGroup, 403 if why == "forbidden" else 404)
        stage.clock += 3.0
        asked = newborn(stage)
        if why == "native":
            asked = pod(
                "m0", schedulingGroup={"podGroupName": "mpi"}, created=str(asked.metadata.creation_timestamp)
            )
        stage.clock += 10.0 if why == "old" else 0.0
        await stage.settle()
        assert stage.filter(asked, "n0") == ["n0"]


@pytest.mark.parametrize("ends", ["deleted", "grows", "no gang any longer"])
async def test_its_object_changes_under_a_plan(ends: str) -> None:
    """Nobody has gone yet: the scheduler has not confirmed the plan."""
    async with staged(*cluster(), mpi(), waiting("m0"), waiting("m1")) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        stage.clock += 10.0  # its pods are not new
        if ends == "deleted":
            stage.delete(mpi())
        else:
            stage.add(mpi(3 if ends == "grows" else 0))
        stage.agrees = True
        await stage.settle()
        assert (stage.api.deleted, stage.phases()) == ([], ["Aborted"])
        passes = [] if ends == "grows" else ["n0"]
        assert stage.filter(waiting("m0"), "n0") == passes


async def test_a_new_process_goes_on_with_its_plan() -> None:
    objects = [*cluster(), mpi(), waiting("m0"), waiting("m1")]
    async with staged(*objects) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        again = stage.restart()
        again.add(*objects)
        await again.settle()
        assert sorted(again.api.deleted) == ["v0", "v1"]
        assert len(again.api.plans) == 1
        await again.close()


async def test_a_group_created_again_is_another_one() -> None:
    objects = [*cluster(), mpi(), waiting("m0"), waiting("m1")]
    async with staged(*objects) as stage:
        stage.agrees = False
        await stage.settle()
        again = stage.restart()
        again.agrees = False
        again.add(*cluster(), mpi(uid="uid-other"), waiting("m0"), waiting("m1"))
        await again.settle()
        assert again.phases() == ["Aborted"]
        again.clock += 60.0
        await again.settle()
        assert sorted(again.phases()) == ["Aborted", "Planned"]
        await again.close()


async def test_nobody_goes_for_pods_of_several_priorities() -> None:
    async with staged(*cluster(), mpi(), waiting("m0", 100), waiting("m1", 50)) as stage:
        await stage.settle()
        assert stage.api.deleted == []
        [note] = [note for reason, _, note in events(stage) if reason == "PriorityMismatch"]
        assert "pod m0 has priority 100, and another pod of its group has 50" in note


async def test_bound_members_of_a_gang_in_pieces_stay() -> None:
    """What its own controller says of it is not ours, so nobody knows whether it ran whole."""
    configuration = PlanningConfiguration(mode="Enforce", partial_gang_seconds=10)
    bound = member("m0", priority=100, requests=BIG, node="n0", controller="mpi")
    objects = [node("n0"), mpi(), bound, waiting("m1", controller="mpi")]
    async with staged(*objects, configuration=configuration) as stage:
        await stage.settle()
        stage.clock += 1000.0
        await stage.settle()
        assert stage.api.deleted == []
        assert "PartialGangKept" in [reason for reason, _, _ in events(stage)]


# ---- Volcano's PodGroups preempt where a scheduler that calls us has their pods

VOLCANO_KEY = ("default", "podgroups.scheduling.volcano.sh:spark")


def spark(minimum: int = 2) -> VolcanoPodGroup:
    meta = ObjectMeta("spark", "default", "uid-spark", creation_timestamp="2026-01-01T00:00:00Z")
    return VolcanoPodGroup(metadata=meta, spec=VolcanoSpec(minimum))


def task(name: str, scheduler: str) -> Pod:
    annotations = {"scheduling.k8s.io/group-name": "spark"}
    return pod(name, annotations=annotations, priority=100, requests=BIG, schedulerName=scheduler)


async def test_nothing_is_planned_for_pods_of_volcano_itself() -> None:
    tasks = [task(name, "volcano") for name in ("t0", "t1")]
    async with staged(*cluster(), spark(), *tasks) as stage:
        stage.filter(pod("other"), "n0")
        await stage.settle()
        assert stage.leading.gangs.get(VOLCANO_KEY) is None
        assert (stage.api.plans, stage.reserved) == ({}, 0)


@pytest.mark.parametrize("asks", ["about a member", "about another pod"])
async def test_it_preempts_once_the_scheduler_of_its_pods_has_called(asks: str) -> None:
    tasks = [task(name, "default-scheduler") for name in ("t0", "t1")]
    async with staged(*cluster(), spark(), *tasks) as stage:
        await stage.settle()
        assert stage.api.plans == {}
        stage.filter(tasks[0] if asks == "about a member" else pod("other"), "n0")
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]


async def test_it_does_not_preempt_while_a_member_names_another_scheduler() -> None:
    tasks = [task("t0", "default-scheduler"), task("t1", "volcano")]
    async with staged(*cluster(), spark(), *tasks) as stage:
        stage.filter(pod("other"), "n0")
        await stage.settle()
        assert (stage.api.plans, stage.api.deleted) == ({}, [])
