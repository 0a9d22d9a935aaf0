"""Nodes where a scheduler did not take a pod: no plan puts pods of this class there, and every plan says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from api.plan_names import plan_name
from api.plan_results import Excluded
from api.plans import PreemptionPlanSpec
from nodes.answers.asking import decide_pod
from nodes.search.decision import decide_group
from nodes.search.excluded import LISTED
from nodes.state.snapshot import Exclusion, Snapshot
from tests.kit.objects import gang, node, pod, tables
from tests.unit.nodes.search.support import NS, names

MEMBERS = [pod(f"m{i}", group="gang") for i in range(2)]
NODES = [node(f"n{i}") for i in range(3)]


def excluding(snapshot: Snapshot, *pairs: tuple[str, str], seen: str = "no") -> Snapshot:
    """Pods and nodes, by name."""
    return replace(
        snapshot,
        excluded={
            (
                int(snapshot.pod_class[snapshot.pod_names.index(name)]),
                snapshot.node_names.index(on),
            ): Exclusion(f"{NS}/{name}", seen)
            for name, on in pairs
        },
    )


def decide(*objects: Any, excluded: list[tuple[str, str]], **how: Any) -> PreemptionPlanSpec:
    return decide_group(excluding(tables(*objects).snapshot(), *excluded), NS, "gang", **how)


def where(plan: PreemptionPlanSpec) -> list[tuple[str, str]]:
    return [(each.pod, each.node) for each in plan.placements]


def listed(plan: PreemptionPlanSpec) -> list[Excluded]:
    assert isinstance(plan.excluded, list)
    return plan.excluded


def test_a_plan_that_fits_uses_another_node() -> None:
    plan = decide(gang(), *MEMBERS, *NODES, excluded=[("m0", "n0")])
    assert (plan.outcome, where(plan)) == ("Fits", [("m0", "n1"), ("m1", "n1")])
    assert listed(plan) == [Excluded("default/m0", "n0", "no")]


def test_a_plan_that_evicts_uses_another_node_and_spares_the_pods_there() -> None:
    running = [pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}) for i in range(3)]
    hero = gang(priority=100)
    assert names(decide(hero, *MEMBERS, *NODES, *running, excluded=[])) == ["v0"]
    plan = decide(hero, *MEMBERS, *NODES, *running, excluded=[("m0", "n0"), ("m0", "n1")])
    assert names(plan) == ["v2"]
    assert where(plan) == [("m0", "n2"), ("m1", "n2")]


@pytest.mark.parametrize("minimum", [1, 2])
def test_members_beyond_min_count_do_without_the_node_too(minimum: int) -> None:
    large = pod("x", group="gang", requests={"cpu": "2"})
    members = [*MEMBERS, large] if minimum == 2 else [MEMBERS[0], large]
    plan = decide(gang(minimum=minimum), *members, *NODES, excluded=[("x", "n0"), ("x", "n1")])
    assert dict(where(plan))["x"] == "n2"
    assert dict(where(plan))["m0"] == "n0"


def test_members_that_join_a_running_gang_do_without_the_node_too() -> None:
    bound = pod("b", group="gang", node="n0", requests={"cpu": "2"})
    plan = decide(gang(minimum=1), bound, MEMBERS[0], *NODES, excluded=[("m0", "n0")])
    assert where(plan) == [("m0", "n1")]
    assert listed(plan) == [Excluded("default/m0", "n0", "no")]


def test_other_classes_may_have_the_node_and_are_not_listed() -> None:
    stranger = pod("stranger", requests={"cpu": "3"})
    plan = decide(gang(), *MEMBERS, stranger, *NODES, excluded=[("stranger", "n0")])
    assert where(plan) == [("m0", "n0"), ("m1", "n0")]
    assert plan.excluded is msgspec.UNSET


def test_the_reason_says_what_was_seen() -> None:
    plan = decide(gang(), *MEMBERS, node("n0"), node("n1", cpu="1"), excluded=[("m0", "n0")])
    assert plan.outcome == "Unschedulable"
    assert plan.reason.endswith(
        "for the next one 0/2 nodes are available: 1 Insufficient cpu, 1 excluded"
        " (node n0: the scheduler did not take pod default/m0 there: no)"
    )


def test_the_reason_names_three_nodes_at_most() -> None:
    nodes = [node(f"n{i}") for i in range(5)]
    plan = decide(gang(), *MEMBERS, *nodes, excluded=[("m0", f"n{i}") for i in range(5)])
    assert "0/5 nodes are available: 5 excluded (node n0: " in plan.reason
    assert plan.reason.count("the scheduler did not take") == 3


def test_a_node_that_the_filters_refuse_is_not_called_excluded() -> None:
    plan = decide(gang(), *MEMBERS, node("n0", unschedulable=True), excluded=[("m0", "n0")])
    assert "1 node(s) were unschedulable" in plan.reason


def test_a_single_pod_does_without_the_node() -> None:
    snapshot = excluding(tables(*NODES, pod("p")).snapshot(), ("p", "n0"))
    plan = decide_pod(snapshot, NS, "p")
    assert where(plan) == [("p", "n1")]
    assert [(each.value, each.outcome) for each in plan.domains] == [
        ("n1", "Fits"),
        ("n2", "Fits"),
        ("n0", "Unschedulable"),
    ]


def test_they_are_listed_by_node_and_then_by_pod() -> None:
    large = pod("large", group="gang", requests={"cpu": "2"})
    pairs = [("m0", "n1"), ("m0", "n0"), ("large", "n1")]
    plan = decide(gang(), *MEMBERS, large, *NODES, excluded=pairs)
    assert [(each.node, each.pod) for each in listed(plan)] == [
        ("n0", "default/m0"),
        ("n1", "default/large"),
        ("n1", "default/m0"),
    ]


def test_nodes_outside_the_gangs_domains_are_not_listed() -> None:
    racks = [node("n0", labels={"rack": "a"}), node("n1", labels={"rack": "a"}), node("n2")]
    hero = gang(schedulingConstraints={"topology": [{"key": "rack"}]})
    plan = decide(hero, *MEMBERS, *racks, excluded=[("m0", "n0"), ("m0", "n2")])
    assert [each.node for each in listed(plan)] == ["n0"]


def test_a_plan_has_another_name_if_something_else_is_excluded() -> None:
    snapshot = tables(gang(), *MEMBERS, *NODES).snapshot()

    def name(*pairs: tuple[str, str], seen: str = "no") -> str:
        return plan_name(decide_group(excluding(snapshot, *pairs, seen=seen), NS, "gang"))

    assert name() == plan_name(decide_group(snapshot, NS, "gang"))
    assert name(("m0", "n1")) == name(("m0", "n1"))
    assert len({name(), name(("m0", "n1")), name(("m0", "n2")), name(("m0", "n1"), seen="never")}) == 4


def test_a_plan_without_exclusions_is_written_as_before() -> None:
    spec = msgspec.to_builtins(decide(gang(), *MEMBERS, *NODES, excluded=[]))
    assert not {"excluded", "otherExcluded"} & spec.keys()


def test_long_lists_are_cut_and_counted() -> None:
    """With the longest names there are, what is listed stays far below etcd's 1.5 MiB."""
    prefix = ".".join(["x" * 62] * 3)
    nodes = [node(f"{prefix}.{i:063}") for i in range(LISTED + 2)]
    snapshot = tables(gang(), *MEMBERS, *nodes).snapshot()
    member = int(snapshot.pod_class[snapshot.pod_names.index("m0")])
    example = Exclusion(f"{'n' * 63}/{prefix}.{'p' * 63}", "\x00" * 256)
    rows = dict.fromkeys([(member, row) for row in range(len(nodes))], example)
    plan = decide_group(replace(snapshot, excluded=rows), NS, "gang")
    assert (len(listed(plan)), plan.other_excluded) == (LISTED, 2)
    assert len(msgspec.json.encode(plan.excluded)) < 2**19
