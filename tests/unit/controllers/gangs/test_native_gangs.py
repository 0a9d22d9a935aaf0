"""Gangs of kube-scheduler's own kind, live: with `planning.nativeGroups: Drive` they preempt as ours do."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from api.core import Pod
from api.foreign_groups import NativePodGroup
from api.groups import SCHEDULING_GATE
from api.plans import Preemptor
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.lifecycle.effects import Advance, NominateFirst
from controllers.gangs.lifecycle.life import ActivePlan, Life, PlannedPod
from controllers.gangs.lifecycle.observations import Failed, Nominated, Stored
from controllers.gangs.lifecycle.settings import SETTLED_SECONDS
from kube.errors import ApiError
from tests.kit.eviction_stage import impatient
from tests.kit.native_gangs import native_pod
from tests.kit.objects import make, node, pod
from tests.kit.stage import Stage, staged
from tests.unit.controllers.gangs.lives import Gang, decided, in_phase, kinds

__all__ = ["impatient"]

BIG = {"cpu": "4"}
KEY = ("default", "podgroups.scheduling.k8s.io:gang")
DRIVE = PlanningConfiguration(mode="Enforce", native_groups="Drive")
OFF = PlanningConfiguration(mode="Enforce", native_groups="Off")


def group(
    minimum: int = 2, priority: int = 100, *, status: dict[str, Any] | None = None, **spec: Any
) -> NativePodGroup:
    body = {
        "metadata": {"name": "gang", "namespace": "default", "uid": "uid-gang", "generation": 1},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, "priority": priority, **spec},
        "status": status,
    }
    return make(NativePodGroup, body)


def member(name: str, **fields: Any) -> Pod:
    return native_pod(name, **{"requests": BIG, **fields})


def cluster(nodes: int = 2) -> list[Any]:
    """Nodes, and a pod on each that fills it."""
    there = [node(f"n{number}") for number in range(nodes)]
    return [
        *there,
        *(pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1) for number in range(nodes)),
    ]


def said(stage: Stage) -> dict[str, str]:
    """The last note of each reason that events of the PodGroup give."""
    stored = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return {each["reason"]: each["note"] for each in stored if each["regarding"]["kind"] == "PodGroup"}


def tried(stage: Stage, named: Pod, *nodes: str) -> list[str]:
    """Where filter lets a member in the real pass of an attempt. An attempt comes a backoff after the last one."""
    stage.clock += 1.1
    return stage.filter(named, *nodes)


async def begun(stage: Stage, *schedulers: str) -> None:
    """These schedulers have called us, and the default one has."""
    await stage.settle()
    for each in ("default-scheduler", *schedulers):
        stage.filter(pod("caller", priority=1, requests={"cpu": "0"}, schedulerName=each), "n0")
    await stage.settle()


async def test_it_is_planned_for_as_one() -> None:
    async with staged(*cluster(), group(), member("m0"), configuration=DRIVE) as stage:
        await stage.settle()
        assert stage.filter(member("m0"), "n0", "n1") == [], "it waits for its sibling"
        assert stage.api.plans == {}
        stage.add(member("m1"))
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]
        [plan] = stage.api.plans.values()
        assert plan["spec"]["preemptor"] == {
            "kind": "PodGroup",
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "namespace": "default",
            "name": KEY[1],
            "uid": "uid-gang",
            "priority": 100,
        }
        assert (plan["spec"]["evictedBy"], plan["spec"]["evictorReason"]) == ("Reprieve", "DriveMode")
        assert not any("/podgroups/" in each.path for each in stage.api.written), "its status is not ours"
        assert "Preempting" in said(stage)


async def test_it_is_no_preemptor_with_off() -> None:
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=OFF) as stage:
        await stage.settle()
        assert (stage.api.deleted, stage.api.plans) == ([], {})
        assert stage.filter(member("m0"), "n0", "n1") == ["n0", "n1"]


async def test_it_counts_once_its_scheduler_has_called_us() -> None:
    objects = [*cluster(), group(), member("m0"), member("m1")]
    async with staged(*objects, configuration=DRIVE) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.api.plans == {}
        stage.filter(pod("other", priority=1), "n0")
        await stage.settle()
        assert stage.phases() == ["Planned"]


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "gate": ({}, {"gated": True}, "SchedulingGated", "1 pod has a scheduling gate of another"),
    "priority": ({}, {"priority": 50}, "PriorityMismatch", "pod m2 has priority 50, and its PodGroup has 100"),
    "policy": ({}, {"preemptionPolicy": "Never"}, "PriorityMismatch", "pod m2 has preemptionPolicy Never"),
    "scheduler": ({}, {"schedulerName": "other"}, "SchedulerMismatch", "its pods name 2 schedulers"),
    "part": ({"parentCompositePodGroupName": "all"}, {}, "CompositePodGroup", "a part of CompositePodGroup all"),
}  # fmt: skip


@pytest.mark.parametrize("why", WRONG)
async def test_nothing_is_planned_while_the_scheduler_would_not_try_it(why: str) -> None:
    """A third member, beyond minCount, is enough: the scheduler tries all or none."""
    spec, fields, reason, text = WRONG[why]
    objects = [*cluster(), group(**spec), member("m0"), member("m1")]
    async with staged(*objects, member("m2", **fields), configuration=DRIVE) as stage:
        await begun(stage, "other")
        assert (stage.api.deleted, stage.api.plans, stage.reserved) == ([], {}, 0)
        assert text in said(stage)[reason]
        assert stage.filter(member("m0"), "n0", "n1") == []
        if why == "part":
            stage.add(group())
        else:
            stage.delete(member("m2"))
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]


async def test_a_plan_that_has_not_begun_ends_when_the_scheduler_does_not_try_the_gang_any_longer() -> None:
    objects = [*cluster(), group(), member("m0"), member("m1")]
    async with staged(*objects, configuration=DRIVE) as stage:
        stage.agrees = False
        await begun(stage)
        assert stage.phases() == ["Planned"]
        stage.add(member("m2", gated=True))
        await stage.settle()
        assert (stage.phases(), stage.reserved) == (["Aborted"], 0)


async def test_its_condition_does_not_say_that_it_has_run() -> None:
    """The scheduler writes PodGroupInitiallyScheduled before the bindings, and one of them may fail."""
    true = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}
    objects = [
        *cluster(),
        group(status={"conditions": [true]}),
        member("m0", node="n1", requests={"cpu": "0"}),
    ]
    async with staged(*objects, configuration=DRIVE) as stage:
        await begun(stage)
        assert stage.controller.known.mirror.roster.minimum(KEY) == 2
        stage.add(member("m1"))
        await stage.settle()
        assert stage.api.deleted == ["v0"], "its second member is planned for"


@pytest.mark.parametrize("mode", ["Drive", "Steer"])
@pytest.mark.parametrize("complete", [True, False])
async def test_nothing_is_written_to_pods_of_a_gang_that_waits(mode: Any, complete: bool) -> None:
    """No condition brings them back, so nobody would withdraw what it says of why they wait."""
    configuration = PlanningConfiguration(mode="Enforce", native_groups=mode)
    members = [member("m0"), member("m1")][: 1 + complete]
    async with staged(*cluster(1), group(), *members, configuration=configuration) as stage:
        await begun(stage)
        for _ in range(6):
            stage.clock += 1.0
            await stage.settle()
        assert ("Unschedulable" if complete else "Gathering") in said(stage)
        assert writes_to_pods(stage) == []


# ---- a driven plan


def writes_to_pods(stage: Stage) -> list[tuple[str, str, Any]]:
    """Method, pod and body of each write to a pod or its status, in order."""
    written = [each for each in stage.api.written if "/pods/" in each.path]
    return [
        (each.method, each.path.removesuffix("/status").rpartition("/")[2], each.body) for each in written
    ]


def nominations(stage: Stage) -> list[str]:
    found = [(name, body) for method, name, body in writes_to_pods(stage) if method == "PATCH"]
    return [
        name
        for name, body in found
        if isinstance(body, dict) and "nominatedNodeName" in body.get("status", {})
    ]


async def driven(stage: Stage) -> dict[str, str]:
    """The gang's victims have gone, and its plan is Ready. Returns the planned node by member."""
    await begun(stage)
    [plan] = stage.api.plans.values()
    for each in cluster():
        if isinstance(each, Pod):
            stage.delete(each)
    await stage.settle()
    assert stage.phases() == ["Ready"]
    return {each["pod"]: each["node"] for each in plan["spec"]["placements"]}


async def test_all_members_are_nominated_before_the_first_deletion() -> None:
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=DRIVE) as stage:
        await begun(stage)
        [plan] = stage.api.plans.values()
        placed = {each["pod"]: each["node"] for each in plan["spec"]["placements"]}
        assert stage.api.nominated == placed
        order = [
            (method, name)
            for method, name, body in writes_to_pods(stage)
            if method == "DELETE"
            or (isinstance(body, dict) and "nominatedNodeName" in body.get("status", {}))
        ]
        assert sorted(order[:2]) == [("PATCH", "m0"), ("PATCH", "m1")]
        assert sorted(order[2:4]) == [("DELETE", "v0"), ("DELETE", "v1")]


@pytest.mark.usefixtures("impatient")
async def test_nothing_is_evicted_before_every_nomination_is_written() -> None:
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=DRIVE) as stage:
        away = True

        def refuse(method: str, path: str) -> ApiError | None:
            is_nomination = method == "PATCH" and path.endswith("/m1/status")
            return ApiError(503, "ServiceUnavailable", "away") if away and is_nomination else None

        stage.api.refuse = refuse
        await begun(stage)
        assert (stage.phases(), stage.api.deleted) == (["Confirmed"], [])
        away = False
        stage.clock += 1.0
        stage.leading.planner._following.stir_plans()
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]


async def test_its_members_are_held_until_the_room_is_free_and_then_offered_their_nodes() -> None:
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=DRIVE) as stage:
        await begun(stage)
        assert stage.phases() == ["Evicting"]
        assert tried(stage, member("m0"), "n0", "n1") == []
        placed = await driven(stage)
        for name, where in placed.items():
            assert tried(stage, member(name), "n0", "n1") == [where]
            stage.add(member(name, node=where))
        await stage.settle()
        assert stage.phases() == ["Bound"]
        assert stage.controller.known.promises.reservations.claims(KEY) == {}


@pytest.mark.parametrize("bound", [False, True])
async def test_members_are_not_offered_room_that_the_scheduler_does_not_find(bound: bool) -> None:
    """Where a more important pod is nominated it finds none, until it supposes that pods of lower priority are gone."""
    objects = [node("n0", cpu="8"), pod("small", node="n0", requests=BIG, priority=1)]
    async with staged(*objects, group(minimum=1), member("m0"), configuration=DRIVE) as stage:
        await begun(stage)
        assert (stage.phases(), stage.api.nominated) == (["Ready"], {"m0": "n0"})
        assert tried(stage, member("m0", nominated="n0"), "n0") == ["n0"]
        node_name, nominated = ("n0", "") if bound else ("", "n0")
        stage.add(pod("other", priority=1000, requests=BIG, node=node_name, nominated=nominated))
        assert tried(stage, member("m0", nominated="n0"), "n0") == []
        stage.delete(pod("other"))
        assert tried(stage, member("m0", nominated="n0"), "n0") == ["n0"]


async def test_a_pass_that_the_scheduler_simulates_is_held() -> None:
    """It has not found room for m1, whatever we see. It supposes now that pods of lower priority are gone."""
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=DRIVE) as stage:
        placed = await driven(stage)
        first, second = (member(name, nominated=placed[name]) for name in ("m0", "m1"))
        assert tried(stage, first, placed["m0"]) == [placed["m0"]]
        assert stage.filter(second, "n7") == [], "its node is full for the scheduler"
        assert stage.filter(first, placed["m0"]) == []
        assert stage.filter(second, placed["m1"]) == []
        assert tried(stage, first, placed["m0"]) == [placed["m0"]]
        assert stage.filter(second, placed["m1"]) == [placed["m1"]]


async def test_nothing_brings_its_members_back() -> None:
    """The scheduler tries the group by its backoff alone, whatever is written to its pods."""
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=DRIVE) as stage:
        await begun(stage)
        for name in ("m0", "m1"):
            assert stage.filter(member(name), "n0", "n1") == []
        await driven(stage)
        for _ in range(20):
            stage.clock += 5.0
            await stage.settle(2)
        assert stage.phases() == ["Ready"]
        assert (stage.api.woken, stage.api.pulsed) == ([], [])


async def test_an_attempt_that_fails_does_not_end_a_plan_that_is_ready() -> None:
    """The scheduler may not have seen yet that a victim has gone, and its next attempt may be far."""
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=DRIVE) as stage:
        placed = await driven(stage)
        for _ in range(3):
            assert stage.filter(member("m0"), placed["m0"]) == [placed["m0"]]
            assert stage.filter(member("m1"), placed["m0"]) == []
            failed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            for name in placed:
                stage.add(member(name, conditions=[failed | {"message": f"0/2 nodes at {stage.clock}"}]))
            stage.clock += 20.0
            await stage.settle()
        assert stage.phases() == ["Ready"]
        assert stage.api.nominated == placed, "a failed attempt clears them"


@pytest.mark.parametrize(("members", "seconds"), [(2, 300.0), (1600, 800.0)])
def test_a_plan_that_is_ready_lasts_for_two_attempts(members: int, seconds: float) -> None:
    planned = {f"u{each}": PlannedPod(f"u{each}", f"m{each}", "n", {}) for each in range(members)}
    preemptor = Preemptor("PodGroup", "scheduling.k8s.io/v1beta1", *KEY, "uid-gang", 100)
    spec = replace(decided().spec, preemptor=preemptor)
    plan = ActivePlan(
        name="p", spec=spec, members=planned, deadline=300.0, phase="Evicting", stored=True, writing="Ready"
    )
    gang = Gang(Life(phase="Evicting", plan=plan))
    gang(Stored("Ready"))
    unbound = frozenset(planned)
    assert gang.ending(after=seconds - 1.0, unbound=unbound) == ""
    assert gang.ending(after=1.0, unbound=unbound) == "DeadlineExceeded"


async def test_members_beyond_min_count_get_free_room_only() -> None:
    """The scheduler presents them with all pods of lower priority gone: a node that it names need not be free."""
    names = [f"m{number}" for number in range(5)]
    objects = [*cluster(), node("n2"), pod("v2", node="n2", requests=BIG, priority=1), node("n3")]
    async with staged(*objects, group(), *map(member, names), configuration=DRIVE) as stage:
        await stage.settle()
        stage.add(member("m0", node="n3"))
        stage.filter(pod("other", priority=1, requests={"cpu": "0"}), "n0")
        await stage.settle()
        [plan] = stage.api.plans.values()
        [placement] = [each for each in plan["spec"]["placements"] if not each.get("beyondMinCount")]
        assert tried(stage, member("m4"), "n0", "n1", "n2", "n4") == [], "held while there is a plan"
        stage.delete(pod(f"v{placement['node'][1:]}"))
        await stage.settle()
        stage.add(member(placement["pod"], node=placement["node"]))
        await stage.settle()
        assert stage.phases() == ["Bound"]
        third, fourth = [each for each in names[1:] if each != placement["pod"]][:2]
        full = [each for each in ("n0", "n1", "n2") if each != placement["node"]]
        assert tried(stage, member(third), *full) == []
        stage.add(node("n4"))
        await stage.settle()
        assert tried(stage, member(third), *full, "n4") == ["n4"]
        assert tried(stage, member(fourth), *full, "n4") == [], "what one was offered counts against the next"
        assert tried(stage, member(third), *full, "n4") == ["n4"], "and not against itself"
        assert len(stage.api.deleted) == 1


async def _with_a_late_member(stage: Stage) -> None:
    """m0 and m1 run on n0 and n1, and m2 comes by. n4 has room for two of them."""
    stage.add(
        *cluster(),
        node("n4", cpu="8"),
        group(),
        member("m0", node="n0"),
        member("m1", node="n1"),
        member("m2"),
    )
    await stage.settle()


async def test_members_beyond_min_count_are_held_in_a_pass_that_the_scheduler_simulates() -> None:
    """Its attempt began before the room was free."""
    async with staged(configuration=DRIVE) as stage:
        await _with_a_late_member(stage)
        stage.add(pod("other", requests=BIG, node="n4"), pod("last", requests=BIG, node="n4"))
        assert tried(stage, member("m2"), "n4") == []
        stage.delete(pod("other"))
        assert stage.filter(member("m2"), "n4") == []
        assert tried(stage, member("m2"), "n4") == ["n4"]


@pytest.mark.parametrize(("priority", "left"), [(99, ["n4"]), (100, []), (101, [])])
async def test_members_beyond_min_count_do_not_count_with_the_room_of_nominated_pods(
    priority: int, left: list[str]
) -> None:
    """The scheduler counts with them, and finds n4 full until it supposes that pods of lower priority are gone."""
    async with staged(configuration=DRIVE) as stage:
        await _with_a_late_member(stage)
        others = [pod(f"o{each}", requests=BIG, priority=priority, nominated="n4") for each in range(2)]
        stage.add(others[0])
        await stage.settle()
        assert tried(stage, member("m2"), "n4") == ["n4"]
        stage.add(others[1])
        await stage.settle()
        assert tried(stage, member("m2"), "n4") == left
        stage.delete(others[0])
        await stage.settle()
        assert tried(stage, member("m2"), "n4") == ["n4"]


async def test_members_beyond_min_count_do_not_count_with_room_that_others_may_have_taken() -> None:
    """A pod that came by is bound before our watch shows it."""
    async with staged(configuration=DRIVE) as stage:
        await _with_a_late_member(stage)
        other, last = pod("other", requests=BIG, priority=1), pod("last", requests=BIG, priority=1)
        assert stage.filter(other, "n4", "n5") == ["n4", "n5"]
        assert tried(stage, member("m2"), "n4") == ["n4"], "there is room for both"
        assert stage.filter(last, "n4", "n5") == ["n4", "n5"]
        assert tried(stage, member("m2"), "n4") == []
        stage.add(pod("last", requests=BIG, priority=1, node="n5"))
        assert tried(stage, member("m2"), "n4") == ["n4"]
        stage.add(pod("other", requests=BIG, priority=1, node="n4"))
        assert tried(stage, member("m2"), "n4") == ["n4"]
        stage.filter(pod("third", requests=BIG, priority=1), "n4", "n5")
        assert tried(stage, member("m2"), "n4") == []
        stage.clock += 11.0
        assert tried(stage, member("m2"), "n4") == ["n4"], "it would have been bound long ago"


async def test_a_new_process_nominates_again_before_it_evicts() -> None:
    objects = [*cluster(), group(), member("m0"), member("m1")]
    async with staged(*objects, configuration=DRIVE) as stage:
        stage.agrees = False
        await begun(stage)
        assert (stage.phases(), stage.api.nominated) == (["Planned"], {})
        again = stage.restart()
        again.add(*objects)
        await again.settle()
        assert again.api.nominated == {}, "the scheduler may be evicting for the gang"
        again.clock += SETTLED_SECONDS
        again.leading.planner._following.stir_plans()
        await again.settle()
        assert sorted(again.api.deleted) == ["v0", "v1"]
        assert len(again.api.nominated) == 2
        await again.close()


async def test_one_member_speaks_for_its_class() -> None:
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=DRIVE) as stage:
        stage.agrees = False
        await begun(stage)
        assert stage.phases() == ["Planned"]
        assert stage.filter(member("m1"), "n0") == []
        await stage.settle()
        assert stage.phases() == ["Planned"], "one node has not been named"
        assert stage.filter(member("m1"), "n0", "n1") == []
        await stage.settle()
        assert stage.phases() == ["Evicting"]


async def test_a_node_that_an_attempt_does_not_name_contradicts_nothing() -> None:
    """The first list of an attempt has free nodes only, and looks like a whole one."""
    async with staged(*cluster(), group(), member("m0"), member("m1"), configuration=DRIVE) as stage:
        stage.agrees = False
        await begun(stage)
        stage.clock += 2.0
        stage.filter(member("m0"), "n7")
        failed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        text = "0/2 nodes are available: preemption: 0/2 nodes are available: 2 No preemption victims found."
        stage.add(member("m0", conditions=[failed | {"message": text}]))
        await stage.settle()
        assert stage.phases() == ["Planned"]


# ---- our scheduling gate


def gated(name: str) -> Pod:
    return member(name, schedulingGates=[{"name": SCHEDULING_GATE}])


async def test_gates_go_from_all_members_once_enough_exist() -> None:
    async with staged(*cluster(), group(), gated("m0"), configuration=DRIVE) as stage:
        await begun(stage)
        assert stage.api.ungated == []
        stage.add(gated("m1"))
        await stage.settle()
        assert sorted(stage.api.ungated) == ["m0", "m1"]
        assert sorted(stage.api.deleted) == ["v0", "v1"]


@pytest.mark.parametrize("fits", [True, False])
async def test_until_planned_gates_stay_on_a_gang_that_fits_nowhere(fits: bool) -> None:
    until_planned = PlanningConfiguration(mode="Enforce", native_groups="Drive", gates="UntilPlanned")
    async with staged(*cluster(2 if fits else 1), group(), configuration=until_planned) as stage:
        await begun(stage)
        stage.add(gated("m0"), gated("m1"))
        await stage.settle()
        assert sorted(stage.api.ungated) == (["m0", "m1"] if fits else [])
        assert sorted(stage.api.deleted) == (["v0", "v1"] if fits else [])


async def test_until_planned_a_scheduler_that_has_not_called_yet_gets_the_members() -> None:
    """Nothing is planned for them before it calls, and it calls for nobody else."""
    until_planned = PlanningConfiguration(mode="Enforce", native_groups="Drive", gates="UntilPlanned")
    async with staged(*cluster(), group(), gated("m0"), configuration=until_planned) as stage:
        await stage.settle()
        assert stage.api.ungated == []
        stage.add(gated("m1"))
        await stage.settle()
        assert sorted(stage.api.ungated) == ["m0", "m1"]


async def test_gates_go_from_pods_that_are_not_planned_for() -> None:
    async with staged(*cluster(), group(), gated("m0"), configuration=OFF) as stage:
        await stage.settle()
        stage.clock += 3.0
        await stage.settle()
        assert stage.api.ungated == ["m0"]


def test_nominations_are_written_again_after_a_fault_of_ours() -> None:
    preemptor = Preemptor("PodGroup", "scheduling.k8s.io/v1beta1", *KEY, "uid-gang", 100)
    confirmed = in_phase("Confirmed")
    plan = dataclasses.replace(confirmed.plan, spec=replace(confirmed.plan.spec, preemptor=preemptor))
    gang = Gang(Life(phase="Confirmed", plan=plan))
    assert kinds(gang.looks()) == [NominateFirst]
    assert gang.looks() == []
    gang(Failed())
    assert gang.looks(after=0.5) == []
    assert kinds(gang.looks(after=0.6)) == [NominateFirst]
    gang(Nominated(done=True))
    assert kinds(gang.looks()) == [Advance]
