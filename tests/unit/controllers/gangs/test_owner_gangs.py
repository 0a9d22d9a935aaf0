"""Gangs that pods have by their owner, live."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Namespace, Pod
from api.foreign_owners import JobSet
from api.times import rfc3339
from tests.kit.objects import node, pod
from tests.kit.stage import Stage, staged

BIG = {"cpu": "4"}
KEY = ("default", "JobSet.jobset.x-k8s.io:sim")


def sim(replicas: int = 2, *, uid: str = "uid-sim", **annotations: str) -> JobSet:
    said = {f"reprieve.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
    meta = {"name": "sim", "namespace": "default", "uid": uid, "annotations": said}
    return msgspec.convert(
        {"metadata": meta, "spec": {"replicatedJobs": [{"name": "w", "replicas": replicas}]}}, JobSet
    )


def member(index: int, **fields: Any) -> Pod:
    labels = {"jobset-name": "sim", "replicatedjob-name": "w", "job-index": str(index)}
    named = {f"jobset.sigs.k8s.io/{key}": value for key, value in labels.items()}
    owner = ("batch/v1", "Job", f"sim-w-{index}")
    return pod(f"m{index}", owner=owner, labels=named, priority=100, requests=BIG, **fields)


def cluster() -> list[Any]:
    """Two nodes, and a pod on each that fills it."""
    nodes = [node(f"n{number}") for number in range(2)]
    return [*nodes, *(pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1) for number in range(2))]


def namespace(by_owner: str) -> Namespace:
    meta = {"name": "default", "annotations": {"reprieve.dev/groups-by-owner": by_owner}}
    return msgspec.convert({"metadata": meta}, Namespace)


async def call(stage: Stage) -> None:
    """The scheduler of the pods asks us about some pod. The pods that are there are no longer new."""
    stage.clock += 10.0
    await stage.settle()
    stage.filter(pod("other"), "n0")


@pytest.mark.parametrize("said_by", ["configuration", "namespace", "owner"])
async def test_it_gathers_and_evicts_as_one(said_by: str) -> None:
    objects = [*cluster(), sim(groups_by_owner="Gangs") if said_by == "owner" else sim()]
    objects += [namespace("Gangs")] if said_by == "namespace" else []
    async with staged(
        *objects, member(0), by_owner="Gangs" if said_by == "configuration" else "Victims"
    ) as stage:
        await call(stage)
        await stage.settle()
        stage.clock += 3.0
        await stage.settle()
        assert stage.filter(member(0), "n0", "n1") == [], "it waits for its sibling"
        assert stage.api.deleted == []
        stage.add(member(1))
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]
        [plan] = stage.api.plans.values()
        assert plan["spec"]["preemptor"]["name"] == KEY[1]
        assert plan["spec"]["preemptor"]["uid"] == "uid-sim"
        for number in range(2):
            stage.delete(pod(f"v{number}", node=f"n{number}"))
        await stage.settle()
        placed = [stage.filter(member(index), "n0", "n1") for index in range(2)]
        assert sorted(placed) == [["n0"], ["n1"]]
        for index, where in enumerate(placed):
            stage.add(member(index, node=where[0]))
        await stage.settle()
        assert stage.phases() == ["Bound"]
        stored = stage.api.of("/apis/events.k8s.io/v1/events").values()
        said = {each["reason"] for each in stored if each["regarding"]["kind"] == "JobSet"}
        assert {"Gathering", "Preempting", "Bound"} <= said


async def test_by_default_its_pods_ask_one_by_one() -> None:
    async with staged(*cluster(), sim(), member(0)) as stage:
        await call(stage)
        await stage.settle()
        assert stage.filter(member(0), "n0") == ["n0"]
        assert (stage.leading.gangs.get(KEY), stage.reserved) == (None, 0)


def newborn(stage: Stage, index: int) -> Pod:
    """A member that was created just now."""
    return member(index, created=rfc3339(stage.api.clock.wall()))


async def test_a_new_pod_waits_a_moment_for_its_owner() -> None:
    """The scheduler may hear of a pod before we hear of its owner."""
    async with staged(node("n0"), by_owner="Gangs") as stage:
        await call(stage)
        first = newborn(stage, 0)
        assert stage.filter(first, "n0") == []
        stage.add(first, sim())
        await stage.settle()
        assert stage.filter(first, "n0") == [], "its sibling is missing"
        assert stage.leading.gangs.get(KEY) is not None


async def test_a_new_pod_makes_us_ask_for_a_kind_that_was_not_served() -> None:
    """The CRD of its owner may have been installed since we last asked."""
    async with staged(node("n0"), by_owner="Gangs") as stage:
        await call(stage)
        stage.refuse(JobSet, 404)
        first = newborn(stage, 0)
        assert stage.filter(first, "n0") == []
        assert stage.asked(JobSet)
        stage.clock += 2.0
        stage.refuse(JobSet, 404)
        assert stage.filter(first, "n0") == ["n0"]


@pytest.mark.parametrize("by_owner", ["Victims", "Gangs", "forbidden"])
async def test_an_owner_that_does_not_come_holds_nobody(by_owner: str) -> None:
    async with staged(node("n0"), by_owner="Victims" if by_owner == "Victims" else "Gangs") as stage:
        await call(stage)
        if by_owner == "forbidden":
            stage.refuse(JobSet, 403)
        first = newborn(stage, 0)
        stage.add(first)
        if by_owner == "Gangs":
            assert stage.filter(first, "n0") == []
            stage.clock += 2.0
            await stage.settle()
            assert stage.api.woken == ["m0"], "it comes back"
            assert stage.filter(first, "n0") == []
            stage.clock += 4.0
            await stage.settle()
            assert stage.api.woken == ["m0", "m0"]
        assert stage.filter(first, "n0") == ["n0"]


@pytest.mark.parametrize("pods_first", [True, False])
async def test_members_that_succeeded_make_up_for_missing_ones(pods_first: bool) -> None:
    """Nobody creates them again. Their pods may be listed before the owner and the namespace."""
    pods: list[Any] = [member(0, phase="Succeeded", node="n0"), member(1)]
    owners: list[Any] = [namespace("Gangs"), sim()]
    async with staged(node("n0"), *(pods + owners if pods_first else owners + pods)) as stage:
        await call(stage)
        await stage.settle()
        gang = stage.leading.gangs.get(KEY)
        assert gang is not None
        assert gang.life.phase == "Ready"
        assert stage.filter(member(1), "n0") == ["n0"]


async def test_nothing_is_planned_for_a_scheduler_that_never_calls() -> None:
    pods = [member(index, schedulerName="elsewhere") for index in range(2)]
    async with staged(*cluster(), sim(), *pods, by_owner="Gangs") as stage:
        await call(stage)
        await stage.settle()
        assert (stage.api.plans, stage.reserved) == ({}, 0)


async def test_a_gang_of_two_schedulers_evicts_nobody_and_holds_nobody_for_ever() -> None:
    """One of them never calls us. The pods of the other one are woken when they are no gang any longer."""
    other = member(1, schedulerName="elsewhere")
    async with staged(*cluster(), sim(), member(0), other, by_owner="Gangs") as stage:
        await call(stage)
        await stage.settle()
        assert (stage.api.plans, stage.reserved) == ({}, 0), "nobody has tried a pod of it"
        assert stage.filter(member(0), "n0", "n1") == []
        for _ in range(3):
            stage.clock += 10.0
            await stage.settle()
        assert (stage.api.deleted, set(stage.phases()), stage.reserved) == ([], {"Unschedulable"}, 0)
        assert stage.filter(member(0), "n0", "n1") == []
        stage.api.woken.clear()
        stage.add(namespace("Victims"))
        await stage.settle()
        assert "m0" in stage.api.woken
        assert stage.filter(member(0), "n0", "n1") == ["n0", "n1"]


@pytest.mark.parametrize(
    "ends", ["deleted", "grows", "no gang any longer", "no group any longer", "victims", "another one"]
)
async def test_its_owner_changes_under_a_plan(ends: str) -> None:
    """Nobody has gone yet: the scheduler has not confirmed the plan."""
    async with staged(*cluster(), sim(), member(0), member(1), by_owner="Gangs") as stage:
        stage.agrees = False
        await call(stage)
        await stage.settle()
        assert stage.phases() == ["Planned"]
        match ends:
            case "deleted":
                stage.delete(sim())
            case "grows":
                stage.add(sim(3))
            case "no gang any longer":
                stage.add(sim(0))
            case "no group any longer":
                stage.add(sim(gang="false"))
            case "victims":
                stage.add(namespace("Victims"))
            case _:
                stage.add(sim(uid="uid-other"))
        if ends != "another one":
            stage.agrees = True
        await stage.settle()
        assert (stage.api.deleted, stage.phases()[0]) == ([], "Aborted")
        passes = [] if ends in ("grows", "another one") else ["n0"]
        assert stage.filter(member(0), "n0") == passes


async def test_a_new_process_goes_on_with_its_plan() -> None:
    objects = [*cluster(), sim(), member(0), member(1)]
    async with staged(*objects, by_owner="Gangs") as stage:
        stage.agrees = False
        await call(stage)
        await stage.settle()
        assert stage.phases() == ["Planned"]
        again = stage.restart()
        again.add(*objects)
        await again.settle()
        assert sorted(again.api.deleted) == ["v0", "v1"]
        assert len(again.api.plans) == 1
        await again.close()


@pytest.mark.parametrize("ends", ["deleted", "no group any longer", "victims"])
async def test_its_owner_changes_while_others_go(ends: str) -> None:
    """What has begun is finished or ended. Nothing is held or reserved for a gang that is none."""
    async with staged(*cluster(), sim(), member(0), member(1), by_owner="Gangs") as stage:
        await call(stage)
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]
        assert stage.filter(member(0), "n0") == []
        if ends == "deleted":
            stage.delete(sim())
        else:
            stage.add(sim(gang="false") if ends.startswith("no") else namespace("Victims"))
        await stage.settle()
        assert (stage.phases(), stage.reserved) == (["Aborted"], 0)
        for number in range(2):
            stage.delete(pod(f"v{number}", node=f"n{number}"))
        await stage.settle()
        assert stage.filter(member(0), "n0") == ["n0"]
        assert "m0" in stage.api.woken


async def test_an_annotation_that_cannot_be_read_is_said_once() -> None:
    fault = (
        "metadata.annotations[reprieve.dev/gang]: 'yes' is not true or false: it counts as if it were absent"
    )
    async with staged(*cluster(), sim(gang="yes"), member(0), by_owner="Gangs") as stage:
        await call(stage)
        stage.add(sim(gang="yes"), namespace("gangs"), namespace("gangs"))
        await stage.settle()
        stored = stage.api.of("/apis/events.k8s.io/v1/events").values()
        said = [each for each in stored if each["reason"] == "InvalidAnnotation"]
        assert [(each["regarding"]["kind"], each["note"].partition(":")[0]) for each in said] == [
            ("JobSet", "metadata.annotations[reprieve.dev/gang]"),
            ("Namespace", "metadata.annotations[reprieve.dev/groups-by-owner]"),
        ]
        assert said[0]["note"] == fault
        assert stage.leading.gangs.get(KEY) is not None, "the setting counts"
        stage.add(sim(gang="true"))
        assert [fault.regarding.kind for fault in stage.controller.known.misread] == ["Namespace"]
        stage.filter(pod("odd", annotations={"reprieve.dev/gang": "1"}), "n0")
        await stage.settle()
        assert [each["regarding"]["name"] for each in stored if each["reason"] == "InvalidAnnotation"][
            2:
        ] == ["odd"]


@pytest.mark.parametrize("ends", ["deleted", "no group any longer", "no gang any longer", "victims", "off"])
async def test_a_member_that_only_preempt_turned_down_comes_back_when_it_has_no_gang(ends: str) -> None:
    """Its nodes are full, so the scheduler never calls filter: a condition would not bring it back."""
    async with staged(*cluster(), sim(), member(0), by_owner="Gangs") as stage:
        await call(stage)
        await stage.settle()
        assert stage.preempt(member(0), n0=["v0"]) == []
        await stage.settle()
        stage.api.pulsed.clear()
        match ends:
            case "deleted":
                stage.delete(sim())
            case "no group any longer":
                stage.add(sim(gang="false"))
            case "no gang any longer":
                stage.add(sim(0))
            case "victims":
                stage.add(namespace("Victims"))
            case _:
                stage.add(namespace("Off"))
        await stage.settle()
        assert stage.api.pulsed == ["m0"]
        await stage.settle()
        assert stage.api.pulsed == ["m0"]
