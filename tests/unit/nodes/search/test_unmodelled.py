"""Which plans are Blocked by what is not modelled, and which ones need the scheduler's word."""

from __future__ import annotations

import pytest

from api.plans import Outcome, Placement, PreemptionPlanSpec, Preemptor
from nodes.filters.registry import FILTERS, LOCAL
from nodes.search.unmodelled import why_blocked


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
        (["toleration operator Gt"], ["a", "b"], False),
        (["toleration operator Gt"], ["a", "a"], True),
        (["resource claims (DRA)"], ["a", "b"], True),
        (["resource claims (DRA)", "toleration operator Gt"], ["a"], True),
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
