"""The checks of a cluster at rest find what they look for, each in a forged cluster, and nothing in a clean one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.stress import rest
from tests.kit.stress.rest import Rest
from tests.unit.kit.forged import Json, group, node, plan, pod


def at_rest(*objects: Json) -> Rest:
    def of(kind: str) -> list[Json]:
        return [each for each in objects if each["kind"] == kind]

    return Rest(of("Pod"), of("Node"), of("PodGroup"), of("PreemptionPlan"), [])


def check(name: str, *objects: Json) -> list[str]:
    wrong: list[str] = getattr(rest, name)(at_rest(*objects))
    return wrong


def waiting(name: str, group_name: str | None = None, **spec: Any) -> Json:
    body = pod(name, node=None, group=group_name)
    return {**body, "spec": {**body["spec"], **spec}}


def nominated(body: Json, where: str) -> Json:
    return {**body, "status": {**body["status"], "nominatedNodeName": where}}


def leaving(body: Json) -> Json:
    return {**body, "metadata": {**body["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def gang(count: int, minimum: int, *, bound: int = 0, **spec: Any) -> list[Json]:
    members = [waiting(f"m{each}", "hero", **spec) for each in range(count)]
    running = [pod(f"b{each}", group="hero") for each in range(bound)]
    hero = group("hero", 100, minimum=minimum)
    hero["status"] = {"members": count + bound, "boundMembers": bound, "requiredMembers": minimum}
    return [hero, *members, *running]


def test_a_clean_cluster_passes_every_check() -> None:
    objects = [
        node("n0"),
        pod("a"),
        pod("b"),
        waiting("too-many"),
        *gang(2, 2),
        plan("old", "Bound"),
        plan("no", "Unschedulable"),
    ]
    around = at_rest(*objects)
    assert [wrong for each in rest.CHECKS for wrong in each(around)] == []


def test_a_pod_waits_though_it_fits() -> None:
    assert check("waiting_though_it_fits", node("n0"), pod("a"), waiting("b")) == [
        "pod d/b waits though it fits on n0"
    ]


def test_a_pod_of_a_basic_group_waits_though_it_fits() -> None:
    basic = group("hero", 100)
    basic["spec"]["schedulingPolicy"] = {"basic": {}}
    assert len(check("waiting_though_it_fits", node("n0"), basic, waiting("b", "hero"))) == 1


@pytest.mark.parametrize(
    "other",
    [
        pod("b"),
        leaving(pod("b")),
        nominated(waiting("b", schedulerName="other"), "n0"),
        {
            **plan("p", "Ready"),
            "spec": {**plan("p", "Ready")["spec"], "placements": [{"pod": "b", "node": "n0"}]},
        },
    ],
    ids=["bound", "leaving", "nominated", "planned"],
)
def test_room_that_is_used_or_promised_is_not_free(other: Json) -> None:
    promised = [waiting("b", schedulerName="other")] if other["kind"] == "PreemptionPlan" else []
    assert check("waiting_though_it_fits", node("n0", cpu="1"), other, *promised, waiting("c")) == []


@pytest.mark.parametrize(
    "spec",
    [{"schedulerName": "other"}, {"schedulingGates": [{"name": "g"}]}, {"nodeSelector": {"a": "b"}}],
    ids=["scheduler", "gate", "selector"],
)
def test_a_pod_that_must_wait(spec: dict[str, Any]) -> None:
    assert check("waiting_though_it_fits", node("n0"), waiting("a", **spec)) == []


def test_a_pod_whose_group_does_not_exist_waits_for_it() -> None:
    assert check("waiting_though_it_fits", node("n0"), waiting("a", "nobody")) == []


@pytest.mark.parametrize(
    "spec",
    [{"unschedulable": True}, {"taints": [{"key": "a", "effect": "NoSchedule"}]}],
    ids=["cordon", "taint"],
)
def test_a_node_that_takes_nobody(spec: dict[str, Any]) -> None:
    assert check("waiting_though_it_fits", {**node("n0"), "spec": spec}, waiting("a")) == []


def test_a_gang_waits_though_it_fits() -> None:
    assert check("waiting_though_it_fits", node("n0"), *gang(2, 2)) == [
        "gang d/hero waits though it fits: ['m0', 'm1']"
    ]


def test_the_rest_of_a_gang_waits_though_it_fits() -> None:
    assert len(check("waiting_though_it_fits", node("n0", cpu="3"), *gang(1, 2, bound=1))) == 1


def test_a_later_member_of_a_gang_that_runs_waits_though_it_fits() -> None:
    assert check("waiting_though_it_fits", node("n0"), *gang(1, 1, bound=1)) == [
        "pod d/m0 waits though it fits on n0"
    ]
    assert check("waiting_though_it_fits", node("n0", cpu="1"), *gang(1, 1, bound=1)) == []


def test_a_later_member_does_not_leave_the_domain_of_its_gang() -> None:
    near, far = node("n0", cpu="1"), node("n1")
    for each in (near, far):
        each["metadata"]["labels"]["rack"] = each["metadata"]["name"]
    hero, *members = gang(1, 1, bound=1)
    hero["spec"]["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    assert check("waiting_though_it_fits", near, far, hero, *members) == []


@pytest.mark.parametrize(
    "objects",
    [
        gang(1, 2),
        gang(3, 3),
        gang(2, 2, schedulerName="other"),
        [*gang(2, 2), leaving(pod("b"))],
    ],
    ids=["incomplete", "too large", "scheduler", "full"],
)
def test_a_gang_that_must_wait(objects: list[Json]) -> None:
    assert check("waiting_though_it_fits", node("n0"), *objects) == []


def test_a_gang_waits_for_room_in_one_domain() -> None:
    parts = [node(f"n{each}", cpu="1") for each in range(2)]
    for each in parts:
        each["metadata"]["labels"]["rack"] = each["metadata"]["name"]
    hero, *members = gang(2, 2)
    assert len(check("waiting_though_it_fits", *parts, hero, *members)) == 1
    hero["spec"]["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    assert check("waiting_though_it_fits", *parts, hero, *members) == []


def test_a_gang_does_without_a_node_that_its_plan_excludes() -> None:
    decision = plan("p", "Unschedulable")
    decision["spec"]["excluded"] = [{"pod": "d/m0", "node": "n0", "seen": "refused"}]
    assert check("waiting_though_it_fits", node("n0"), *gang(2, 2), decision) == []


@pytest.mark.parametrize("phase", ["Planned", "Confirmed", "Evicting", "Ready"])
def test_room_is_reserved_for_a_group_that_is_gone(phase: str) -> None:
    assert check("room_for_nobody", plan("p", phase)) == ["plan d/p is active, its PodGroup is gone"]


def test_room_is_reserved_for_an_older_group_of_the_name() -> None:
    other = group("hero", 100)
    other["metadata"]["uid"] = "uid-other"
    assert len(check("room_for_nobody", other, waiting("m", "hero"), plan("p", "Ready"))) == 1


def test_room_is_reserved_for_pods_that_are_bound_or_gone() -> None:
    hero = group("hero", 100)
    assert len(check("room_for_nobody", hero, pod("m", group="hero"), plan("p", "Ready"))) == 1
    assert len(check("room_for_nobody", hero, plan("p", "Ready"))) == 1
    assert check("room_for_nobody", hero, waiting("m", "hero"), plan("p", "Ready")) == []


def test_an_ended_plan_keeps_its_finalizer() -> None:
    ended = plan("p", "Bound")
    ended["metadata"]["finalizers"] = ["reprieve.dev/active-plan"]
    assert check("room_for_nobody", ended) == ["plan d/p has ended and keeps its finalizer"]


def test_a_member_without_a_plan_is_nominated() -> None:
    hero, member = gang(1, 1)
    said = ["pod d/m0 is nominated to n0, and no plan places it"]
    member = nominated(member, "n0")
    ready = plan("p", "Ready")
    ready["spec"]["placements"] = [{"pod": "m0", "uid": "uid-m0", "node": "n0"}]
    ended = {**ready, "status": {"phase": "Aborted"}}
    assert check("nominated_for_nothing", hero, member) == said
    assert check("nominated_for_nothing", hero, member, ended) == said
    assert check("nominated_for_nothing", member) == said, "its group is gone"
    assert check("nominated_for_nothing", hero, member, ready) == []
    assert check("nominated_for_nothing", hero, member, pod("b", group="hero")) == [], "the gang runs"
    assert check("nominated_for_nothing", nominated(waiting("single"), "n0")) == []


def test_a_pod_is_marked_and_alive() -> None:
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "PodGroup d/hero preempts this pod",
    }
    marked = pod("a")
    marked["status"]["conditions"] = [mark]
    assert check("marked_but_alive", marked) == ["pod d/a says: PodGroup d/hero preempts this pod"]
    assert check("marked_but_alive", leaving(marked)) == []


def test_a_pulse_is_left() -> None:
    assert check("pulses_left", nominated(waiting("a"), "pulse.reprieve.invalid")) == [
        "pod d/a is nominated to pulse.reprieve.invalid"
    ]
    assert check("pulses_left", nominated(waiting("a"), "n0")) == []


def test_a_pod_that_has_to_be_bound() -> None:
    around = at_rest(pod("a"), waiting("b"), leaving(pod("c")))
    assert rest.unbound(around, ["d/a", "d/b", "d/c", "d/nobody"]) == [
        f"pod d/{name} is not bound" for name in ("b", "c", "nobody")
    ]


OUR_GATE: dict[str, Any] = {"schedulingGates": [{"name": "reprieve.dev/gang"}]}


@pytest.mark.parametrize(
    ("objects", "left"),
    [
        ([waiting("a", **OUR_GATE)], 1),
        ([waiting("a", "nobody", **OUR_GATE)], 1),
        (gang(2, 2, **OUR_GATE), 2),
        (gang(1, 2, **OUR_GATE), 0),
        (gang(2, 2, schedulingGates=[*OUR_GATE["schedulingGates"], {"name": "other"}]), 0),
        ([leaving(waiting("a", **OUR_GATE))], 0),
    ],
    ids=["no group named", "no group", "complete", "gathering", "another gate", "leaving"],
)
def test_a_gate_that_stays(objects: list[Json], left: int) -> None:
    assert len(check("gates_left", *objects)) == left


def test_a_plan_for_a_single_pod_that_is_gone() -> None:
    alone = plan("p", "Evicting", preemptor="a")
    alone["spec"]["preemptor"]["kind"] = "Pod"
    assert check("room_for_nobody", alone, waiting("a")) == []
    assert len(check("room_for_nobody", alone, pod("a"))) == 1
    assert len(check("room_for_nobody", alone)) == 1


def says(body: Json, members: int, bound: int, status: str) -> Json:
    condition = {"type": "reprieve.dev/Scheduled", "status": status, "message": ""}
    return {
        **body,
        "status": {
            "members": members,
            "boundMembers": bound,
            "requiredMembers": 2,
            "conditions": [condition],
        },
    }


@pytest.mark.parametrize(
    ("members", "bound", "status", "wrong"),
    [
        (3, 1, "False", 0),
        (2, 1, "False", 1),
        (3, 2, "False", 1),
        (3, 1, "True", 1),
    ],
)
def test_a_status_that_is_untrue(members: int, bound: int, status: str, wrong: int) -> None:
    hero, *pods = gang(2, 2, bound=1)
    assert len(check("untrue_status", says(hero, members, bound, status), *pods)) == wrong


def test_a_member_that_has_ended_does_not_count() -> None:
    hero, *pods = gang(2, 2, bound=1)
    pods[0]["status"]["phase"] = "Failed"
    assert check("untrue_status", says(hero, 2, 1, "False"), *pods) == []
