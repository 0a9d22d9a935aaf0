"""What filter leaves to pods of kube-scheduler's own groups on nodes with units that it does not know."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from api.requests import PODS
from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.spared import Spared
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.native_gangs import GANG_KEY, native_group, native_pod
from tests.kit.objects import node, pod, tables

ONE = {"cpu": 1000, PODS: 1}
RING = {"scheduling.x-k8s.io/pod-group": "ring"}
OTHER_KEY = ("default", "podgroups.scheduling.k8s.io:other")
NODES = ("n0", "n1", "n2")


def in_ring(name: str, where: str, priority: int = 5, **fields: Any) -> Pod:
    """A pod of one CPU of a group of scheduler-plugins."""
    labels = {**RING, **fields.pop("labels", {})}
    return pod(name, node=where, priority=priority, labels=labels, **fields)


def nodes(cpu: str, **fields: Any) -> list[Any]:
    """A node for each name, with a pod of the ring on it."""
    there = [node(name, cpu=cpu, **fields) for name in NODES]
    return [*there, *(in_ring(f"r-{name}", name) for name in NODES)]


class Scene:
    """Filter, and the tables that it looks at."""

    def __init__(self, *objects: Any) -> None:
        self.tables: Tables = tables(*objects)
        self.clock = ManualClock()
        self.spared = Spared(self.tables, Roster(self.tables), self.clock)

    def ask(self, pod: Pod, *names: str, key: GroupKey = GANG_KEY) -> list[str]:
        """The nodes that are left to the member in a filter call."""
        self.spared.attempted(pod)
        refused = self.spared.refused(key, pod, ONE, names)
        return [name for name in names if name not in refused]

    def bind(self, name: str, where: str, **fields: Any) -> None:
        bound = native_pod(name, node=where, **fields)
        self.tables.upsert_pod(bound)
        self.spared.pod_changed(bound.metadata.uid, bound)


def members(count: int, **fields: Any) -> list[Pod]:
    return [native_pod(f"m{number}", **fields) for number in range(count)]


@pytest.mark.parametrize("policy", [0, 1], ids=["basic", "gang"])
def test_a_full_node_with_a_unit_is_refused_and_one_with_a_pod_is_not(policy: int) -> None:
    hero = native_pod("m0")
    full = [node("n0", cpu="1"), in_ring("r", "n0"), node("n1", cpu="1"), pod("p", node="n1", priority=5)]
    scene = Scene(*full, native_group(minimum=policy), hero)
    assert scene.ask(hero, "n0", "n1", "unknown") == ["n1", "unknown"]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"priority": 100}, True),  # the scheduler would not evict it
        ({"priority": 99}, False),
        ({"deleting": True}, True),  # it goes anyway
        ({"labels": {"reprieve.dev/pod-group": "other"}}, True),  # a group that does not exist
    ],
)
def test_which_pods_make_a_node_one_with_a_unit(change: dict[str, Any], left: bool) -> None:
    hero = native_pod("m0")
    scene = Scene(node("n0", cpu="1"), in_ring("r", "n0", **change), native_group(), hero)
    assert (scene.ask(hero, "n0") == ["n0"]) is left


def test_a_native_unit_is_the_schedulers_own() -> None:
    """Without its object nobody knows how it goes, so it goes whole for us, and pod by pod for the scheduler."""
    hero, victim = native_pod("m0"), native_pod("v", "victim", node="n0", priority=5)
    scene = Scene(node("n0", cpu="1"), victim, native_group(), hero)
    assert scene.ask(hero, "n0") == []
    scene.tables.upsert_group(native_group("victim", mode="all", priority=5))
    assert scene.ask(hero, "n0") == ["n0"]


def test_every_unit_counts_where_the_priority_is_not_known() -> None:
    hero = native_pod("m0")
    scene = Scene(node("n0", cpu="1"), in_ring("r", "n0", 1000), hero)
    assert scene.ask(hero, "n0") == [], "its group is not known yet"
    scene.tables.upsert_group(native_group())
    assert scene.ask(hero, "n0") == ["n0"]


def test_pods_that_terminate_hold_their_room() -> None:
    """The scheduler may put them back, and then the unit's pod has no room."""
    hero, leaving = native_pod("m0"), pod("p", node="n0", priority=5, deleting=True)
    scene = Scene(node("n0", cpu="2"), in_ring("r", "n0"), leaving, native_group(), hero)
    assert scene.ask(hero, "n0") == []
    scene.tables.delete_pod("default", "p")
    assert scene.ask(hero, "n0") == ["n0"]


def test_room_for_a_nominated_pod_is_not_free() -> None:
    hero, other = native_pod("m0"), pod("p", priority=100, nominated="n0")
    scene = Scene(node("n0", cpu="2"), in_ring("r", "n0"), other, native_group(), hero)
    assert scene.ask(hero, "n0") == []
    scene.tables.upsert_pod(native_pod("m0", nominated="n0"))
    scene.tables.delete_pod("default", "p")
    assert scene.ask(hero, "n0") == ["n0"], "its own nomination is not in its way"


def test_what_one_member_was_offered_counts_against_the_next() -> None:
    crowd = members(2)
    scene = Scene(node("n0", cpu="2"), in_ring("r", "n0"), native_group(minimum=2), *crowd)
    assert [scene.ask(each, "n0") for each in crowd] == [["n0"], []]
    assert [scene.ask(each, "n0") for each in crowd] == [["n0"], []], "the simulated pass"


def test_the_offers_leave_room_for_the_other_members() -> None:
    crowd = members(3)
    scene = Scene(*nodes("2"), native_group(minimum=3), *crowd)
    offers = [scene.ask(each, *NODES) for each in crowd]
    assert sorted(offers) == [["n0"], ["n1"], ["n2"]]
    assert [scene.ask(each, *NODES) for each in crowd] == offers, "the simulated pass"


def test_one_member_gets_all_nodes_with_room() -> None:
    hero = native_pod("m0")
    scene = Scene(*nodes("2"), native_group(), hero)
    assert scene.ask(hero, *NODES) == list(NODES)


def test_offers_of_an_attempt_that_failed_are_void() -> None:
    """Only two of three members were presented. The next pod of the same scheduler says that the attempt is over."""
    crowd, other = members(3), native_pod("o0", "other")
    scene = Scene(*nodes("2"), native_group(minimum=3), native_group("other"), other, *crowd)
    first = [scene.ask(each, *NODES) for each in crowd[:2]]
    elsewhere = native_pod("e0", "other", schedulerName="another")
    assert len(scene.ask(elsewhere, *NODES, key=OTHER_KEY)) == 1, "another scheduler says nothing"
    assert sum(map(len, first)) == 2
    scene.spared.attempted(pod("p"))
    scene.spared.pod_changed(elsewhere.metadata.uid, None)
    assert scene.ask(other, *NODES, key=OTHER_KEY) == list(NODES)


def test_offers_of_an_attempt_that_may_have_succeeded_stand_until_the_members_are_bound() -> None:
    crowd, other = members(2), native_pod("o0", "other")
    two = [node("n0", cpu="2"), node("n1", cpu="3"), in_ring("r0", "n0"), in_ring("r1", "n1")]
    scene = Scene(*two, native_group(minimum=2), native_group("other"), other, *crowd)
    assert [len(scene.ask(each, "n0", "n1")) for each in crowd] == [1, 2]
    assert scene.ask(other, "n0", "n1", key=OTHER_KEY) == []
    scene.bind("m0", "n1")
    scene.bind("m1", "n1")
    assert scene.ask(other, "n0", "n1", key=OTHER_KEY) == ["n0"]


def test_offers_end_with_time() -> None:
    hero, other = native_pod("m0"), native_pod("o0", "other")
    scene = Scene(node("n0", cpu="2"), in_ring("r", "n0"), native_group(), native_group("other"), hero, other)
    assert scene.ask(hero, "n0") == ["n0"]
    assert scene.ask(other, "n0", key=OTHER_KEY) == []
    scene.clock.advance(31)
    assert scene.ask(other, "n0", key=OTHER_KEY) == ["n0"]


PORT = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}


def apart(key: str) -> dict[str, Any]:
    """A pod with this keeps away from pods with the label app=web."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


HOST, ZONE = "kubernetes.io/hostname", "zone"
WEB = {"labels": {"app": "web"}}


@pytest.mark.parametrize(
    ("hers", "theirs", "left"),
    [
        ({}, {}, ["n0", "n1", "n2"]),
        (PORT, PORT, ["n1", "n2"]),
        (PORT, {}, ["n0", "n1", "n2"]),
        (apart(HOST), WEB, ["n1", "n2"]),
        (apart(ZONE), WEB, ["n2"]),
        (WEB, apart(ZONE), ["n2"]),
        (apart(ZONE), {}, ["n0", "n1", "n2"]),
    ],
)
def test_a_unit_keeps_a_member_away_although_there_is_room(
    hers: dict[str, Any], theirs: dict[str, Any], left: list[str]
) -> None:
    """The scheduler supposes that the unit's pod is gone, and would have to evict it. n0 and n1 are in one zone."""
    zones = {"n0": "a", "n1": "a", "n2": "b"}
    there = [node(name, labels={HOST: name, ZONE: zone}) for name, zone in zones.items()]
    hero = native_pod("m0", **hers)
    scene = Scene(*there, in_ring("r", "n0", **theirs), native_group(), hero)
    assert scene.ask(hero, *zones) == left


def test_a_process_that_does_not_lead_offers_no_node_with_a_unit() -> None:
    hero = native_pod("m0")
    scene = Scene(*nodes("2"), node("n3"), native_group(), hero)
    assert scene.spared.all_units_on(GANG_KEY, hero, [*NODES, "n3"]) == list(NODES)
