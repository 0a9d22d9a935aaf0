"""Plans that filters which look at other nodes take, what they cost, and what is said where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Node, Pod
from nodes.answers.asking import decide_pod
from nodes.search.spreading import obeying, victims
from tests.kit.objects import gang, node, pod, tables
from tests.unit.nodes.search.support import NS, decide, names

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}


def zones(**cpu: str) -> list[Node]:
    """A node of this size for each name; the first letter is the zone."""
    return [node(name, cpu=size, labels={"zone": name[0]}) for name, size in cpu.items()]


def spread(skew: int = 1, **more: Any) -> dict[str, Any]:
    constraint = {"topologyKey": "zone", "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", **more}
    return {"topologySpreadConstraints": [{"labelSelector": WEB, **constraint}]}


def beside(selector: dict[str, Any]) -> dict[str, Any]:
    term = {"topologyKey": "zone", "labelSelector": selector}
    return {"affinity": {"podAffinity": {REQUIRED: [term]}}}


def member(number: int, cpu: str = "1", **fields: Any) -> Pod:
    labels = fields.pop("labels", {"app": "web"})
    return pod(f"m{number}", group="gang", labels=labels, requests={"cpu": cpu}, **fields)


def low(name: str, at: str, priority: int = 1, cpu: str = "1", **fields: Any) -> Pod:
    return pod(name, node=at, requests={"cpu": cpu}, priority=priority, **fields)


def test_the_cheapest_of_the_valid_ways_is_found() -> None:
    """One member for each zone. In each zone there is a cheap victim and a dear one."""
    running = [
        low(f"{zone}{number}", f"{zone}{number}", 10 * number + 1) for zone in "ab" for number in (0, 1)
    ]
    plan = decide(
        gang(), member(0, **spread()), member(1, **spread()), *running, *zones(a0="1", a1="1", b0="1", b1="1")
    )
    assert sorted(names(plan)) == ["a0", "b0"]
    assert plan.priority_cutoff == 1


def test_a_victim_that_counts_frees_its_zone() -> None:
    """The pod in zone a is cheaper than the one in zone b, and there is room for the member beside it."""
    counting = low("counts", "a0", labels={"app": "web"})
    plan = decide(
        gang(minimum=1), member(0, **spread()), counting, low("b", "b0", 50), *zones(a0="2", b0="1")
    )
    assert (plan.outcome, names(plan)) == ("Preempts", ["counts"])


def test_only_victims_that_are_needed_go_where_not_all_choices_are_tried() -> None:
    """The member fits in the place of `b`, or of `c`, whose zone is too full. No choice but that of all has `b`."""
    web = {"app": "web"}
    cheap = [low(f"a{number}", "a0", labels=web) for number in range(8)]
    kept = [low(f"kept{number}", "c1", 900, labels=web) for number in range(3)]
    needed = [low("b", "b0", 50, cpu="9", labels=web), low("c", "c0", cpu="9")]
    plan = decide(
        gang(minimum=1),
        member(0, "9", **spread()),
        *cheap,
        *kept,
        *needed,
        *zones(a0="8", b0="9", c0="9", c1="3"),
    )
    assert (plan.outcome, names(plan), plan.priority_cutoff) == ("Preempts", ["b"], 50)
    assert [each.node for each in plan.placements] == ["b0"]


def test_the_search_says_when_its_steps_are_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obeying, "STEPS", 0)
    monkeypatch.setattr(obeying, "EACH", 0)
    running = [low(f"a{number}", f"a{number}") for number in (0, 1)]
    plan = decide(
        gang(),
        *(member(number, **spread()) for number in range(2)),
        *running,
        low("b", "b0", 50),
        *zones(a0="1", a1="1", b0="1"),
    )
    assert (plan.outcome, names(plan), plan.placements) == ("SearchBudgetExhausted", [], [])
    assert "the search budget was spent" in plan.reason


def test_choices_that_are_not_all_tried_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """No choice of one victim helps, and those of two are not tried."""
    monkeypatch.setattr(victims, "ALL", 1)
    monkeypatch.setattr(victims, "MANY", 0)
    running = [low(f"v{number}", "a0", labels={"app": "web"}) for number in range(2)]
    plan = decide(
        gang(minimum=1), member(0, **spread()), *running, low("b", "b0", 900), *zones(a0="3", b0="1")
    )
    assert plan.outcome == "SearchBudgetExhausted"


def test_the_numbers_of_a_refusal() -> None:
    members = [member(number, **spread()) for number in range(4)]
    plan = decide(gang(minimum=4), *members, *zones(a0="4", b0="1"))
    assert plan.reason == "3 of 4 members can run: topology spread by zone (maxSkew 1): b has room for 1"
    assert [each.reason for each in plan.domains] == [plan.reason]


def test_each_domain_that_is_refused_says_why() -> None:
    racks = [node(f"r{number}", cpu="4", labels={"rack": f"r{number}", "zone": "a"}) for number in range(60)]
    good = [node(f"s{zone}", cpu="4", labels={"rack": "s", "zone": zone}) for zone in "ab"]
    plan = decide(gang(topology="rack"), *(member(number, **spread()) for number in range(2)), *racks, *good)
    assert plan.domain is not None
    assert (plan.domain.value, plan.domains[0].outcome) == ("s", "Fits")
    refused = {each.reason for each in plan.domains[1:]}
    assert refused == {"1 of 2 members can run: topology spread by zone (maxSkew 1): b has no room"}
    ((outcome, reason, count),) = [(each.outcome, each.reason, each.count) for each in plan.other_domains]
    assert (outcome, count) == ("Unschedulable", 10)
    assert reason == "refused by topology spread by zone (maxSkew 1)"


@pytest.mark.parametrize("priority", [1, 900])
def test_a_single_pod_tries_its_other_nodes(priority: int) -> None:
    """It takes the free zone if the pod that counts has to stay, and also if that one could be evicted."""
    there = low("there", "a0", priority, labels={"app": "web"})
    asking = pod("x", requests={"cpu": "1"}, priority=100, labels={"app": "web"}, **spread())
    plan = decide_pod(tables(there, asking, *zones(a0="4", b0="4")).snapshot(), NS, "x")
    assert (plan.outcome, [each.node for each in plan.placements]) == ("Fits", ["b0"])
    assert plan.domains[1].reason == (
        "topology spread by zone (maxSkew 1): a has 1, and b has 0"
        if priority == 900
        else "costs more: it needs evictions"
    )


def test_members_that_the_gang_can_do_without_are_tried() -> None:
    """The oldest two cannot run: no pod of the app is there for them. The youngest is one."""
    lone = [member(number, labels={"app": "db"}, **beside(WEB)) for number in range(2)]
    plan = decide(gang(minimum=2), *lone, member(2), *zones(a0="4"))
    assert plan.outcome == "Fits"
    assert [(each.pod, each.wave) for each in plan.placements if not each.beyond_min_count] == [
        ("m2", 0),
        ("m0", 1),
    ]


def test_a_single_pod_passes_over_many_nodes_that_look_cheap() -> None:
    """Zone a has the cheapest victims on a hundred nodes. On none of them are there enough that count."""
    cheap = {f"a{number}": "1" for number in range(100)}
    running = [low(name, name, labels={"app": "web"}) for name in cheap]
    dear = low("dear", "b0", 50)
    asking = pod("x", requests={"cpu": "1"}, priority=100, labels={"app": "web"}, **spread())
    plan = decide_pod(tables(asking, dear, *running, *zones(**cheap, b0="1")).snapshot(), NS, "x")
    assert (plan.outcome, names(plan)) == ("Preempts", ["dear"])
    assert plan.domains[1].reason.startswith("topology spread by zone (maxSkew 1): a has 100, and b has 0")
    assert sum(each.count for each in plan.other_domains) == 50
