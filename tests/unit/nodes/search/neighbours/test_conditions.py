"""Pods that keep members out of a rack, need pods beside them in a rack, or are spread over racks."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Node, Pod
from api.plans import PreemptionPlanSpec
from tests.kit.objects import gang, node, pod
from tests.unit.nodes.search.support import decide, names

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}
RACKS = {"n0": "a", "n1": "a", "n2": "b", "n3": "b"}


def racks(*which: str) -> list[Node]:
    return [node(name, labels={"rack": RACKS[name]}) for name in which or RACKS]


def term(key: str = "rack") -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": WEB}


def apart(key: str = "rack") -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term(key)]}}}


def beside(key: str = "rack") -> dict[str, Any]:
    return {"affinity": {"podAffinity": {REQUIRED: [term(key)]}}}


def spread(skew: int = 1) -> dict[str, Any]:
    constraint = {
        "topologyKey": "rack",
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": WEB,
    }
    return {"topologySpreadConstraints": [constraint]}


def web(name: str, **fields: Any) -> Pod:
    return pod(name, labels={"app": "web"}, **fields)


def placed(plan: PreemptionPlanSpec) -> set[str]:
    return {RACKS[each.node] for each in plan.placements}


def test_a_member_stays_out_of_the_rack_of_whom_it_repels() -> None:
    member = pod("m0", group="gang", **apart())
    plan = decide(gang(minimum=1), member, web("v", node="n0", priority=900), *racks())
    assert (plan.outcome, placed(plan), plan.not_modelled) == ("Fits", {"b"}, [])


@pytest.mark.parametrize("other", ["n0", "n1"])
def test_a_victim_frees_its_rack_from_another_node(other: str) -> None:
    """The victim may run on a node that has room for the member, or on the other one."""
    member = pod("m0", group="gang", requests={"cpu": "1"}, **apart())
    full = pod("full", node="n0", requests={"cpu": "3500m"}, priority=900)
    victim = web("v", node=other, requests={"cpu": "100m"}, priority=1)
    plan = decide(gang(minimum=1), member, victim, full, *racks("n0", "n1"))
    assert (plan.outcome, names(plan), plan.not_modelled) == ("Preempts", ["v"], [])
    assert [each.node for each in plan.placements] == ["n1"]


def test_a_running_pod_keeps_members_out_of_its_rack() -> None:
    repelling = pod("r", node="n0", priority=900, **apart())
    plan = decide(gang(minimum=1), web("m0", group="gang"), repelling, *racks())
    assert (plan.outcome, placed(plan)) == ("Fits", {"b"})
    plan = decide(gang(minimum=1), web("m0", group="gang"), repelling, *racks("n0", "n1"))
    assert plan.outcome == "Unschedulable"
    assert "2 node(s) didn't satisfy existing pods anti-affinity rules" in plan.reason
    going = pod("r", node="n0", priority=1, **apart())
    assert names(decide(gang(minimum=1), web("m0", group="gang"), going, *racks("n0", "n1"))) == ["r"]


def test_members_that_keep_one_another_out_of_the_only_rack_do_not_run() -> None:
    members = [web(f"m{number}", group="gang", requests={"cpu": "4"}, **apart()) for number in range(2)]
    plan = decide(gang(), *members, *racks("n0", "n2"))
    assert (plan.outcome, placed(plan), plan.not_modelled) == ("Fits", {"a", "b"}, [])
    plan = decide(gang(), *members, *racks("n0", "n1"))
    assert (plan.outcome, plan.placements, plan.not_modelled) == ("Unschedulable", [], [])
    assert plan.reason == "1 of 2 members can run: anti-affinity by rack"


def test_a_member_goes_beside_whom_it_needs() -> None:
    member = pod("m0", group="gang", **beside())
    plan = decide(gang(minimum=1), member, web("w", node="n2", priority=900), *racks())
    assert (plan.outcome, placed(plan), plan.not_modelled) == ("Fits", {"b"}, [])
    plan = decide(gang(minimum=1), member, *racks())
    assert plan.outcome == "Unschedulable"
    assert "4 node(s) didn't match pod affinity rules" in plan.reason


def test_the_first_of_those_that_need_one_another_goes_anywhere() -> None:
    members = [web(f"m{number}", group="gang", **beside()) for number in range(2)]
    plan = decide(gang(), *members, *racks("n0", "n1"))
    assert (plan.outcome, plan.not_modelled) == ("Fits", [])
    wide = [web(f"m{number}", group="gang", requests={"cpu": "4"}, **beside()) for number in range(2)]
    plan = decide(gang(), *wide, *racks("n0", "n2"))
    assert (plan.outcome, plan.not_modelled) == ("Unschedulable", [])
    assert plan.reason.startswith("1 of 2 members can run")
    assert "affinity by rack" in plan.reason


def test_a_member_is_not_helped_by_the_end_of_whom_it_needs() -> None:
    member = pod("m0", group="gang", requests={"cpu": "4"}, **beside())
    needed = web("w", node="n0", requests={"cpu": "1"}, priority=1)
    plan = decide(gang(minimum=1), member, needed, *racks("n0"))
    assert (plan.outcome, names(plan), plan.not_modelled) == ("Unschedulable", [], [])
    assert "affinity by rack" in plan.reason


def test_members_are_spread() -> None:
    members = [web(f"m{number}", group="gang", requests={"cpu": "4"}, **spread()) for number in range(4)]
    plan = decide(gang(minimum=4), *members, *racks())
    assert (plan.outcome, placed(plan), plan.not_modelled) == ("Fits", {"a", "b"}, [])
    full = pod("f", node="n2", requests={"cpu": "4"}, priority=900)
    plan = decide(gang(minimum=2), *members[:2], full, *racks("n0", "n1", "n2"))
    assert (plan.outcome, plan.not_modelled) == ("Unschedulable", [])
    assert plan.reason == "1 of 2 members can run: topology spread by rack (maxSkew 1): b has no room"


def test_nodes_without_the_label_take_nobody() -> None:
    for fields in (beside(), spread()):
        plan = decide(gang(minimum=1), web("m0", group="gang", **fields), node("n9"))
        assert plan.outcome == "Unschedulable"


def test_members_are_spread_over_racks_that_are_full() -> None:
    """The cheapest victims are all in one rack."""
    members = [web(f"m{number}", group="gang", requests={"cpu": "4"}, **spread()) for number in range(2)]
    cheap = [pod(f"a{number}", node=f"n{number}", requests={"cpu": "4"}, priority=1) for number in range(2)]
    dear = [pod(f"b{number}", node=f"n{number}", requests={"cpu": "4"}, priority=9) for number in (2, 3)]
    plan = decide(gang(), *members, *cheap, *dear, *racks())
    assert (plan.outcome, placed(plan), plan.not_modelled) == ("Preempts", {"a", "b"}, [])
    assert sorted(name[0] for name in names(plan)) == ["a", "b"]
    assert plan.domains[0].score is not None
    assert plan.domains[0].score.pods == 2


def test_members_that_need_one_another_share_a_rack() -> None:
    members = [web(f"m{number}", group="gang", requests={"cpu": "4"}, **beside()) for number in range(2)]
    dear = [pod(f"b{number}", node=f"n{number}", requests={"cpu": "4"}, priority=9) for number in (1, 3)]
    plan = decide(gang(), *members, *dear, *racks())
    assert (plan.outcome, len(placed(plan)), plan.not_modelled) == ("Preempts", 1, [])


def test_members_keep_one_another_out_of_their_racks() -> None:
    members = [web(f"m{number}", group="gang", **apart()) for number in range(2)]
    plan = decide(gang(), *members, *racks())
    assert (plan.outcome, placed(plan), plan.not_modelled) == ("Fits", {"a", "b"}, [])


def test_what_could_matter_elsewhere_only_is_not_named() -> None:
    """The mirror has no labels of namespaces, so nobody knows whom the running pod repels in its rack."""
    chosen = {**term(), "namespaceSelector": {"matchLabels": {"team": "a"}}}
    affinity = {"podAntiAffinity": {REQUIRED: [chosen]}}
    repelling = pod("r", node="n0", priority=900, requests={"cpu": "1"}, affinity=affinity)
    member = web("m0", group="gang", requests={"cpu": "4"})
    assert decide(gang(minimum=1), member, repelling, *racks("n0", "n2")).not_modelled == []
    assert decide(gang(minimum=1), member, repelling, *racks("n0", "n1")).not_modelled == [
        "anti-affinity of running pods"
    ]
