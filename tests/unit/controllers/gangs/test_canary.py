"""A term in which some namespaces are enforced, and others observed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import orjson
import pytest
from prometheus_client import REGISTRY

from api.core import Pod
from api.groups import DisruptionMode, PodGroup
from api.plans import PreemptionPlan
from controllers.gangs.keys import key_of_pod
from controllers.gangs.scheduler.rejections import PROMISED
from controllers.gangs.waking.parked import TurnedDown
from extender.wire import filter_decoder, preemption_decoder
from tests.kit.canary import canary, space
from tests.kit.objects import BIG, group, make, node, pod
from tests.kit.stage import Stage, staged
from tests.unit.controllers.gangs import pieces_stage

IN, OUT = "team-in", "team-out"
ENFORCED, OBSERVED = space(IN, enforced=True), space(OUT, enforced=False)
PRIORITY = 100


@asynccontextmanager
async def stage_of(*objects: Any, **settings: Any) -> AsyncIterator[Stage]:
    async with staged(ENFORCED, OBSERVED, *objects, configuration=canary(**settings)) as stage:
        stage.clock += 10.0
        yield stage


def gang_in(namespace: str, minimum: int = 1, name: str = "", **fields: Any) -> list[Any]:
    """A gang whose members need whole nodes."""
    name = name or f"gang-{namespace}"
    members = [
        pod(f"{name}-{each}", namespace=namespace, group=name, requests=BIG, priority=PRIORITY, **fields)
        for each in range(minimum)
    ]
    return [group(name, namespace=namespace, minimum=minimum, priority=PRIORITY), *members]


def victim_in(namespace: str, number: int = 0, **fields: Any) -> Pod:
    name = f"v-{namespace}-{number}"
    where = {"node": f"n{number}", "requests": BIG, "priority": 1}
    return pod(name, namespace=namespace, **{**where, **fields})


def whole_in(namespace: str) -> PodGroup:
    """A group that is evicted whole or not at all."""
    unit = group("whole", namespace=namespace, minimum=2, priority=1)
    unit.spec.disruption_mode = make(DisruptionMode, {"all": {}})
    return unit


def plans(stage: Stage, phase: str = "") -> list[PreemptionPlan]:
    found = [msgspec.convert(each, PreemptionPlan) for each in stage.api.plans.values()]
    return [each for each in found if not phase or (each.status is not None and each.status.phase == phase)]


def victims_of(plan: PreemptionPlan) -> list[str]:
    """UIDs. The names of pods in other namespaces are withheld."""
    return sorted(pod.uid for victim in plan.spec.victims for pod in victim.pods)


def refused_writes() -> float:
    return REGISTRY.get_sample_value("reprieve_pod_writes_refused_total") or 0.0


@pytest.fixture(autouse=True)
def barrier() -> Iterator[None]:
    """The last barrier has nothing to refuse."""
    before = refused_writes()
    yield
    assert refused_writes() == before


def touched(stage: Stage, namespace: str) -> list[str]:
    """Writes to pods of the namespace."""
    return [each.path for each in stage.api.written if f"/namespaces/{namespace}/pods/" in each.path]


async def pass_time(stage: Stage, seconds: float) -> None:
    stage.clock += seconds
    await stage.settle()


async def test_a_gang_of_an_observed_namespace_is_only_observed() -> None:
    async with stage_of(node("n0"), *gang_in(OUT), victim_in(IN)) as stage:
        await stage.settle()
        await pass_time(stage, 2.0)
        (plan,) = plans(stage)
        assert (plan.spec.mode, plan.status and plan.status.phase) == ("Observe", "Observed")
        assert victims_of(plan) == [victim_in(IN).metadata.uid]
        assert stage.api.deleted == []
        assert stage.reserved == 0
        assert touched(stage, OUT) == touched(stage, IN) == []
        reason, message = stage.api.waits[f"gang-{OUT}"][-1]
        assert reason == "Observing"
        assert message.startswith(
            f"planning.enforcedNamespaceSelector does not select namespace {OUT}, so nothing is done for it: "
            "1 pod would be evicted for it"
        )


async def test_a_gang_of_an_enforced_namespace_evicts() -> None:
    async with stage_of(node("n0"), *gang_in(IN), victim_in(IN)) as stage:
        await stage.settle(20)
        assert stage.api.deleted == [f"v-{IN}-0"]


async def test_an_observed_decision_is_as_if_all_were_enforced() -> None:
    """Its victim is in an observed namespace, too."""
    async with stage_of(node("n0"), *gang_in(OUT), victim_in(OUT)) as stage:
        await stage.settle()
        (plan,) = plans(stage)
        assert victims_of(plan) == [victim_in(OUT).metadata.uid]


async def test_no_pod_of_an_observed_namespace_is_a_victim() -> None:
    """The pod of its own namespace has a higher priority, so it would be the worse victim."""
    victims = [victim_in(OUT, 0), victim_in(IN, 1, priority=50)]
    async with stage_of(node("n0"), node("n1"), *gang_in(IN), *victims) as stage:
        await stage.settle(20)
        assert stage.api.deleted == [f"v-{IN}-1"]
        (plan,) = plans(stage)
        assert "observed" not in plan.spec.reason


async def test_a_gang_says_how_many_pods_in_its_way_are_observed() -> None:
    nodes, victims = [node(f"n{each}") for each in range(3)], [victim_in(OUT, 0), victim_in(OUT, 1)]
    async with stage_of(*nodes, *gang_in(IN, 3), *victims, victim_in(IN, 2)) as stage:
        await stage.settle(20)
        await stage.written()
        (plan,) = plans(stage)
        assert plan.spec.outcome == "Unschedulable"
        assert plan.spec.reason.endswith("; 2 pods that would make room for it are in observed namespaces")
        assert OUT not in plan.spec.reason
        assert stage.api.deleted == []
        assert "2 pods that would make room" in stage.api.group_said[f"gang-{IN}"]


async def test_a_gang_that_would_fit_nowhere_at_all_blames_nobody() -> None:
    async with stage_of(node("n0"), *gang_in(IN, 2), victim_in(OUT)) as stage:
        await stage.settle()
        (plan,) = plans(stage)
        assert plan.spec.outcome == "Unschedulable"
        assert "observed" not in plan.spec.reason


async def test_a_group_that_is_evicted_whole_is_spared_whole() -> None:
    unit = whole_in(OUT)
    pods = [victim_in(OUT, each, group="whole") for each in range(2)]
    async with stage_of(node("n0"), node("n1"), unit, *pods, *gang_in(IN)) as stage:
        await stage.settle()
        assert stage.api.deleted == []


async def test_a_single_pod_says_it_as_well() -> None:
    """Its scheduler would break a group that is evicted whole."""
    hero = pod("hero", namespace=IN, requests=BIG, priority=PRIORITY)
    pods = [victim_in(OUT, each, group="whole") for each in range(2)]
    async with stage_of(node("n0"), node("n1"), whole_in(OUT), *pods, hero) as stage:
        await stage.settle()
        assert stage.preempt(hero, n0=[pods[0].metadata.uid]) == []
        await stage.settle()
        (plan,) = plans(stage)
        assert plan.spec.reason.endswith("; 2 pods that would make room for it are in observed namespaces")
        assert stage.api.deleted == []


# ---- the verbs

NAMES = b'[ "n0","n1" ,"n2"]'


def asked(stage: Stage, each: Pod) -> bytes:
    body = b'{"Pod":' + msgspec.json.encode(each) + b',"NodeNames":' + NAMES + b"}"
    return stage.verbs.filter(filter_decoder.decode(body))


async def test_filter_gives_back_the_names_that_came() -> None:
    """Of a gang, too: no member of it is held."""
    objects = gang_in(OUT, 2)
    async with stage_of(node("n0"), *objects) as stage:
        for _ in range(2):
            answer = asked(stage, objects[1])
            assert b'"NodeNames":' + NAMES + b"," in answer
            await stage.settle()
        assert stage.controller.waking is not None
        assert not stage.controller.waking.waker.is_held(objects[1].metadata.uid)


async def test_filter_keeps_promised_room_from_observed_pods_and_nothing_else() -> None:
    async with stage_of(*(node(f"n{each}") for each in range(3)), *gang_in(IN), victim_in(IN)) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.reserved == 1
        (placed,) = (each.node for each in plans(stage)[0].spec.placements)
        low = pod("low", namespace=OUT, requests=BIG, priority=1)
        high = pod("high", namespace=OUT, requests=BIG, priority=PRIORITY + 1)
        answer = orjson.loads(asked(stage, low))
        assert answer["NodeNames"] == [each for each in ("n0", "n1", "n2") if each != placed]
        assert answer["FailedAndUnresolvableNodes"] == {placed: PROMISED}, "so preempt is not asked about it"
        assert b'"NodeNames":' + NAMES + b"," in asked(stage, high)
        assert stage.controller.waking is not None
        assert not stage.controller.waking.waker.is_held(low.metadata.uid)


CANDIDATES = b'{ "n0":{"Pods":[{"UID":"x","More":null}],"NumPDBViolations":1},"n1":{"Pods":null}}'


@pytest.mark.parametrize("candidates", [CANDIDATES, b"{}", b"null", b'[1, "damaged"]'])
async def test_preempt_gives_back_the_bytes_that_came(candidates: bytes) -> None:
    objects = gang_in(OUT, 2)
    async with stage_of(node("n0"), *objects, *gang_in(IN)) as stage:
        await stage.settle()
        for each in (objects[1], pod("single", namespace=OUT)):
            body = b'{"Pod":' + msgspec.json.encode(each) + b',"NodeNameToMetaVictims":' + candidates + b"}"
            answer = stage.verbs.preempt(preemption_decoder.decode(body))
            assert answer == b'{"NodeNameToMetaVictims":' + candidates + b"}"
        await stage.settle()
        assert touched(stage, OUT) == []


async def test_before_namespaces_are_listed_a_gang_is_held_as_in_enforce() -> None:
    """Otherwise a process that has just begun would let enforced gangs be bound in pieces."""
    async with staged(node("n0"), configuration=canary()) as stage:
        namespaces = stage.controller.known.mirror.watched.namespaces
        namespaces._listed.clear()
        objects = gang_in(OUT, 2)
        stage.add(*objects)
        await stage.settle()
        assert stage.filter(objects[1], "n0") == []
        namespaces._listed.set()
        assert stage.filter(objects[1], "n0") == ["n0"], "a namespace that is not known is observed"


# ---- what a term does besides


def turned_down(message: str) -> list[dict[str, str]]:
    return [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]


async def test_nobody_of_an_observed_namespace_is_woken_or_pulsed() -> None:
    """Also if filter keeps promised room from it: that is no hold of ours."""
    told = turned_down(f"0/1 nodes are available: 1 {PROMISED}.")
    objects = gang_in(OUT, 2, conditions=told)
    single = pod("single", namespace=OUT, priority=1000, requests=BIG, conditions=told, nominated="n0")
    async with stage_of(node("n0"), *objects, single, *gang_in(IN, 2), victim_in(IN)) as stage:
        await stage.settle()
        for _ in range(4):
            await pass_time(stage, 30.0)
        assert touched(stage, OUT) == []


async def test_a_pod_that_another_replica_names_carries_no_pulse_in_an_observed_namespace() -> None:
    """That replica may know other labels, or none yet."""
    ports = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    }
    waits = pod("waits", namespace=OUT, priority=5, conditions=[ports])
    async with stage_of(node("n0"), waits) as stage:
        await stage.settle()
        stage.controller.told(TurnedDown({}, [waits.metadata.uid]))
        for _ in range(3):
            await pass_time(stage, 2.0)
        assert touched(stage, OUT) == []


BOTH = pytest.mark.parametrize("enforced", [True, False])
"""What a term does for an enforced namespace, and not for an observed one."""


@BOTH
async def test_a_gang_in_pieces_is_released_in_an_enforced_namespace_only(enforced: bool) -> None:
    nodes = [node(f"n{number}", cpu="1") for number in range(3)]
    async with staged(space("default", enforced=enforced), *nodes, configuration=canary()) as stage:
        pieces_stage.says(stage, 150.0)
        bound = [pieces_stage.member(stage, f"m{number}", f"n{number}") for number in range(3)]
        stage.add(*bound, pieces_stage.member(stage, "m3"))
        await pieces_stage.wait(stage)
        assert pieces_stage.released(stage) == (["m0", "m1", "m2"] if enforced else [])
        assert ("Releases" in {each.spec.outcome for each in plans(stage)}) == enforced


async def test_a_gang_in_pieces_that_is_observed_meanwhile_is_not_released() -> None:
    """The label of its namespace changes while the API server is asked about the gang."""
    nodes = [node(f"n{number}", cpu="1") for number in range(3)]
    async with staged(space("default", enforced=True), *nodes, configuration=canary()) as stage:
        pieces_stage.says(stage, 150.0)
        bound = [pieces_stage.member(stage, f"m{number}", f"n{number}") for number in range(3)]
        stage.add(*bound, pieces_stage.member(stage, "m3"))
        await stage.settle()
        lists = list[str]()

        def observe(method: str, path: str) -> None:
            if method == "GET" and not lists:
                lists.append(path)
                stage.add(space("default", enforced=False))

        stage.api.refuse = observe
        await pieces_stage.wait(stage)
        assert lists
        assert "Releases" not in {each.spec.outcome for each in plans(stage)}
        assert stage.reserved == 0
        assert pieces_stage.released(stage) == []


@BOTH
async def test_nominations_of_members_are_withdrawn_in_an_enforced_namespace_only(enforced: bool) -> None:
    """Those of observed members are their scheduler's."""
    objects = gang_in(IN if enforced else OUT, 2, nominated="n0")
    async with stage_of(node("n0"), node("n1"), *objects, victim_in(IN, 0, priority=1000)) as stage:
        await stage.settle()
        await pass_time(stage, 2.0)
        await stage.written()
        assert {*stage.api.pulsed} == ({each.metadata.name for each in objects[1:]} if enforced else set())


@BOTH
async def test_a_single_pod_without_a_plan_is_brought_back_in_an_enforced_namespace_only(
    enforced: bool,
) -> None:
    hero = pod("hero", namespace=IN if enforced else OUT, priority=PRIORITY)
    async with stage_of(node("n0"), hero) as stage:
        await stage.settle()
        assert stage.leading.lone.singles.wish(key_of_pod(hero), ["n0"])
        await pass_time(stage, 31.0)
        await pass_time(stage, 2.0)
        assert ("hero" in stage.api.pulsed) == enforced


async def test_single_pods_of_an_observed_namespace_get_plans_and_go_on() -> None:
    unit = whole_in(IN)
    pods = [victim_in(IN, each, group="whole") for each in range(2)]
    hero = pod("hero", namespace=OUT, priority=PRIORITY, requests=BIG)
    async with stage_of(node("n0"), node("n1"), unit, *pods, hero) as stage:
        await stage.settle()
        assert stage.preempt(hero, n0=[pods[0].metadata.uid]) == ["n0"]
        await stage.settle()
        (plan,) = plans(stage)
        assert (plan.spec.preemptor.kind, plan.spec.mode) == ("Pod", "Observe")
        await pass_time(stage, 60.0)
        assert stage.api.deleted == []
        assert touched(stage, OUT) == []


# ---- a namespace that is enforced from now on


async def test_everything_is_decided_anew_when_a_namespace_becomes_enforced() -> None:
    async with stage_of(node("n0"), *gang_in(OUT), victim_in(IN)) as stage:
        await stage.settle()
        assert [each.spec.mode for each in plans(stage)] == ["Observe"]
        stage.add(space(OUT, enforced=True))
        await stage.settle(20)
        assert stage.api.deleted == [f"v-{IN}-0"]


async def test_gangs_elsewhere_may_evict_there_at_once() -> None:
    async with stage_of(node("n0"), *gang_in(IN), victim_in(OUT)) as stage:
        await stage.settle()
        assert stage.api.deleted == []
        await pass_time(stage, 600.0)
        stage.add(space(OUT, enforced=True))
        await stage.settle(20)
        assert stage.api.deleted == [f"v-{OUT}-0"]


async def test_a_gang_in_pieces_counts_from_the_switch() -> None:
    objects = gang_in(OUT, 2)
    objects[1] = pod(f"gang-{OUT}-0", namespace=OUT, group=f"gang-{OUT}", requests=BIG, node="n0")
    async with stage_of(node("n0"), *objects) as stage:
        await stage.settle()
        await pass_time(stage, 1000.0)
        stage.add(space(OUT, enforced=True))
        key = (OUT, f"gang-{OUT}")
        await stage.settle()
        assert stage.leading.gangs.life_of(key).partial_since == stage.clock
        assert plans(stage, "Planned") == []


async def test_a_gang_that_ran_whole_while_it_was_observed_is_not_released() -> None:
    objects = gang_in(OUT, 2)
    bound = [
        pod(f"gang-{OUT}-{each}", namespace=OUT, group=f"gang-{OUT}", requests=BIG, node=f"n{each}")
        for each in range(2)
    ]
    async with stage_of(node("n0"), node("n1"), objects[0], *bound) as stage:
        await stage.settle()
        stage.delete(bound[1])
        stage.add(objects[2])
        stage.add(space(OUT, enforced=True))
        await stage.settle()
        life = stage.leading.gangs.life_of((OUT, f"gang-{OUT}"))
        assert (life.partial_since, life.has_run) == (None, True)
