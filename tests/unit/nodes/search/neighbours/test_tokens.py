"""Members that cannot share a node with one another, or with pods that run: host ports and anti-affinity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.core import Node, Pod
from api.plans import PreemptionPlanSpec
from nodes.search.decision import decide_group
from tests.kit.objects import gang, node, pod, tables
from tests.unit.nodes.search.support import NS, decide, names

HOSTNAME = "kubernetes.io/hostname"
SMALL = {"resources": {"requests": {"cpu": "500m"}}}


def hosts(count: int, **fields: Any) -> list[Node]:
    return [node(f"n{i}", labels={HOSTNAME: f"n{i}"}, **fields) for i in range(count)]


def with_port(name: str, port: int = 80, address: str = "", **fields: Any) -> Pod:
    """A small pod with a host port."""
    ports = [{"containerPort": port, "hostPort": port, "hostIP": address}]
    return pod(name, containers=[{"name": "c", **SMALL, "ports": ports}], **fields)


def repelling(name: str, app: str, **fields: Any) -> Pod:
    """A small pod that may not share a node with pods of the app."""
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(name, requests={"cpu": "500m"}, affinity=affinity, **fields)


def ports_of(count: int) -> list[Pod]:
    return [with_port(f"m{i}", group="gang") for i in range(count)]


def apart(count: int) -> list[Pod]:
    return [repelling(f"m{i}", "a", group="gang", labels={"app": "a"}) for i in range(count)]


def where(plan: PreemptionPlanSpec) -> list[tuple[str, str]]:
    return [(each.pod, each.node) for each in plan.placements]


MEMBERS = pytest.mark.parametrize("members", [ports_of, apart])


@MEMBERS
def test_one_member_a_node(members: Any) -> None:
    plan = decide(gang(), *members(2), *hosts(2))
    assert (plan.outcome, plan.not_modelled) == ("Fits", [])
    assert where(plan) == [("m0", "n0"), ("m1", "n1")]


@MEMBERS
def test_more_members_than_nodes_fit_nowhere_and_nobody_goes(members: Any) -> None:
    low = pod("low", node="n0", priority=1)
    plan = decide(gang(minimum=3), *members(3), *hosts(2), low)
    assert (plan.outcome, plan.victims) == ("Unschedulable", [])
    assert plan.reason.startswith("2 of 3 members fit once every unit of lower priority is gone")
    reasons = "node(s) didn't have free ports" if members is ports_of else "node(s) didn't match pod anti"
    assert reasons in plan.reason


@MEMBERS
def test_members_beyond_min_count_have_nodes_of_their_own_too(members: Any) -> None:
    plan = decide(gang(minimum=1), *members(3), *hosts(2))
    assert where(plan) == [("m0", "n0"), ("m1", "n1")]


def test_a_running_pod_with_the_port_goes_and_others_stay() -> None:
    held = with_port("held", node="n0", priority=1)
    other = with_port("other", port=81, node="n0", priority=1)
    plan = decide(gang(minimum=1), *ports_of(1), *hosts(1), held, other)
    assert (plan.outcome, names(plan)) == ("Preempts", ["held"])


def test_a_node_without_the_conflict_costs_nobody() -> None:
    held = with_port("held", node="n0", priority=1)
    plan = decide(gang(minimum=1), *ports_of(1), *hosts(2), held)
    assert (plan.outcome, where(plan)) == ("Fits", [("m0", "n1")])


@pytest.mark.parametrize(
    ("conflicting", "reason"),
    [
        (
            with_port("held", node="n0", priority=900),
            "1 node(s) didn't have free ports for the requested pod ports",
        ),
        (with_port("held", address="10.0.0.1", node="n0", priority=900), "1 node(s) didn't have free ports"),
    ],
)
def test_a_port_of_a_pod_that_may_not_go_blocks_the_node(conflicting: Pod, reason: str) -> None:
    plan = decide(gang(minimum=1), *ports_of(1), *hosts(1), conflicting)
    assert (plan.outcome, plan.victims) == ("Unschedulable", [])
    assert reason in plan.reason


def test_ports_on_different_addresses_do_not_conflict() -> None:
    member = with_port("m0", address="10.0.0.2", group="gang")
    held = with_port("held", address="10.0.0.1", node="n0", priority=900)
    assert decide(gang(minimum=1), member, *hosts(1), held).outcome == "Fits"


def test_a_members_term_against_a_running_pod() -> None:
    member = repelling("m0", "db", group="gang")
    db = pod("db", node="n0", labels={"app": "db"}, requests={"cpu": "500m"}, priority=1)
    web = pod("web", node="n0", labels={"app": "web"}, requests={"cpu": "500m"}, priority=1)
    plan = decide(gang(minimum=1), member, *hosts(1), db, web)
    assert (plan.outcome, names(plan), plan.not_modelled) == ("Preempts", ["db"], [])
    blocked = decide(
        gang(minimum=1), member, *hosts(1), pod("db", node="n0", labels={"app": "db"}, priority=900)
    )
    assert "1 node(s) didn't match pod anti-affinity rules" in blocked.reason


def test_a_running_pods_term_against_a_member() -> None:
    member = pod("m0", group="gang", labels={"app": "a"}, requests={"cpu": "500m"})
    lonely = repelling("lonely", "a", node="n0", priority=1)
    plan = decide(gang(minimum=1), member, *hosts(1), lonely)
    assert (plan.outcome, names(plan), plan.not_modelled) == ("Preempts", ["lonely"], [])
    staying = repelling("lonely", "a", node="n0", priority=900)
    blocked = decide(gang(minimum=1), member, *hosts(1), staying)
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in blocked.reason
    elsewhere = decide(gang(minimum=1), member, *hosts(2), staying)
    assert (elsewhere.outcome, where(elsewhere)) == ("Fits", [("m0", "n1")])


def test_a_unit_that_goes_takes_its_conflict_along() -> None:
    """The group goes whole for the port of one of its pods; the second member takes the node of the other one."""
    whole = gang("whole", mode="all", priority=1)
    pods = [
        with_port("v0", node="n0", group="whole"),
        pod("v1", node="n1", group="whole", requests={"cpu": "4"}),
    ]
    plan = decide(gang(), *ports_of(2), *hosts(2), whole, *pods)
    assert (plan.outcome, names(plan)) == ("Preempts", ["whole"])
    assert where(plan) == [("m0", "n0"), ("m1", "n1")]


def test_a_unit_in_conflict_with_a_member_is_not_put_back() -> None:
    """There is room for it, and it has the higher priority of the two."""
    held = with_port("held", node="n0", priority=50)
    full = pod("full", node="n0", requests={"cpu": "3500m"}, priority=1)
    plan = decide(gang(minimum=1), *ports_of(1), *hosts(1), held, full)
    assert names(plan) == ["held"]


def test_a_terminating_pod_is_as_good_as_gone_but_a_free_node_is_better() -> None:
    leaving = with_port("leaving", node="n0", priority=900, deleting=True)
    assert where(decide(gang(minimum=1), *ports_of(1), *hosts(1), leaving)) == [("m0", "n0")]
    assert where(decide(gang(minimum=1), *ports_of(1), *hosts(2), leaving)) == [("m0", "n1")]


def test_a_bound_member_keeps_its_siblings_off() -> None:
    bound = with_port("m9", group="gang", node="n0")
    plan = decide(gang(), bound, *ports_of(1), *hosts(2))
    assert where(plan) == [("m0", "n1")]


def test_pods_that_are_promised_a_node_count() -> None:
    snapshot = tables(gang(minimum=1), *ports_of(1), *hosts(2), with_port("other")).snapshot()
    other = snapshot.pod_names.index("other")
    promised = replace(snapshot, promised={other: snapshot.node_names.index("n0")})
    assert where(decide_group(promised, NS, "gang")) == [("m0", "n1")]
    assert where(decide_group(snapshot, NS, "gang")) == [("m0", "n0")]


def test_members_of_two_kinds_that_keep_each_other_off() -> None:
    """A leader that repels workers, and workers that do not mind one another."""
    leader = repelling("leader", "worker", group="gang")
    workers = [pod(f"w{i}", group="gang", labels={"app": "worker"}, requests={"cpu": "2"}) for i in range(2)]
    plan = decide(gang(minimum=3), leader, *workers, *hosts(2))
    assert plan.outcome == "Fits"
    by_pod = dict(where(plan))
    assert by_pod["w0"] == by_pod["w1"] != by_pod["leader"]
    assert decide(gang(minimum=3), leader, *workers, *hosts(1)).outcome == "Unschedulable"


def test_the_first_filter_that_fails_is_named() -> None:
    """NodePorts before NodeResourcesFit, InterPodAffinity after it."""
    full = pod("full", node="n0", requests={"cpu": "4"}, labels={"app": "a"}, priority=900)
    assert "1 Insufficient cpu" in decide(gang(minimum=1), *apart(1), *hosts(1), full).reason
    held = with_port("held", node="n0", priority=900)
    big = {"resources": {"requests": {"cpu": "4"}}, "ports": [{"containerPort": 80, "hostPort": 80}]}
    member = pod("m0", group="gang", containers=[{"name": "c", **big}])
    assert "1 node(s) didn't have free ports" in decide(gang(minimum=1), member, *hosts(1), held).reason


def test_anti_affinity_says_nothing_of_nodes_without_the_label() -> None:
    beside = pod("v", node="n0", labels={"app": "a"}, requests={"cpu": "1"})
    plan = decide(gang(minimum=1), *apart(1), beside, node("n0"))
    assert plan.outcome == "Fits"
    assert where(plan) == [("m0", "n0")]


def test_nodes_with_one_host_name_are_one_domain() -> None:
    same = [node(name, labels={HOSTNAME: "same"}) for name in ("n0", "n1")]
    plan = decide(gang(minimum=1), *apart(1), pod("v", node="n1", labels={"app": "a"}), *same)
    assert names(plan) == ["v"]
    assert plan.not_modelled == []
