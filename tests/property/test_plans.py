"""Plans for clusters that nobody thought of."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.plans.checker import Case, check, stated
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import plan_for

Object = dict[str, Any]


@settings(max_examples=400, deadline=None)
@given(clusters())
def test_plans_are_right(objects: list[Object]) -> None:
    case = Case.of(objects, "d/hero")
    assert check(case, plan_for(objects, "d/hero"), case.outcome()) == []


@settings(max_examples=200, deadline=None)
@given(clusters())
def test_first_plans_are_right(objects: list[Object]) -> None:
    """Without any effort to better them, as in a cluster too large for it."""
    case = Case.of(objects, "d/hero")
    assert check(case, plan_for(objects, "d/hero", effort=0), case.outcome()) == []


@settings(max_examples=200, deadline=None)
@given(clusters(pods=8))
def test_in_small_clusters_plans_cost_the_least_there_is(objects: list[Object]) -> None:
    plan = plan_for(objects, "d/hero")
    if plan["outcome"] == "Preempts":
        assert stated(plan["domains"][0]["score"]) == Case.of(objects, "d/hero").best()


@settings(max_examples=100, deadline=None)
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_events_changes_nothing(objects: list[Object], random: Any) -> None:
    shuffled = random.sample(objects, len(objects))
    assert plan_for(shuffled, "d/hero") == plan_for(objects, "d/hero")


@settings(max_examples=100, deadline=None)
@given(clusters(), st.integers(0, 3), st.sampled_from((1000, 2000)))
def test_pods_that_ask_for_nothing_and_may_not_go_change_nothing(
    objects: list[Object], node: int, priority: int
) -> None:
    """The pod count aside, which is why only nodes with room for many are looked at."""
    nodes = [each for each in objects if each["kind"] == "Node"]
    chosen = nodes[node % len(nodes)]
    if chosen["status"]["allocatable"]["pods"] != "110":
        return
    idle = {
        "kind": "Pod",
        "metadata": {"name": "idle", "namespace": "other", "uid": "uid-idle"},
        "spec": {"nodeName": chosen["metadata"]["name"], "priority": priority, "containers": [{"name": "c"}]},
        "status": {"phase": "Running"},
    }
    assert plan_for([*objects, idle], "d/hero") == plan_for(objects, "d/hero")
