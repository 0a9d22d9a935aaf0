"""Which plans are Blocked by what is not modelled, and which ones need the scheduler's word."""

from __future__ import annotations

import pytest

from api.plan_results import Outcome
from api.plans import Placement, PreemptionPlanSpec, Preemptor
from nodes.filters.registry import FILTERS, LOCAL
from nodes.search.decision import decide_group
from nodes.search.unmodelled import why_blocked
from tests.kit.objects import GANG, gang, node, pod, tables

LOCAL_NAME = min(LOCAL)


def spec(names: list[str], nodes: list[str], outcome: Outcome = "Preempts") -> PreemptionPlanSpec:
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "team", "gang", "uid", 100),
        outcome=outcome,
        reason="why",
        placements=[Placement(f"m{number}", node, f"m{number}") for number, node in enumerate(nodes)],
        not_modelled=names,
    )


@pytest.mark.parametrize(
    ("names", "nodes", "blocked"),
    [
        ([], ["a", "a"], False),
        ([LOCAL_NAME], ["a", "b"], False),
        ([LOCAL_NAME], ["a", "a"], True),
        (["resource claims (DRA)"], ["a", "b"], True),
        (["resource claims (DRA)", LOCAL_NAME], ["a"], True),
        (["topology spread (DoNotSchedule)"], ["a"], True),
    ],
)
def test_members_alone_on_their_nodes_may_be_asked_about(
    names: list[str], nodes: list[str], blocked: bool
) -> None:
    why = f"not modelled: {', '.join(names)}"
    assert why_blocked(spec(names, nodes)) == (why if blocked else "")
    assert why_blocked(spec(names, nodes), asks=False) == (why if names else "")
    assert why_blocked(spec(names, nodes, "Fits"), asks=False) == ""


def test_filters_that_look_at_other_nodes_have_nothing_local() -> None:
    looking = {"InterPodAffinity", "PodTopologySpread", "DynamicResources", "GangScheduling"}
    assert all(not each.local for each in FILTERS if each.name in looking)
    assert LOCAL


def test_what_we_take_as_a_refusal_does_not_matter_where_we_admit() -> None:
    """A toleration operator that we do not know can only admit more."""
    toleration = {"key": "level", "operator": "Gt", "value": "1"}
    member = pod("m", group=GANG, tolerations=[toleration])
    full = [node("n1", cpu="1"), pod("low", node="n1", priority=0), gang(minimum=1), member]
    plan = decide_group(tables(*full).snapshot(), "default", GANG)
    assert (plan.outcome, plan.not_modelled) == ("Preempts", [])
    level = {"key": "level", "value": "2", "effect": "NoSchedule"}
    for taints, named in (([level], ["toleration operator Gt"]), ([], [])):
        small = node("n1", cpu="500m", taints=taints)
        plan = decide_group(tables(small, gang(minimum=1), member).snapshot(), "default", GANG)
        assert (plan.outcome, plan.not_modelled) == ("Unschedulable", named)
