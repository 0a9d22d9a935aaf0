"""How far the disruption budgets of victims count."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod, PodDisruptionBudget
from api.disruption import BUDGETS_ANNOTATION, BudgetPolicy
from api.groups import PodGroup
from api.plan_results import StoppingBudget
from nodes.answers.asking import decide_pod
from nodes.search.decision import decide_group
from nodes.search.survivors import survivors
from nodes.state.costs import CostRules
from tests.kit.objects import budget, gang, member, node, pod, tables
from tests.unit.nodes.search.support import NS, decide, names

RESPECT, IGNORE = CostRules(budgets="Respect"), CostRules(budgets="Ignore")
WEB = {"app": "web"}


def victim(name: str, on: str = "n0", **fields: Any) -> Pod:
    return pod(name, **{"node": on, "priority": 1, "requests": {"cpu": "4"}, **fields})


def web(allowed: int = 0, name: str = "web", **fields: Any) -> PodDisruptionBudget:
    return budget(name, selector={"matchLabels": WEB}, allowed=allowed, **fields)


def asking(policy: str, group: PodGroup) -> PodGroup:
    group.metadata.annotations = {BUDGETS_ANNOTATION: policy}
    return group


def test_a_budget_stops_whom_it_protects_and_nobody_else() -> None:
    cluster = [gang(minimum=1), member(), node("n0"), web()]
    preferring = decide(*cluster, victim("v", labels=WEB))
    assert (preferring.outcome, preferring.pod_disruption_budget_violations) == ("Preempts", 1)
    plan = decide(*cluster, victim("v", labels=WEB), costs=RESPECT)
    assert (plan.outcome, plan.victims, plan.pod_disruption_budget_policy) == ("Unschedulable", [], "Respect")
    assert plan.stopped_by_pod_disruption_budgets == [StoppingBudget("default", "web", 0)]
    assert plan.reason.startswith("PodDisruptionBudgets are respected, and stop it: web (allows 0); ")
    other = decide(
        *cluster, node("n1"), victim("v", labels=WEB), victim("w", "n1", priority=50), costs=RESPECT
    )
    assert (names(other), other.pod_disruption_budget_violations) == (["w"], 0)


def test_what_it_allows_may_go() -> None:
    cluster = [gang(minimum=2), member(0), member(1), node("n0"), node("n1")]
    running = [victim("a", "n0", labels=WEB), victim("b", "n1", labels=WEB)]
    plan = decide(*cluster, *running, web(1), costs=RESPECT)
    assert plan.outcome == "Unschedulable"
    assert plan.stopped_by_pod_disruption_budgets == [StoppingBudget("default", "web", 1)]
    assert plan.domains[0].reason == "the best plan that was found would exceed PodDisruptionBudgets by 1 pod"
    assert names(decide(*cluster, *running, web(2), costs=RESPECT)) == ["a", "b"]
    # Whoever is being disrupted already is counted already.
    assert names(decide(*cluster, *running, web(1, disrupted=["a"]), costs=RESPECT)) == ["a", "b"]


def test_a_group_goes_whole_or_not_at_all() -> None:
    whole = gang("whole", mode="all", priority=1)
    running = [victim(f"v{number}", requests={"cpu": "2"}, group="whole", labels=WEB) for number in range(2)]
    cluster = [gang(minimum=1), member(), node("n0"), whole, *running]
    for each in running:
        each.metadata.labels = {**WEB, "reprieve.dev/pod-group": "whole"}
    assert decide(*cluster, web(1), costs=RESPECT).outcome == "Unschedulable"
    assert names(decide(*cluster, web(2), costs=RESPECT)) == ["whole"]


def test_a_pod_of_two_budgets_stays() -> None:
    """The API server evicts no such pod, whatever the budgets allow."""
    cluster = [gang(minimum=1), member(), node("n0"), victim("v", labels=WEB), web(5), web(3, "also")]
    plan = decide(*cluster, costs=RESPECT)
    assert plan.outcome == "Unschedulable"
    assert plan.stopped_by_pod_disruption_budgets == [
        StoppingBudget("default", "also", 3),
        StoppingBudget("default", "web", 5),
    ]
    assert decide(*cluster).outcome == "Preempts"


@pytest.mark.parametrize(
    ("budget_says", "victim_is", "goes"),
    [
        ({"policy": "AlwaysAllow"}, {"ready": False}, True),
        ({"policy": "AlwaysAllow"}, {"ready": True}, False),
        ({"policy": "AlwaysAllow"}, {}, True),
        ({"policy": "IfHealthyBudget", "healthy": 1, "desired": 2}, {"ready": False}, False),
        ({"policy": "IfHealthyBudget", "healthy": 2, "desired": 2}, {"ready": False}, True),
        ({"healthy": 2, "desired": 2}, {"ready": False}, True),
        ({"healthy": 2, "desired": 2}, {"ready": True}, False),
        ({"healthy": 1, "desired": 0}, {"ready": False}, False),
        ({"healthy": 1, "desired": 2}, {"phase": "Pending"}, True),
    ],
)
def test_budgets_that_are_respected_count_as_in_the_eviction_api(
    budget_says: dict[str, Any], victim_is: dict[str, Any], goes: bool
) -> None:
    """kube-scheduler's preemption does not look at the health of pods, and so the policy Prefer does not."""
    running = victim("v", labels=WEB, **{"phase": "Running", **victim_is})
    cluster = [gang(minimum=1), member(), node("n0"), web(**budget_says), running]
    plan = decide(*cluster, costs=RESPECT)
    if goes:
        assert (names(plan), plan.pod_disruption_budget_violations) == (["v"], 0)
        assert not plan.victims[0].violates_pod_disruption_budget
    else:
        assert plan.stopped_by_pod_disruption_budgets == [StoppingBudget("default", "web", 0)]
    preferring = decide(*cluster)
    assert (names(preferring), preferring.pod_disruption_budget_violations) == (["v"], 1)


def test_exempt_pods_leave_the_allowance_to_others() -> None:
    cluster = [gang(minimum=2), member(0), member(1), node("n0"), node("n1"), web(1, policy="AlwaysAllow")]
    ready, broken = victim("a", "n0", labels=WEB, ready=True), victim("b", "n1", labels=WEB, ready=False)
    assert names(decide(*cluster, ready, broken, costs=RESPECT)) == ["a", "b"]
    also = victim("b", "n1", labels=WEB, ready=True)
    assert decide(*cluster, ready, also, costs=RESPECT).outcome == "Unschedulable"
    # With names in disruptedPods, and with several budgets, pods are counted another way.
    beside = budget("all", namespace="other", selector={}, disrupted=["x"])
    assert names(decide(*cluster, ready, broken, beside, costs=RESPECT)) == ["a", "b"]


def test_of_a_group_only_the_pods_count_that_are_ready() -> None:
    whole = gang("whole", mode="all", priority=1)
    labels = {**WEB, "reprieve.dev/pod-group": "whole"}
    running = [
        victim(f"v{number}", requests={"cpu": "2"}, labels=labels, ready=number == 0) for number in range(2)
    ]
    cluster = [gang(minimum=1), member(), node("n0"), whole, *running]
    assert names(decide(*cluster, web(1, policy="AlwaysAllow"), costs=RESPECT)) == ["whole"]
    plan = decide(*cluster, web(0, policy="AlwaysAllow"), costs=RESPECT)
    assert plan.stopped_by_pod_disruption_budgets == [StoppingBudget("default", "web", 0)]


def test_a_pending_pod_of_two_budgets_may_go() -> None:
    cluster = [gang(minimum=1), member(), node("n0"), web(policy="AlwaysAllow"), web(5, "also")]
    assert decide(*cluster, victim("v", labels=WEB, ready=False), costs=RESPECT).outcome == "Unschedulable"
    assert names(decide(*cluster, victim("v", labels=WEB, phase="Pending"), costs=RESPECT)) == ["v"]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("Prefer", "still fits; evicting it would break budget default/web (allows 0)"),
        ("Respect", "still fits beside the preemptor"),
        ("Ignore", "still fits beside the preemptor"),
    ],
)
def test_a_budget_is_no_reason_to_stay_for_pods_that_do_not_count(policy: BudgetPolicy, why: str) -> None:
    cluster = [gang(minimum=1), member(), node("n0"), node("n1"), web(policy="AlwaysAllow")]
    stays = victim("stays", "n1", labels=WEB, ready=False, started="2026-01-01T00:00:00Z")
    goes = victim("goes", started="2026-01-02T00:00:00Z")
    snapshot = tables(*cluster, goes, stays, costs=CostRules(budgets=policy)).snapshot()
    plan = decide_group(snapshot, NS, "gang")
    assert names(plan) == ["goes"]
    assert [unit.why for unit in survivors(snapshot, plan).units] == [why]


def test_budgets_do_not_stop_what_would_not_fit_without_them() -> None:
    big = pod("m0", group="gang", requests={"cpu": "9"})
    plan = decide(gang(minimum=1), big, node("n0"), web(), victim("v", labels=WEB), costs=RESPECT)
    assert plan.outcome == "Unschedulable"
    assert not plan.stopped_by_pod_disruption_budgets
    assert "PodDisruptionBudgets" not in plan.reason


def test_budgets_of_other_namespaces_are_counted_in_the_reason_and_named_in_the_list() -> None:
    foreign = budget("db", namespace="other", selector={"matchLabels": WEB})
    running = victim("v", namespace="other", labels=WEB)
    plan = decide(gang(minimum=1), member(), node("n0"), foreign, running, costs=RESPECT)
    assert "stop it: 1 budget of other namespaces" in plan.reason
    assert "db" not in plan.reason
    assert plan.stopped_by_pod_disruption_budgets == [StoppingBudget("other", "db", 0)]


def test_ignored_budgets_decide_nothing() -> None:
    cluster = [gang(minimum=1), member(), node("n0"), node("n1"), web()]
    running = [victim("v", "n0", labels=WEB), victim("w", "n1", priority=2)]
    assert names(decide(*cluster, *running)) == ["w"]
    plan = decide(*cluster, *running, costs=IGNORE)
    assert (names(plan), plan.pod_disruption_budget_violations) == (["v"], 0)
    assert plan.pod_disruption_budget_policy == "Ignore"
    assert not plan.victims[0].violates_pod_disruption_budget


@pytest.mark.parametrize(
    ("configured", "said", "looser", "counts"),
    [
        ("Prefer", None, False, "Prefer"),
        ("Prefer", "Respect", False, "Respect"),
        ("Prefer", "Ignore", False, "Prefer"),
        ("Prefer", "Ignore", True, "Ignore"),
        ("Respect", "Prefer", False, "Respect"),
        ("Respect", "Prefer", True, "Prefer"),
        ("Ignore", "Respect", False, "Respect"),
        ("Ignore", "Prefer", True, "Prefer"),
        ("Respect", "nonsense", True, "Respect"),
        ("Respect", None, True, "Respect"),
    ],
)
def test_a_group_may_be_stricter_and_where_the_configuration_lets_it_looser(
    configured: BudgetPolicy, said: str | None, looser: bool, counts: BudgetPolicy
) -> None:
    costs = CostRules(budgets=configured, looser_in=frozenset({NS} if looser else {"other"}))
    group = gang(minimum=1) if said is None else asking(said, gang(minimum=1))
    plan = decide(group, member(), node("n0"), costs=costs)
    assert (plan.pod_disruption_budget_policy or "Prefer") == counts


def test_a_pod_alone_asks_by_the_configuration_and_its_group() -> None:
    cluster = [node("n0"), web(), victim("v", labels=WEB)]
    alone = pod("alone", priority=10, requests={"cpu": "4"})
    assert decide_pod(tables(*cluster, alone).snapshot(), NS, "alone").outcome == "Preempts"
    respecting = tables(*cluster, alone, costs=RESPECT).snapshot()
    assert decide_pod(respecting, NS, "alone").outcome == "Unschedulable"
    grouped = tables(*cluster, member(), asking("Respect", gang(minimum=1))).snapshot()
    assert decide_pod(grouped, NS, "m0").outcome == "Unschedulable"


def test_a_changed_policy_is_a_change_for_decisions() -> None:
    found = tables(gang("g"))
    before = found.version
    assert found.upsert_group(asking("Respect", gang("g")))
    assert found.version == before + 1
    found.upsert_group(asking("Respect", gang("g")))
    assert found.version == before + 1
