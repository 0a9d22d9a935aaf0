"""Plans for clusters that nobody thought of."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.search.decision import EFFORT
from tests.kit.examples import examples
from tests.kit.plans.checker import Case, check, stated
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import alike, plan_for

Object = dict[str, Any]
Pairs = set[tuple[tuple[str, str], str]]


@st.composite
def contradicted(draw: st.DrawFn, pods: int = 10) -> tuple[list[Object], Pairs]:
    """A cluster, and pods with nodes where the scheduler did not take them: members, or at times others."""
    objects = draw(clusters(pods=pods))
    # Pods that have ended are in no table.
    rows = [each["metadata"] for each in objects if each["kind"] == "Pod" and lives(each)]
    nodes = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    members = [(meta["namespace"], meta["name"]) for meta in rows if meta["name"].startswith("h")]
    everybody = [(meta["namespace"], meta["name"]) for meta in rows]
    who = st.sampled_from(members or everybody) | st.sampled_from(everybody)
    pairs = draw(st.sets(st.tuples(who, st.sampled_from(nodes)), min_size=1, max_size=6))
    return objects, alike(objects, pairs)


def lives(pod: Object) -> bool:
    return pod["status"]["phase"] not in ("Succeeded", "Failed")


@settings(max_examples=examples(400), deadline=None)
@given(clusters())
def test_plans_are_right(objects: list[Object]) -> None:
    case = Case.of(objects, "d/hero")
    assert check(case, plan_for(objects, "d/hero"), case.outcome()) == []


@settings(max_examples=examples(400), deadline=None)
@given(contradicted(), st.sampled_from((0, EFFORT)))
def test_plans_leave_excluded_nodes_out(case: tuple[list[Object], Pairs], effort: int) -> None:
    objects, excluded = case
    checked = Case.of(objects, "d/hero", excluded)
    plan = plan_for(objects, "d/hero", effort=effort, excluded=excluded)
    assert check(checked, plan, checked.outcome()) == []
    nodes = {node for nodes in checked.domains.values() for node in nodes}
    unbound = {key for key in checked.members if not checked.node_of(key)}
    assert {each["node"] for each in plan.get("excluded", [])} <= {node for _, node in excluded}
    if plan["placements"]:
        assert {each["node"] for each in plan.get("excluded", [])} == {
            node for key, node in excluded if key in unbound and node in nodes
        }


@settings(max_examples=examples(100), deadline=None)
@given(contradicted())
def test_what_others_are_excluded_from_changes_nothing(case: tuple[list[Object], Pairs]) -> None:
    objects, excluded = case
    members = {*Case.of(objects, "d/hero").members}
    mine = {node for key, node in excluded if key in members}
    of_others = {(key, node) for key, node in excluded if node not in mine}
    assert plan_for(objects, "d/hero", excluded=of_others) == plan_for(objects, "d/hero")


@settings(max_examples=examples(150), deadline=None)
@given(contradicted(pods=8))
def test_in_small_clusters_plans_beside_excluded_nodes_cost_the_least_there_is(
    case: tuple[list[Object], Pairs],
) -> None:
    objects, excluded = case
    plan = plan_for(objects, "d/hero", excluded=excluded)
    if plan["outcome"] == "Preempts":
        assert (
            stated(plan["domains"][0]["score"]) == Case.of(objects, "d/hero", excluded).planned(plan).best()
        )


@settings(max_examples=examples(200), deadline=None)
@given(clusters())
def test_first_plans_are_right(objects: list[Object]) -> None:
    """Without any effort to better them, as in a cluster too large for it."""
    case = Case.of(objects, "d/hero")
    assert check(case, plan_for(objects, "d/hero", effort=0), case.outcome()) == []


@settings(max_examples=examples(200), deadline=None)
@given(clusters(pods=8))
def test_in_small_clusters_plans_cost_the_least_there_is(objects: list[Object]) -> None:
    plan = plan_for(objects, "d/hero")
    if plan["outcome"] == "Preempts":
        assert stated(plan["domains"][0]["score"]) == Case.of(objects, "d/hero").planned(plan).best()


@settings(max_examples=examples(100), deadline=None)
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_events_changes_nothing(objects: list[Object], random: Any) -> None:
    shuffled = random.sample(objects, len(objects))
    assert plan_for(shuffled, "d/hero") == plan_for(objects, "d/hero")


@settings(max_examples=examples(100), deadline=None)
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
