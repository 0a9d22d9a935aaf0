"""Decisions: whose pods count, what the plan says, and what is bad input."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from api.plan_names import plan_name
from api.plan_results import SearchReport
from api.plans import PreemptionPlanSpec
from nodes.answers.asking import decide_pod
from nodes.search.decision import EFFORT, DecisionError, Limits, decide_group, group_decision, pod_decision
from tests.kit.objects import budget, gang, node, pod, priority_class, tables
from tests.unit.nodes.search.support import NS, decide, names

RACK = {"topology": [{"key": "rack"}]}


def members(count: int, cpu: str = "4", **fields: Any) -> list[Any]:
    return [pod(f"m{i}", group="gang", requests={"cpu": cpu}, **fields) for i in range(count)]


def test_exactly_the_needed_victims_go() -> None:
    full = [pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}, priority=1) for i in range(3)]
    plan = decide(gang(), *members(2), *(node(f"n{i}") for i in range(3)), *full)
    assert (plan.outcome, plan.priority_cutoff, len(plan.victims)) == ("Preempts", 1, 2)
    assert plan.reason == "it fits with 2 victims (2 pods) gone"
    assert {each.pod for each in plan.placements} == {"m0", "m1"}


def test_the_plan_says_how_far_its_search_went() -> None:
    full = [pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}, priority=1) for i in range(3)]
    cluster = (gang(), *members(2), *(node(f"n{i}") for i in range(3)), *full)
    whole, first = decide(*cluster), decide(*cluster, limits=Limits(effort=0))
    assert whole.search is not UNSET
    assert first.search is not UNSET
    assert whole.search == SearchReport(whole.search.work_microseconds, ended=True, lowest_cutoff=True)
    assert first.search == SearchReport(first.search.work_microseconds, ended=False, lowest_cutoff=True)
    assert plan_name(whole) == plan_name(first)
    assert decide(*cluster, node("n3"), node("n4")).search is UNSET


def test_a_cutoff_that_spares_a_budget_is_not_proven_to_be_the_lowest() -> None:
    low = pod("low", node="n0", requests={"cpu": "4"}, priority=1, labels={"app": "kept"})
    high = pod("high", node="n1", requests={"cpu": "4"}, priority=2)
    kept = budget("kept", selector={"matchLabels": {"app": "kept"}})
    cluster = (gang(minimum=1), *members(1), node("n0"), node("n1"), low, high, kept)
    for effort, proven in ((0, False), (EFFORT, True)):
        plan = decide(*cluster, limits=Limits(effort=effort))
        assert (names(plan), plan.priority_cutoff) == (["high"], 2)
        assert plan.search is not UNSET
        assert (plan.search.ended, plan.search.lowest_cutoff) == (proven, proven)


def test_what_does_not_fit_says_what_is_short() -> None:
    nodes = [node("n0"), node("n1", cpu="3"), node("n2", taints=[{"key": "a", "effect": "NoSchedule"}])]
    plan = decide(gang(), *members(2), *nodes)
    assert (plan.outcome, plan.domain, plan.placements) == ("Unschedulable", None, [])
    assert plan.reason == (
        "1 of 2 members fit once every unit of lower priority is gone; for the next one "
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu"
    )


def test_fewer_members_than_needed() -> None:
    gated = pod("gated", group="gang", gated=True)
    leaving = pod("leaving", group="gang", deleting=True)
    plan = decide(gang(), *members(1), gated, leaving, node("n0"))
    assert (plan.outcome, plan.reason) == ("Unschedulable", "1 of 2 members exist")


def test_enough_members_are_bound_and_others_take_what_is_left() -> None:
    bound = members(1, cpu="1", node="n0")
    others = [pod(f"x{i}", group="gang", requests={"cpu": "3"}) for i in range(2)]
    plan = decide(gang(minimum=1), *bound, *others, node("n0"), pod("v", node="n0", priority=1))
    assert (plan.outcome, plan.victims, plan.placements) == ("Fits", [], [])
    plan = decide(gang(minimum=1), *bound, *others, node("n0"))
    assert [(each.pod, each.node) for each in plan.placements] == [("x0", "n0")]


def test_later_members_never_cost_a_victim() -> None:
    full = [pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}, priority=1) for i in range(2)]
    plan = decide(gang(minimum=1), *members(2), node("n0"), node("n1"), *full)
    assert (len(plan.victims), [each.pod for each in plan.placements]) == (1, ["m0"])


def test_placements_name_pods_by_uid_and_say_who_is_beyond_min_count() -> None:
    plan = decide(gang(minimum=1), *members(2, cpu="1"), node("n0"))
    assert [(each.uid, each.beyond_min_count) for each in plan.placements] == [
        ("uid-default-m0", False),
        ("uid-default-m1", True),
    ]
    bound = members(1, cpu="1", node="n0")
    plan = decide(gang(minimum=1), *bound, pod("x", group="gang", requests={"cpu": "1"}), node("n0"))
    assert [(each.uid, each.beyond_min_count) for each in plan.placements] == [("uid-default-x", True)]


def test_bound_members_fix_the_domain() -> None:
    racks = [node(f"n{i}", labels={"rack": f"r{i}"}) for i in range(2)]
    bound = pod("a", group="gang", node="n1", requests={"cpu": "1"})
    plan = decide(gang(schedulingConstraints=RACK), *members(1, cpu="1"), bound, *racks)
    assert plan.domain is not None
    assert (plan.domain.value, [each.value for each in plan.domains]) == ("r1", ["r1"])
    nowhere = pod("c", group="gang", node="n9", requests={"cpu": "1"})
    lost = decide(gang(schedulingConstraints=RACK), *members(1), nowhere, *racks, node("n9"))
    assert (lost.outcome, lost.reason) == ("Unschedulable", "pod c is bound to n9, which has no rack")


def test_the_cheaper_rack_wins_and_the_comparison_is_shown() -> None:
    racks = [node(f"n{i}", labels={"rack": f"r{i}"}) for i in range(3)]
    full = [pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}, priority=5 - i) for i in range(2)]
    huge = pod("huge", node="n2", requests={"cpu": "4"}, priority=100)
    plan = decide(gang(minimum=1, schedulingConstraints=RACK), *members(1), *racks, *full, huge)
    shown = [(each.value, each.outcome, each.reason) for each in plan.domains]
    assert shown[:2] == [
        ("r1", "Preempts", "costs least"),
        ("r0", "Preempts", "costs more: highest victim priority at least 5, not 4"),
    ]
    assert shown[2][:2] == ("r2", "Unschedulable")
    assert names(plan) == ["v1"]


def test_losers_beyond_the_best_fifty_are_counted() -> None:
    racks = [node(f"n{i:03}", labels={"rack": f"r{i:03}"}) for i in range(70)]
    small = [node(f"s{i:03}", cpu="1", labels={"rack": f"s{i:03}"}) for i in range(5)]
    plan = decide(gang(minimum=1, schedulingConstraints=RACK), *members(1), *racks, *small)
    assert len(plan.domains) == 51
    assert [(each.outcome, each.reason, each.count) for each in plan.other_domains] == [
        ("Fits", "fits as well", 19),
        ("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu", 5),
    ]


def test_a_group_in_all_mode_goes_whole_with_pods_elsewhere() -> None:
    whole = gang("victims", mode="all", priority=1)
    parts = [
        pod(f"p{i}", group="victims", node=f"n{i}", requests={"cpu": "4"}, priority=900) for i in range(2)
    ]
    plan = decide(gang(minimum=1), whole, *members(1), *parts, node("n0"), node("n1"))
    [victim] = plan.victims
    assert (victim.kind, victim.priority, [each.node for each in victim.pods]) == (
        "PodGroup",
        1,
        ["n0", "n1"],
    )
    single = gang("victims", mode="single", priority=1)
    plan = decide(gang(minimum=1), single, *members(1), *parts, node("n0"), node("n1"))
    assert [(each.kind, len(each.pods)) for each in plan.victims] == [("Pod", 1)]


@pytest.mark.parametrize("fields", [{"mirror": True, "priority": 1}, {"priority": 100}])
def test_who_never_goes(fields: dict[str, Any]) -> None:
    stays = pod("v", node="n0", requests={"cpu": "4"}, **fields)
    assert decide(gang(minimum=1), *members(1), node("n0"), stays).outcome == "Unschedulable"


def test_waiting_for_pods_that_terminate_is_no_preemption() -> None:
    leaving = pod("v", node="n0", requests={"cpu": "4"}, priority=900, deleting=True)
    plan = decide(gang(minimum=1), *members(1), node("n0"), leaving)
    assert (plan.outcome, plan.victims) == ("Fits", [])


@pytest.mark.parametrize("spec", [{"preemptionPolicy": "Never"}, {"minimum": 0}])
def test_who_never_evicts(spec: dict[str, Any]) -> None:
    full = pod("v", node="n0", requests={"cpu": "4"}, priority=1)
    group = gang(**{"minimum": 1, **spec})
    plan = decide(group, *members(1), node("n0"), full)
    assert (plan.outcome, plan.victims) == ("Unschedulable", [])
    assert "0/1 nodes are available: 1 Insufficient cpu" in plan.reason
    plan = decide(group, *members(2), node("n0"))
    assert (plan.outcome, [each.pod for each in plan.placements]) == ("Fits", ["m0"])


def test_a_basic_group_fits_when_one_member_does() -> None:
    racks = [node("n0", labels={"rack": "a"}), node("n1", labels={"rack": "b"})]
    full = [pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}, priority=1) for i in range(2)]
    basic = gang(minimum=0, schedulingConstraints=RACK)
    plan = decide(basic, *members(2), *racks, full[0])
    assert (plan.outcome, plan.domain and plan.domain.value) == ("Fits", "b")
    assert [(placed.pod, placed.node) for placed in plan.placements] == [("m0", "n1")]
    plan = decide(basic, *members(2), *racks, *full)
    assert (plan.outcome, plan.victims, plan.placements) == ("Unschedulable", [], [])
    assert plan.reason == "no member fits: 0/2 nodes are available: 2 Insufficient cpu"


@pytest.mark.parametrize("minimum", [0, 1])
def test_a_key_that_no_node_has_is_named(minimum: int) -> None:
    plan = decide(gang(minimum=minimum, schedulingConstraints=RACK), *members(1), node("n0"))
    assert (plan.outcome, plan.reason) == ("Unschedulable", "no node has the label rack")


def test_budgets_are_counted_and_named() -> None:
    apps = [
        pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}, priority=1, labels={"app": "a"}) for i in range(2)
    ]
    guard = budget("guard", selector={"matchLabels": {"app": "a"}}, allowed=1)
    plan = decide(gang(), *members(2), node("n0"), node("n1"), *apps, guard)
    assert plan.pod_disruption_budget_violations == 1
    assert [each.violates_pod_disruption_budget for each in plan.victims] == [True, True]
    plan = decide(gang(minimum=1), *members(1), node("n0"), node("n1"), *apps, guard)
    assert [each.violates_pod_disruption_budget for each in plan.victims] == [False]


def test_what_is_not_modelled_is_named() -> None:
    claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    plan = decide(gang(minimum=1), pod("m0", group="gang", volumes=claim), node("n0"))
    assert (plan.outcome, plan.not_modelled) == ("Fits", ["persistent volume claim"])
    teams, web_pods = {"matchLabels": {"team": "a"}}, {"matchLabels": {"app": "web"}}
    term = {"topologyKey": "rack", "labelSelector": web_pods, "namespaceSelector": teams}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    repelling = pod("r", node="n0", requests={"cpu": "1"}, priority=900, affinity=apart)
    web = [pod("m0", group="gang", requests={"cpu": "1"}, labels={"app": "web"})]
    rack = node("n0", labels={"rack": "a"})
    assert decide(gang(minimum=1), *web, rack, repelling).not_modelled == ["anti-affinity of running pods"]
    assert decide(gang(minimum=1), *members(1, cpu="1"), node("n0"), repelling).not_modelled == []


@pytest.mark.parametrize(
    ("selector", "alike"),
    [
        (None, ("m0", "m1", "m2", "m3")),
        ({"matchLabels": {"number": "1"}}, ("m0", "m2", "m3")),
        ({"matchExpressions": [{"key": "number", "operator": "In", "values": ["1", "2"]}]}, ("m0", "m3")),
    ],
    ids=["nobody selects numbers", "one selects a number", "one selects two"],
)
def test_members_that_a_selector_tells_apart_are_not_alike(
    selector: dict[str, Any] | None, alike: tuple[str, ...]
) -> None:
    numbered = [
        pod(f"m{number}", group="gang", requests={"cpu": "1"}, labels={"number": str(number)})
        for number in range(4)
    ]
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    running = pod("r", node="n0", requests={"cpu": "1"}, priority=900, affinity=apart if selector else None)
    nodes = [node(name, labels={"kubernetes.io/hostname": name}) for name in ("n0", "n1")]
    snapshot = tables(gang(minimum=4), *numbered, *nodes, running).snapshot()
    decision = group_decision(snapshot, NS, "gang")
    named = {tuple(sorted(uid.rpartition("-")[2] for uid in uids)) for uids in decision.alike}
    assert alike in named
    assert not any({"m0", "m1"} <= set(each) for each in named) or selector is None


def test_a_class_that_does_not_exist() -> None:
    orphan = gang("orphans", priority=None, priorityClassName="gone")
    full = pod("v", node="n0", requests={"cpu": "4"}, group="orphans", priority=1)
    with pytest.raises(DecisionError, match=r"PodGroup default/orphans: spec\.priorityClassName") as raised:
        decide(gang(minimum=1), *members(1), node("n0"), full, orphan)
    assert raised.value.subject == "PodGroup default/orphans"
    plan = decide(gang(minimum=1), *members(1), node("n0"), full, orphan, strict=False)
    assert plan.outcome == "Unschedulable"
    known = priority_class("gone", value=7)
    assert names(decide(gang(minimum=1), *members(1), node("n0"), full, orphan, known)) == ["v"]
    with pytest.raises(DecisionError, match="there is no PriorityClass 'x'"):
        decide(gang(priority=None, priorityClassName="x"), strict=False)


def test_objects_that_do_not_exist() -> None:
    snapshot = tables(pod("m0", group="gang")).snapshot()
    with pytest.raises(DecisionError, match="PodGroup default/gang: there is no such object"):
        decide_group(snapshot, NS, "gang")
    with pytest.raises(DecisionError, match="Pod default/x: there is no such object"):
        decide_pod(snapshot, NS, "x")


def test_a_single_pod_has_nodes_for_domains() -> None:
    full = [pod(f"v{i}", node=f"n{i}", requests={"cpu": "4"}, priority=3 - i) for i in range(2)]
    asking = pod("asking", priority=10, requests={"cpu": "2"})
    snapshot = tables(asking, node("n0"), node("n1"), *full).snapshot()
    plan = decide_pod(snapshot, NS, "asking")
    assert plan.domain is not None
    assert (plan.domain.topology_key, plan.domain.value) == ("kubernetes.io/hostname", "n1")
    assert (plan.preemptor.kind, plan.preemptor.api_version, names(plan)) == ("Pod", "v1", ["v1"])
    meek = pod("meek", priority=10, requests={"cpu": "2"}, preemptionPolicy="Never")
    assert decide_pod(tables(meek, node("n0"), *full).snapshot(), NS, "meek").outcome == "Unschedulable"


def test_a_single_pod_is_planned_on_the_named_nodes_only() -> None:
    """What its victims' groups have on other nodes goes, too. A daemon's affinity names its node."""
    low = [pod(f"v{i}", node=f"n{i}", group="low", requests={"cpu": "4"}, priority=1) for i in range(2)]
    asking = pod("asking", priority=10, requests={"cpu": "2"})
    nodes = [node("n0"), node("n1"), node("free")]
    snapshot = tables(asking, *nodes, gang("low", mode="all", priority=1), *low).snapshot()
    plan = pod_decision(snapshot, NS, "asking", among=frozenset({"n1"})).spec
    assert [each.node for each in plan.placements] == ["n1"]
    assert [each.name for victim in plan.victims for each in victim.pods] == ["v0", "v1"]
    assert pod_decision(snapshot, NS, "asking", among=frozenset()).spec.reason == "no nodes"
    barred = pod_decision(snapshot, NS, "asking", among=frozenset({"n1"}), barred="for a reason").spec
    assert (barred.outcome, barred.mismatch, barred.victims) == ("Unschedulable", "EvictedInVain", [])
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    daemon = pod("daemon", priority=2_000_001_000, affinity={"nodeAffinity": required})
    plan = decide_pod(
        tables(daemon, *nodes, gang("low", mode="all", priority=1), *low).snapshot(), NS, "daemon"
    )
    assert [each.node for each in plan.placements] == ["n1"]


def test_a_pod_that_its_gang_needs_costs_more_than_one_that_it_does_not() -> None:
    """The gang `tight` runs with minCount pods, `wide` with one more. Neither age nor name counts."""
    groups = [gang("tight", minimum=2, priority=1), gang("wide", minimum=1, priority=1)]
    old, young = "2020-01-01T00:00:00Z", "2026-01-01T00:00:00Z"

    def victim(name: str, group: str, at: str, started: str) -> Any:
        return pod(name, node=at, group=group, requests={"cpu": "4"}, priority=1, started=started)

    running = [
        victim("a0", "tight", "n0", young),
        victim("a1", "tight", "far", young),
        victim("w0", "wide", "n1", old),
        victim("w1", "wide", "far", old),
    ]
    asking = pod("asking", priority=10, requests={"cpu": "4"})
    nodes = [node("n0"), node("n1"), node("far", unschedulable=True)]
    snapshot = tables(asking, *nodes, *groups, *running).snapshot()
    plan = decide_pod(snapshot, NS, "asking")
    assert names(plan) == ["w0"]
    won, lost = plan.domains[:2]
    assert won.score is not None
    assert lost.score is not None
    assert (won.score.earliest_start, lost.score.earliest_start) == (old, young)
    assert lost.reason == "costs more: a victim of the highest priority is needed by its gang"


def test_of_pods_on_one_node_the_gang_keeps_those_that_it_needs() -> None:
    running = [
        pod(f"{group}{number}", node="n0", group=group, requests={"cpu": "1"}, priority=1, started=started)
        for group, started in (("tight", "2026-01-01T00:00:00Z"), ("wide", "2020-01-01T00:00:00Z"))
        for number in range(2)
    ]
    groups = [gang("tight", minimum=2, priority=1), gang("wide", minimum=1, priority=1)]
    asking = pod("asking", priority=10, requests={"cpu": "1"})
    plan = decide_pod(tables(asking, node("n0"), *groups, *running).snapshot(), NS, "asking")
    assert names(plan) == ["wide1"]


def test_a_single_pod_of_a_group_that_never_evicts() -> None:
    """The group's policy replaces the pod's own, as its priority does."""
    full = [node("n1"), pod("low", node="n1", requests={"cpu": "4"}, priority=1)]
    group = gang(minimum=1, preemptionPolicy="Never")
    (member,) = members(1)
    plan = decide_pod(tables(*full, group, member).snapshot(), "default", member.metadata.name)
    assert (plan.outcome, plan.victims) == ("Unschedulable", [])


def test_groups_that_interlock_go_by_the_decade() -> None:
    """500 groups of ten pods, group g on nodes 10g to 10g + 9: whoever breaks one decade of nodes uses it up."""
    nodes = [node(f"n{i:03}") for i in range(500)]
    groups = [gang(f"g{g:03}", minimum=10, mode="all", priority=10) for g in range(500)]
    running = [
        pod(
            f"p{g:03}-{i}",
            group=f"g{g:03}",
            node=f"n{(10 * g + i) % 500:03}",
            requests={"cpu": "400m"},
            priority=10,
        )
        for g in range(500)
        for i in range(10)
    ]
    plan = decide(gang(minimum=100), *members(100, cpu="3600m"), *nodes, *groups, *running)
    assert (len(plan.victims), sum(len(victim.pods) for victim in plan.victims)) == (90, 900)


def test_plans_can_be_written() -> None:
    plan = decide(
        gang(minimum=1), *members(1), node("n0"), pod("v", node="n0", priority=1, requests={"cpu": "1"})
    )
    assert msgspec.json.decode(msgspec.json.encode(plan), type=PreemptionPlanSpec) == plan
