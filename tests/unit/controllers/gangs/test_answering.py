"""What the verbs learn about pods: the verdict for every phase of a gang, priorities, and pods that are bound."""

from __future__ import annotations

from typing import Any, Final

import pytest

from api.core import Pod
from api.times import rfc3339
from controllers.gangs.answering import Answering, BoundPod, Hold, Offer
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.scheduler.rejections import is_ours
from kube.errors import ApiError
from tests.kit.native_gangs import native_object, native_pod
from tests.kit.objects import BIG, gang, member, node, pod, priority_class
from tests.kit.stage import Stage, staged

EVENTS = "/apis/events.k8s.io/v1/events"
OFF: Final = PlanningConfiguration(mode="Enforce", native_groups="Off")
"""Nobody but kube-scheduler plans for its own gangs."""


def victim() -> Pod:
    return pod("v", node="n0", requests=BIG, priority=1)


def face(stage: Stage) -> Answering:
    return Answering(stage.controller, lambda: True)


def held(stage: Stage, asked: Pod) -> str:
    """Why the pod is held. It is the same text as long as nothing changes."""
    verdict = face(stage).verdict(asked)
    assert isinstance(verdict, Hold)
    assert is_ours(f"0/1 nodes are available: 1 {verdict.text}."), "as the scheduler says it"
    assert face(stage).verdict(asked) == verdict
    return verdict.text


async def notes(stage: Stage) -> list[tuple[str, str]]:
    """(pod, note) of the events about pods."""
    await stage.leading.writer.close()
    events = stage.api.of(EVENTS).values()
    return [
        (each["regarding"]["name"], each["note"]) for each in events if each["regarding"]["kind"] == "Pod"
    ]


# ---- the verdict without a gang's plan


async def test_an_ordinary_pod_is_nobodys_business() -> None:
    async with staged() as stage:
        assert face(stage).verdict(pod("p")) is None
        await stage.settle()
        assert face(stage).verdict(pod("p")) is None


async def test_pods_of_groups_of_others_pass_like_ordinary_pods() -> None:
    """Their own schedulers and controllers bring them together."""
    async with staged() as stage:
        stage.clock += 10.0  # they are not new
        await stage.settle()
        assert face(stage).verdict(pod("p", owner=("kubeflow.org/v1", "TFJob", "train"))) is None
        assert face(stage).verdict(pod("p", labels={"scheduling.x-k8s.io/pod-group": "a"})) is None
        assert await notes(stage) == []


async def test_a_pod_of_several_groups_belongs_to_the_first_and_says_so() -> None:
    async with staged(gang(), native_object("native"), configuration=OFF) as stage:
        await stage.settle()
        assert face(stage).verdict(member(schedulingGroup={"podGroupName": "native"})) is None
        assert await notes(stage) == [
            (
                "m0",
                "the pod names several groups: it belongs to podgroups.scheduling.k8s.io:native, and not to gang",
            )
        ]


async def test_a_pod_of_the_schedulers_own_groups_takes_free_room_only_beside_a_unit() -> None:
    """The gang on n0 is evicted whole or not at all, and its scheduler would evict this one pod of it."""
    whole = gang("ring", minimum=1, priority=1, mode="all")
    victim = pod("v", node="n0", requests=BIG, group="ring", priority=1)
    hero, full = native_pod("m0", requests=BIG), pod("w", node="n1", requests=BIG, priority=1)
    async with staged(
        node("n0"), node("n1"), whole, victim, full, native_object(), hero, configuration=OFF
    ) as stage:
        assert stage.filter(hero, "n0", "n1") == ["n1"], "another process may lead"
        await stage.settle()
        assert stage.filter(hero, "n0", "n1") == ["n1"], "the scheduler may evict the single pod there"
        stage.delete(victim)
        assert stage.filter(hero, "n0", "n1") == ["n0", "n1"]
        stage.silence(1000.0)
        assert stage.filter(hero, "n0", "n1") == [], "nobody knows what is on the nodes"


async def test_pods_of_gangs_wait_for_the_leader_to_know_its_plans() -> None:
    async with staged(gang(minimum=1), member()) as stage:
        assert not face(stage).decides
        assert "not ready" in held(stage, member())
        await stage.settle()
        assert face(stage).decides
        assert "not ready" not in repr(face(stage).verdict(member()))


async def test_pods_of_groups_wait_while_the_mirror_is_not_trusted() -> None:
    async with staged(node("n0"), gang(minimum=1), member()) as stage:
        await stage.settle()
        assert face(stage).verdict(member()) == Offer("n0")
        stage.silence(1000)
        assert not face(stage).decides
        assert "not ready" in held(stage, member())


async def test_a_pod_waits_for_the_group_that_its_label_names_and_an_event_says_so() -> None:
    async with staged(member(group="nowhere")) as stage:
        await stage.settle()
        assert "no PodGroup default/nowhere" in held(stage, member(group="nowhere"))
        ((name, note),) = await notes(stage)
        assert name == "m0"
        assert "PodGroup default/nowhere" in note


async def test_a_pod_of_a_basic_group_is_an_ordinary_one() -> None:
    async with staged(gang(minimum=0), member()) as stage:
        await stage.settle()
        assert face(stage).verdict(member()) is None


# ---- the verdict for every phase


async def test_gathering_members_wait_for_the_others() -> None:
    async with staged(gang(minimum=2), member()) as stage:
        await stage.settle()
        assert "waits for members" in held(stage, member())


async def test_a_gang_that_nobody_has_looked_at_yet_waits() -> None:
    async with staged() as stage:
        await stage.settle()
        stage.add(gang(minimum=2), member())
        assert "waits for members" in held(stage, member())


async def test_planned_members_wait() -> None:
    """While the plan is being written, its room is reserved and nobody has gone."""
    async with staged(node("n0"), gang(minimum=1), member(), victim()) as stage:
        texts = []

        def look(method: str, path: str) -> ApiError | None:
            if method == "POST" and path.endswith("/preemptionplans"):
                texts.append(held(stage, member()))
            return None

        stage.api.refuse = look
        await stage.settle()
        assert texts == ["reprieve: room is being freed for pod group default/gang, see its conditions"]


async def test_members_wait_while_victims_go() -> None:
    async with staged(node("n0"), gang(minimum=1), member(), victim()) as stage:
        await stage.settle()
        stage.preempt(member(), n0=[victim().metadata.uid])
        await stage.settle()
        assert stage.api.deleted == ["v"]
        assert "room is being freed" in held(stage, member())


async def test_ready_members_get_their_planned_node_and_later_ones_wait_for_them() -> None:
    nodes = [node("n0"), node("n1")]
    async with staged(*nodes, gang(minimum=2), member("m0"), member("m1")) as stage:
        await stage.settle()
        offers = [face(stage).verdict(member(name)) for name in ("m0", "m1")]
        assert sorted(repr(each) for each in offers) == [repr(Offer("n0")), repr(Offer("n1"))]
        stage.add(member("late"))
        assert "planned members" in held(stage, member("late"))


async def test_a_member_waits_for_its_turn_and_comes_back_when_those_before_it_are_bound() -> None:
    """A zone gets its second member when both zones have their first."""
    constraint = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }

    def spread(name: str, at: str = "") -> Pod:
        labels = {"app": "web"}
        return member(
            name, node=at, labels=labels, requests={"cpu": "1"}, topologySpreadConstraints=[constraint]
        )

    nodes = [node(f"n{zone}", cpu="2", labels={"zone": zone}) for zone in "ab"]
    names = [f"m{number}" for number in range(4)]
    async with staged(*nodes, gang(minimum=4), *map(spread, names)) as stage:
        await stage.settle()
        verdicts = {name: face(stage).verdict(spread(name)) for name in names}
        first = {name: each.node for name, each in verdicts.items() if isinstance(each, Offer)}
        assert sorted(first.values()) == ["na", "nb"]
        for name in names:
            if name not in first:
                assert "planned members" in held(stage, spread(name))
        assert sorted(stage.api.nominated) == sorted(first)
        one, other = first
        stage.add(spread(one, first[one]))
        await stage.settle()
        assert sum(isinstance(face(stage).verdict(spread(name)), Offer) for name in names) == 2
        stage.add(spread(other, first[other]))
        await stage.settle()
        second = [name for name in names if name not in first]
        assert all(isinstance(face(stage).verdict(spread(name)), Offer) for name in second)
        assert sorted(stage.api.nominated) == second


async def test_members_of_a_gang_that_runs_are_ordinary_pods() -> None:
    async with staged(node("n0"), gang(minimum=1), member(node="n0"), member("late")) as stage:
        await stage.settle()
        assert face(stage).verdict(member("late")) is None


async def test_members_of_a_gang_that_has_lost_one_wait_again() -> None:
    bound = [member(f"m{number}", node=f"n{number}") for number in range(2)]
    async with staged(node("n0"), node("n1"), gang(minimum=2), *bound) as stage:
        await stage.settle()
        assert face(stage).verdict(member("late")) is None
        stage.delete(bound[0])
        stage.add(member("late"))
        held(stage, member("late"))


async def test_members_that_fit_nowhere_wait() -> None:
    async with staged(node("n0", cpu="1"), gang(minimum=1), member()) as stage:
        await stage.settle()
        assert "cannot be placed now" in held(stage, member())


async def test_members_that_are_not_modelled_wait() -> None:
    asks = member(resourceClaims=[{"name": "gpu"}])
    async with staged(node("n0"), gang(minimum=1), asks, victim()) as stage:
        await stage.settle()
        assert "cannot plan for" in held(stage, asks)


# ---- what the face learns


@pytest.mark.parametrize("says", ["not offered", "preempts"])
async def test_a_scheduler_that_does_not_take_the_offer_ends_the_plan(says: str) -> None:
    """It does not find the planned node fit for more than two seconds; or it was offered it and looks for victims."""
    async with staged(node("n0"), gang(minimum=1), member()) as stage:
        await stage.settle()
        if says == "preempts":
            assert stage.filter(member(), "n0") == ["n0"]
            face(stage).preempt_called(member(), {})
        else:
            for _ in range(2):
                assert stage.filter(member(), "n1") == []
                stage.clock += 2.5
        await stage.settle()
        reasons = {each["status"]["conditions"][-1]["reason"] for each in stage.api.plans.values()}
        assert reasons == {"TurnedDown", "Unschedulable"}, "its only node is left out"


async def test_what_it_is_told_about_others_ends_no_plan() -> None:
    async with staged(node("n0"), gang(minimum=1), member()) as stage:
        await stage.settle()
        stage.filter(member(), "n0")
        face(stage).preempt_called(member("late"), {})
        face(stage).preempt_called(pod("ordinary"), {})
        face(stage).preempt_called(member(group="nowhere"), {})
        await stage.settle()
        assert stage.phases() == ["Ready"]


async def test_without_a_leader_it_is_told_in_vain() -> None:
    async with staged(gang(minimum=1), member()) as stage:
        await stage.settle()
        await stage.close()
        face(stage).held(member())
        assert face(stage).barred(pod("p"), ["n0"]) == []
        face(stage).offered(member(), among=False)
        face(stage).preempt_called(member(), {})
        face(stage).nothing_to_evict(pod("p"), {"n0": "why"})
        assert await notes(stage) == []


async def test_an_event_says_why_the_scheduler_may_evict_nobody() -> None:
    async with staged() as stage:
        await stage.settle()
        face(stage).nothing_to_evict(
            pod("p"), {"n0": "room there is reserved", "n1": "room there is reserved"}
        )
        ((name, note),) = await notes(stage)
        assert (name, note.count("room there is reserved")) == ("p", 1)


async def test_a_pod_whose_victim_is_not_known_yet_is_brought_back_on_a_quiet_cluster() -> None:
    """Our watch is behind: the scheduler has seen the victim before us. Nothing else happens afterwards."""
    waits = pod("p", priority=7)
    async with staged(node("n0"), waits) as stage:
        await stage.settle()
        face(stage).nothing_to_evict(waits, {"n0": "a victim is not known there"})
        assert stage.leading.planner._patience() == 1.0
        stage.clock += 1
        await stage.settle()
        assert stage.api.pulsed == ["p"]


# ---- priorities and bound pods


@pytest.mark.parametrize(
    ("asked", "priority"),
    [
        pytest.param(pod("p"), 0, id="no priority"),
        pytest.param(pod("p", priority=7), 7, id="its own"),
        pytest.param(member(priority=700), 100, id="its gang's"),
        pytest.param(member(priority=7), 7, id="its own, below its gang's"),
        pytest.param(member(priority=70, group="basic"), 50, id="its basic group's"),
        pytest.param(member(priority=7000, group="classed"), 1000, id="its group's class"),
        pytest.param(member(priority=7, group="odd"), 7, id="the group's class does not exist"),
        pytest.param(member(priority=7, group="nowhere"), 7, id="the group does not exist"),
    ],
)
async def test_a_pod_has_its_own_priority_or_its_groups_if_that_is_lower(asked: Pod, priority: int) -> None:
    groups = [
        gang(),
        gang("basic", minimum=0, priority=50),
        gang("classed", priority=None, priorityClassName="high"),
        gang("odd", priority=None, priorityClassName="gone"),
    ]
    async with staged(priority_class("high", 1000), *groups) as stage:
        assert face(stage).priority(asked) == priority


@pytest.mark.parametrize(
    ("there", "found"),
    [
        pytest.param(pod("p", priority=7), BoundPod(None, 7, unit_is_group=False), id="not bound yet"),
        pytest.param(
            member("p", group="whole"),
            BoundPod(None, 50, unit_is_group=True, in_group=True),
            id="not bound yet, in all mode",
        ),
        pytest.param(pod("p", node="n0", priority=7), BoundPod("n0", 7, unit_is_group=False), id="alone"),
        pytest.param(
            member("p", node="n0"),
            BoundPod("n0", 100, unit_is_group=False, in_group=True),
            id="group in single mode",
        ),
        pytest.param(
            member("p", node="n0", group="whole"),
            BoundPod("n0", 0, unit_is_group=True, in_group=True),
            id="group in all mode",
        ),
        pytest.param(
            pod("p", node="n0", priority=7, owner=("kubeflow.org/v1", "TFJob", "train")),
            BoundPod("n0", 7, unit_is_group=True, in_group=True),
            id="group of another kind",
        ),
        pytest.param(
            pod("p", node="n0", priority=7, owner=("apps/v1", "DaemonSet", "agent")),
            BoundPod("n0", 7, unit_is_group=False, kept=True),
            id="pod of a DaemonSet",
        ),
        pytest.param(
            pod("p", node="n0", priority=7, mirror=True),
            BoundPod("n0", 7, unit_is_group=False, kept=True),
            id="static pod",
        ),
        pytest.param(member("p", node="n0", group="odd"), None, id="the group's class does not exist"),
        pytest.param(
            pod("p", node="n0", priority=7, deleting=True),
            BoundPod("n0", 0, unit_is_group=False, leaving=True),
            id="terminating",
        ),
        pytest.param(pod("p", priority=7, deleting=True), None, id="terminating and not bound"),
        pytest.param(pod("q", node="n0"), None, id="another pod"),
    ],
)
async def test_what_is_said_of_bound_pods(there: Pod, found: BoundPod | None) -> None:
    groups = [
        gang(),
        gang("whole", mode="all", priority=50),
        gang("odd", priority=None, priorityClassName="gone"),
    ]
    async with staged(node("n0"), *groups, there) as stage:
        assert face(stage).bound("uid-default-p") == found


# ---- pods of a gang that are also in a basic group of kube-scheduler's own kind


async def test_a_basic_native_group_takes_no_pod_from_its_gang() -> None:
    """Nor does it make the pod ambiguous. It may come later, and it may be another one under the same name."""
    twice = [member(number, schedulingGroup={"podGroupName": "basic"}) for number in range(2)]
    async with staged(node("n0"), node("n1"), gang(), configuration=OFF) as stage:
        stage.clock += 10.0  # the pods are not new
        await stage.settle()
        assert face(stage).verdict(twice[0]) is None, "it may be a gang"
        basic, whole = native_object("basic", minimum=0), native_object("basic")
        for is_basic in (True, False, True):
            stage.add(basic if is_basic else whole)
            assert isinstance(face(stage).verdict(twice[0]), Hold) is is_basic
        stage.add(*twice)
        await stage.settle()
        assert [stage.filter(each, "n0", "n1") for each in twice] in ([["n0"], ["n1"]], [["n1"], ["n0"]])
        assert len([note for _, note in await notes(stage) if "several groups" in note]) == 1, "of the gang"


async def test_a_new_pod_waits_for_the_object_of_its_native_group() -> None:
    """A scheduler may hear of the group and its pod before we do."""
    async with staged(gang(), configuration=OFF) as stage:
        await stage.settle()
        new = newborn(stage, schedulingGroup={"podGroupName": "basic"})
        assert "podgroups.scheduling.k8s.io:basic is not known yet" in held(stage, new)
        assert (
            face(stage).verdict(newborn(stage, group=None, schedulingGroup={"podGroupName": "basic"})) is None
        )
        stage.add(native_object("basic"))
        assert face(stage).verdict(new) is None, "a gang of the scheduler's own"


def newborn(stage: Stage, **fields: Any) -> Pod:
    return member(created=rfc3339(stage.api.clock.wall()), **fields)


@pytest.mark.parametrize("policy", ["basic", "gang", "Never"])
async def test_a_pod_of_a_basic_native_group_takes_a_unit_whole(policy: str) -> None:
    """Its scheduler never asks preempt for it. A gang of that kind is not planned for here."""
    ring = gang("ring", minimum=1, priority=1, mode="all")
    victims = [
        pod(f"v{number}", node=f"n{number}", requests=BIG, group="ring", priority=1) for number in (0, 1)
    ]
    its = native_object(
        minimum=int(policy == "gang"), preemptionPolicy="Never" if policy == "Never" else None
    )
    hero = native_pod("m0", requests=BIG)
    async with staged(node("n0"), node("n1"), ring, *victims, its, hero, configuration=OFF) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.filter(hero, "n0", "n1") == []
        await stage.settle()
        if policy != "basic":
            assert (stage.phases(), stage.api.deleted) == ([], [])
            return
        assert sorted(stage.api.deleted) == ["v0", "v1"]
        assert stage.filter(hero, "n0", "n1") == [], "they are not gone yet"
        stage.delete(*victims)
        await stage.settle()
        assert stage.phases() == ["Ready"]
        assert stage.filter(hero, "n0", "n1") in (["n0"], ["n1"])


async def test_a_pod_of_a_basic_native_group_gets_no_plan_while_there_is_another_node() -> None:
    ring = gang("ring", minimum=1, priority=1, mode="all")
    victim = pod("v", node="n0", requests=BIG, group="ring", priority=1)
    hero = native_pod("m0", requests=BIG)
    async with staged(node("n0"), node("n1"), ring, victim, native_object(minimum=0), hero) as stage:
        await stage.settle()
        assert stage.filter(hero, "n0", "n1") == ["n1"]
        await stage.settle()
        assert stage.phases() == []


async def test_a_nominated_node_alone_is_no_reason_for_a_plan() -> None:
    """The scheduler asks about it first, and then about all nodes."""
    ring = gang("ring", minimum=1, priority=1, mode="all")
    victim = pod("v", node="n0", requests=BIG, group="ring", priority=1)
    hero = native_pod("m0", requests=BIG, nominated="n0")
    async with staged(node("n0"), node("n1"), ring, victim, native_object(minimum=0), hero) as stage:
        await stage.settle()
        assert stage.filter(hero, "n0") == []
        await stage.settle()
        assert stage.phases() == []
        assert stage.filter(hero, "n0", "n1") == ["n1"]


async def test_a_later_member_of_a_gang_gets_no_plan_of_its_own() -> None:
    """It is also in a basic native group."""
    ring = gang("ring", minimum=1, priority=1, mode="all")
    victim = pod("v", node="n0", requests=BIG, group="ring", priority=1)
    basic: dict[str, Any] = {"schedulingGroup": {"podGroupName": "basic"}}
    first, later = member(0, node="n1", **basic), member(1, **basic)
    there = [node("n0"), node("n1"), ring, victim, gang(minimum=1, has_run=True)]
    async with staged(*there, native_object("basic", minimum=0), first, later) as stage:
        await stage.settle()
        assert stage.filter(later, "n0") == []
        await stage.settle()
        assert (stage.phases(), stage.api.deleted) == ([], [])
