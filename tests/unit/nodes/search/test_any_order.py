"""The scheduler takes members in an order of its own. A plan holds in every order that its waves allow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from api.core import Node, Pod
from api.plans import Placement, PreemptionPlanSpec
from nodes.search.cluster import Cluster, lay_out
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.room import Room
from tests.kit.objects import gang, node, pod, tables
from tests.unit.nodes.search.support import NS, decide, names

HOSTNAME = "kubernetes.io/hostname"
ZONE = "zone"


def hosts(*zones: str, cpu: str = "2") -> list[Node]:
    """A node n0, n1 and so on for each zone."""
    return [
        node(f"n{number}", labels={HOSTNAME: f"n{number}", ZONE: zone}, cpu=cpu)
        for number, zone in enumerate(zones)
    ]


def needs(name: str, app: str, beside: str, key: str) -> Pod:
    """A member of this app that must share the domain with a pod of the other app."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": beside}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(name, group="gang", labels={"app": app}, requests={"cpu": "1"}, affinity=affinity)


def counted(name: str, app: str) -> Pod:
    """A member of this app that asks for nobody, and is balanced by nobody."""
    return pod(name, group="gang", labels={"app": app}, requests={"cpu": "1"})


def spread(name: str, app: str) -> Pod:
    """A member of this app that wants as many pods of it in each zone."""
    constraint = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    labels = {"app": app}
    return pod(
        name, group="gang", labels=labels, requests={"cpu": "1"}, topologySpreadConstraints=[constraint]
    )


def orders(plan: PreemptionPlanSpec) -> Iterator[list[Placement]]:
    """Every order of the members that the waves allow."""
    waves: dict[int, list[Placement]] = {}
    for each in plan.placements:
        waves.setdefault(each.wave or 0, []).append(each)
    for chosen in product(*(permutations(wave) for _, wave in sorted(waves.items()))):
        yield [each for wave in chosen for each in wave]


def refused(objects: list[Any], plan: PreemptionPlanSpec) -> list[str]:
    """The members that the filters would not take on their planned nodes, in some order that the plan allows."""
    snapshot = tables(*objects).snapshot()
    preemptor = group_preemptor(snapshot, NS, "gang")
    cluster = Cluster(snapshot, preemptor, lay_out(snapshot, preemptor))
    gone = [snapshot.pod_rows[each.uid] for victim in plan.victims for each in victim.pods]
    found = []
    for order in orders(plan):
        room = Room(cluster, gone)
        for each in order:
            pod, node = snapshot.pod_names.index(each.pod), snapshot.node_names.index(each.node)
            found += [] if room.fits(pod, np.array([node]))[0] else [each.pod]
            room.place(pod, node)
    return found


CASES = {
    "a leader that is first on its node only if it is first of all": [
        needs("m0", "db", "web", ZONE),
        needs("m1", "web", "web", HOSTNAME),
        needs("m2", "db", "db", HOSTNAME),
    ],
    "two that may be first on a node, and a third one elsewhere that both select": [
        needs("m0", "db", "db", HOSTNAME),
        needs("m1", "db", "db", HOSTNAME),
        counted("m2", "db"),
    ],
    "one that is balanced, and one that counts and does not care": [
        spread("m0", "web"),
        counted("m1", "web"),
        counted("m2", "web"),
    ],
}


@pytest.mark.parametrize("members", CASES.values(), ids=CASES)
@pytest.mark.parametrize("room", [[2, 2, 2], [2, 1, 1], [1, 2, 1], [1, 1, 2], [1, 2, 2], [2, 2, 1]])
def test_members_are_taken_in_every_order(members: list[Pod], room: list[int]) -> None:
    """Pods that must stay leave this room on each node; two of the nodes are in one zone."""
    nodes = hosts("b", "b", "a")
    full = [
        pod(f"full{number}", node=f"n{number}", priority=900, requests={"cpu": str(2 - free)})
        for number, free in enumerate(room)
        if free < 2
    ]
    objects = [gang(minimum=3), *members, *nodes, *full]
    plan = decide(*objects)
    assert (plan.outcome, plan.not_modelled, refused(objects, plan)) == ("Fits", [], [])


@pytest.mark.parametrize("case", [case for case in CASES if "two that may be" not in case])
def test_nothing_is_named_where_there_is_room(case: str) -> None:
    objects = [gang(minimum=3), *CASES[case], *hosts("b", "b", "a", cpu="3")]
    plan = decide(*objects)
    assert (plan.outcome, plan.not_modelled, refused(objects, plan)) == ("Fits", [], [])


def test_an_order_that_works_is_better_than_an_eviction() -> None:
    """The second member has to be the first one of all where it is; then nobody has to be evicted."""
    full = [
        pod("stays", node="n0", priority=900, requests={"cpu": "1"}),
        pod("low", node="n1", priority=1, requests={"cpu": "1"}),
        pod("other", node="n2", priority=900, requests={"cpu": "2"}),
    ]
    members = [counted("m0", "db"), needs("m1", "db", "db", HOSTNAME)]
    objects = [gang(minimum=2), *members, *hosts("b", "b", "a", cpu="2"), *full]
    plan = decide(*objects)
    assert (names(plan), plan.not_modelled, refused(objects, plan)) == ([], [], [])
    assert [(each.pod, each.wave) for each in plan.placements] == [("m1", 0), ("m0", 1)]


def test_members_of_one_balance_come_in_waves() -> None:
    members = [spread(f"m{number}", "web") for number in range(4)]
    objects = [gang(minimum=4), *members, *hosts("a", "b")]
    plan = decide(*objects)
    assert (plan.outcome, refused(objects, plan)) == ("Fits", [])
    assert [each.wave for each in plan.placements] == [0, 0, 1, 1]
    assert [each.node for each in plan.placements if each.wave == 0] != ["n0", "n0"]


def test_the_only_one_that_can_be_first_is_first() -> None:
    """The leader would not fit after the worker, which is on another node. But the worker waits for the leader."""
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"role": "leader"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    worker = pod("m0", group="gang", labels={"app": "job"}, affinity=affinity)
    leader = needs("m1", "job", "job", HOSTNAME)
    assert leader.metadata.labels is not None
    leader.metadata.labels["role"] = "leader"
    full = [pod(f"full{number}", node=f"n{number}", priority=900) for number in range(2)]
    plan = decide(gang(minimum=2), worker, leader, *hosts("a", "a"), *full)
    assert (plan.outcome, plan.not_modelled) == ("Fits", [])
    assert len({each.node for each in plan.placements}) == 2
