"""The optional terms of the score."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any, TypeVar

import pytest

from api.core import Node, Pod
from api.disruption import COST_ANNOTATION
from api.groups import PodGroup
from api.plan_results import DomainResult
from api.plans import PreemptionPlanSpec
from nodes.search.decision import decide_group
from nodes.state.costs import CostRules
from tests.kit.objects import gang, node, pod, tables
from tests.unit.nodes.search.support import NS, decide, names

T = TypeVar("T", Pod, PodGroup)


def costing(cost: object, item: T) -> T:
    """The same object with the annotation."""
    item.metadata.annotations = {COST_ANNOTATION: str(cost)}
    return item


def member(requests: str = "4") -> Pod:
    return pod("m0", group="gang", requests={"cpu": requests})


def victim(name: str, on: str = "n0", **fields: Any) -> Pod:
    return pod(name, **{"node": on, "priority": 1, "requests": {"cpu": "4"}, **fields})


def terms(result: DomainResult) -> dict[str, int]:
    assert result.score is not None
    return {term.name: term.value for term in result.score.terms}


def of(plan: PreemptionPlanSpec, value: str | None = None) -> DomainResult:
    return next(each for each in plan.domains if each.value == value)


# ---- what it costs to evict a unit


def test_of_equals_the_cheapest_goes() -> None:
    cluster = [gang(minimum=1), member(), node("n0"), node("n1"), node("n2")]
    running = [
        costing(7, victim("a", "n0")),
        costing(3, victim("b", "n1")),
        costing(5, victim("c", "n2")),
    ]
    for order in permutations(running):
        plan = decide(*cluster, *order)
        assert names(plan) == ["b"]
        assert terms(of(plan)) == {"DisruptionCost": 3}


def test_without_the_term_the_name_decides() -> None:
    cluster = [gang(minimum=1), member(), node("n0"), node("n1")]
    running = [costing(7, victim("a", "n0")), costing(3, victim("b", "n1"))]
    assert names(decide(*cluster, *running)) == ["b"]
    plan = decide(*cluster, *running, costs=CostRules(terms=()))
    assert (names(plan), terms(of(plan))) == (["a"], {})


def test_the_score_comes_first() -> None:
    """One victim of a high cost, not two that cost nothing; a younger one, not a cheaper one."""
    cluster = [gang(minimum=1), member(), node("n0"), node("n1")]
    dear = costing(10**6, victim("a", "n0"))
    halves = [victim(name, "n1", requests={"cpu": "2"}) for name in ("b", "c")]
    assert names(decide(*cluster, dear, *halves)) == ["a"]
    young = costing(9, victim("a", "n0", started="2026-01-02T00:00:00Z"))
    old = victim("b", "n1", started="2026-01-01T00:00:00Z")
    assert names(decide(*cluster, young, old)) == ["a"]


def test_domains_are_compared_by_it() -> None:
    racks = gang(minimum=1, schedulingConstraints={"topology": [{"key": "rack"}]})
    nodes = [node("n0", labels={"rack": "r0"}), node("n1", labels={"rack": "r1"})]
    plan = decide(racks, member(), *nodes, costing(8, victim("a", "n0")), costing(2, victim("b", "n1")))
    assert plan.domain is not None
    assert plan.domain.value == "r1"
    assert (terms(of(plan, "r0")), terms(of(plan, "r1"))) == ({"DisruptionCost": 8}, {"DisruptionCost": 2})
    assert of(plan, "r0").reason == "costs more: disruption cost 8, not 2"


@pytest.mark.parametrize(
    ("group", "pods", "cost"),
    [
        (None, ("3", None), 3),
        ("10", ("3", "4"), 10),
        ("0", ("3", "4"), 0),
        (None, (None, None), 0),
        (None, ("3", "4"), 7),
        ("-1", ("1.5", "2e3"), 0),
        ("a", ("", str(2**31)), 0),
        (None, (str(2**31 - 1), "2"), 2**31 - 1),
    ],
)
def test_a_group_that_goes_whole(group: str | None, pods: tuple[str | None, ...], cost: int) -> None:
    """What it says itself counts, else what its pods say together. What cannot be read counts as absent."""
    whole = gang("whole", mode="all", priority=1)
    if group is not None:
        costing(group, whole)
    running = [victim(f"p{number}", "n0", requests={"cpu": "2"}, group="whole") for number in range(2)]
    for said, each in zip(pods, running, strict=True):
        if said is not None:
            costing(said, each)
    plan = decide(gang(minimum=1), member(), node("n0"), whole, *running)
    assert (names(plan), terms(of(plan))) == (["whole"], {"DisruptionCost": cost})


@pytest.mark.parametrize(
    ("group", "own", "cost"), [("5", None, 5), ("5", "2", 2), (None, "2", 2), ("5", "0", 0)]
)
def test_a_pod_of_a_group_that_goes_pod_by_pod(group: str | None, own: str | None, cost: int) -> None:
    """What it says itself counts, else what its group says."""
    single = gang("single", mode="single", minimum=1, priority=1)
    running = victim("p0", "n0", group="single")
    if group is not None:
        costing(group, single)
    if own is not None:
        costing(own, running)
    plan = decide(gang(minimum=1), member(), node("n0"), single, running)
    assert (names(plan), terms(of(plan))) == (["p0"], {"DisruptionCost": cost})


def test_the_configuration_bounds_it_by_namespace() -> None:
    """Here a says the most, and counts least."""
    rules = CostRules(most=50, most_in={"a": 1})
    cluster = [gang(minimum=1), member(), node("n0"), node("n1"), node("n2")]
    running = [
        costing(10**6, victim("v", "n0", namespace="a")),
        costing(2, victim("v", "n1", namespace="b")),
        costing(80, victim("v", "n2", namespace="c")),
    ]
    plan = decide(*cluster, *running, costs=rules)
    assert ([each.namespace for each in plan.victims], terms(of(plan))) == (["a"], {"DisruptionCost": 1})
    plan = decide(
        *cluster, *running[2:], victim("x", "n0", priority=900), victim("y", "n1", priority=900), costs=rules
    )
    assert terms(of(plan)) == {"DisruptionCost": 50}


def test_nobody_goes_nobody_costs() -> None:
    plan = decide(gang(minimum=1), member(), node("n0"))
    assert (plan.outcome, terms(of(plan))) == ("Fits", {"DisruptionCost": 0})


def test_a_changed_annotation_is_a_change_for_decisions() -> None:
    found = tables(victim("v"), gang("g"))
    before = found.version
    assert found.upsert_pod(costing(1, victim("v")))
    assert found.upsert_group(costing(1, gang("g")))
    assert found.version == before + 2
    found.upsert_pod(costing("01", victim("v")))
    found.upsert_group(costing("01", gang("g")))
    assert found.version == before + 2


# ---- whole domains


def racks(**sizes: int) -> list[Node]:
    """Racks with their numbers of nodes: r0-0, r0-1 and so on."""
    return [
        node(f"{rack}-{number}", labels={"rack": rack})
        for rack, size in sizes.items()
        for number in range(size)
    ]


FRAGMENTATION = CostRules(terms=("Fragmentation",))
IN_A_RACK: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}


def chosen(plan: PreemptionPlanSpec) -> str | None:
    return plan.domain.value if plan.domain is not None else None


def test_the_largest_whole_domains_stay_whole() -> None:
    cluster = [gang(minimum=1, **IN_A_RACK), member(), *racks(a=3, b=2, c=4, d=2)]
    used = pod("used", node="c-0", requests={"cpu": "100m"}, priority=900)
    assert chosen(decide(*cluster)) == "a"
    plan = decide(*cluster, costs=FRAGMENTATION)
    assert (chosen(plan), terms(of(plan, "b")), terms(of(plan, "c"))) == (
        "b",
        {"Fragmentation": 2},
        {"Fragmentation": 4},
    )
    assert of(plan, "c").reason == "costs more: nodes of a whole domain 4, not 2"
    assert of(plan, "d").reason == "fits as well, and its name comes later"
    plan = decide(*cluster, used, costs=FRAGMENTATION)
    assert (chosen(plan), terms(of(plan, "c"))) == ("c", {"Fragmentation": 0})


@pytest.mark.parametrize("kind", ["daemon", "static", "terminating"])
def test_what_every_node_runs_or_leaves_does_not_count(kind: str) -> None:
    resting = pod(
        "resting",
        node="b-0",
        requests={"cpu": "100m"},
        priority=900,
        mirror=kind == "static",
        deleting=kind == "terminating",
        controller="agents" if kind == "daemon" else None,
    )
    for owner in resting.metadata.owner_references or ():
        owner.kind = "DaemonSet"
    cluster = [gang(minimum=1, **IN_A_RACK), member(), *racks(a=1, b=2)]
    plan = decide(*cluster, resting, costs=FRAGMENTATION)
    assert (chosen(plan), terms(of(plan, "b"))) == ("a", {"Fragmentation": 2})


def test_room_that_is_promised_counts() -> None:
    cluster = [gang(minimum=1, **IN_A_RACK), member(), pod("other"), *racks(a=1, b=2)]
    snapshot = tables(*cluster, costs=FRAGMENTATION).snapshot()
    promised = {snapshot.pod_names.index("other"): snapshot.node_names.index("b-0")}
    assert chosen(decide_group(replace(snapshot, promised=promised), NS, "gang")) == "b"


def test_members_that_need_nobody_to_go_choose_the_same_way() -> None:
    plan = decide(gang(minimum=0, **IN_A_RACK), member(), *racks(a=3, b=2), costs=FRAGMENTATION)
    assert (chosen(plan), terms(of(plan, "b"))) == ("b", {"Fragmentation": 2})


def test_the_order_of_the_terms_is_that_of_the_configuration() -> None:
    both = CostRules(terms=("Fragmentation", "DisruptionCost"))
    plan = decide(gang(minimum=1), member(), node("n0"), costs=both)
    assert list(terms(of(plan))) == ["Fragmentation", "DisruptionCost"]


# ---- who fits elsewhere


CASCADE = CostRules(terms=("Cascade",))


def test_a_victim_that_fits_elsewhere_is_cheaper() -> None:
    """Both are alike but in what they select: b runs on with nobody gone, and a does not."""
    cluster = [gang(minimum=1, **IN_A_RACK), member(), node("n2", cpu="3", labels={"disk": "ssd"})]
    cluster += [node("n0", labels={"rack": "r0"}), node("n1", labels={"rack": "r1"})]
    a = victim("a", "n0", requests={"cpu": "3"}, nodeSelector={"disk": "hdd"})
    b = victim("b", "n1", requests={"cpu": "3"}, nodeSelector={"disk": "ssd"})
    plan = decide(*cluster, a, b, costs=CASCADE)
    assert (names(plan), terms(of(plan, "r0")), terms(of(plan, "r1"))) == (
        ["b"],
        {"Cascade": 1},
        {"Cascade": 0},
    )
    assert of(plan, "r0").reason == "costs more: victims that fit nowhere else 1, not 0"
    assert names(decide(*cluster, a, b)) == ["a"]


def test_inside_of_the_domain_is_not_elsewhere() -> None:
    """With one domain, any other node is."""
    nodes = [
        node("n0", labels={"rack": "r0"}),
        node("n1", cpu="2", labels={"rack": "r0"}),
        node("n9", cpu="1", labels={"rack": "r9"}),
    ]
    running = victim("a", "n0", requests={"cpu": "2"})
    within = decide(gang(minimum=1, **IN_A_RACK), member(), *nodes, running, costs=CASCADE)
    anywhere = decide(gang(minimum=1), member(), *nodes, running, costs=CASCADE)
    assert (terms(of(within, "r0")), terms(of(anywhere))) == ({"Cascade": 1}, {"Cascade": 0})


@pytest.mark.parametrize(
    ("free", "value"), [(("2", "2"), 0), (("2", "1"), 1), (("4",), 0), (("3",), 1), ((), 1)]
)
def test_a_group_that_goes_whole_must_fit_whole(free: tuple[str, ...], value: int) -> None:
    whole = gang("whole", mode="all", priority=1)
    running = [victim(f"p{number}", requests={"cpu": "2"}, group="whole") for number in range(2)]
    others = [node(f"free-{number}", cpu=cpu, labels={"rack": "b"}) for number, cpu in enumerate(free)]
    home = node("n0", labels={"home": "a"})
    preemptor = gang(minimum=1, schedulingConstraints={"topology": [{"key": "home"}]})
    plan = decide(preemptor, member(), home, *others, whole, *running, costs=CASCADE)
    assert terms(of(plan, "a")) == {"Cascade": value}


def test_a_group_of_one_rack_must_fit_in_one_rack() -> None:
    topology = {"topology": [{"key": "rack"}]}
    running = [victim(f"p{number}", requests={"cpu": "2"}, group="whole") for number in range(2)]
    others = [node("b-0", cpu="2", labels={"rack": "b"}), node("c-0", cpu="2", labels={"rack": "c"})]
    home = node("n0", labels={"rack": "a"})
    for constraints, value in ((None, 0), (topology, 1)):
        whole = gang("whole", mode="all", priority=1, schedulingConstraints=constraints)
        plan = decide(gang(minimum=1, **IN_A_RACK), member(), home, *others, whole, *running, costs=CASCADE)
        assert terms(of(plan, "a")) == {"Cascade": value}
