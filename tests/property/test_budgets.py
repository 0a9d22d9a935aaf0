"""Budgets that are respected are never exceeded, and those that are ignored decide nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.search.decision import EFFORT
from nodes.state.costs import CostRules
from tests.kit.examples import examples
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import plan_for

Object = dict[str, Any]
PREFER, RESPECT, IGNORE = CostRules(), CostRules(budgets="Respect"), CostRules(budgets="Ignore")
POLICY = "podDisruptionBudgetPolicy"
STOPPED = "stoppedByPodDisruptionBudgets"


@st.composite
def protected(draw: st.DrawFn) -> list[Object]:
    """A cluster with a budget for most pods, at times one for all besides."""
    objects = draw(clusters(budgets=False, pods=8))
    for app in sorted(draw(st.sets(st.sampled_from("abc"), min_size=1))):
        objects.append(draw(budget(app, {"matchLabels": {"app": app}})))
    if not draw(st.integers(0, 3)):
        objects.append(draw(budget("all", {})))
    return objects


@st.composite
def budget(draw: st.DrawFn, name: str, selector: Object) -> Object:
    status: Object = {"disruptionsAllowed": draw(st.sampled_from((0, 1, 1, 1, 2)))}
    if draw(st.booleans()):
        status["disruptedPods"] = {f"v{draw(st.integers(0, 9))}": "2026-01-02T00:00:00Z"}
    meta = {"name": name, "namespace": "d", "uid": f"uid-{name}"}
    return {"kind": "PodDisruptionBudget", "metadata": meta, "spec": {"selector": selector}, "status": status}


def drawn(objects: list[Object], plan: Object) -> dict[str, tuple[int, int]]:
    """How many victims' pods count against each budget, and how many it allows. By the words of policy/v1."""
    labels = {
        each["metadata"]["name"]: each["metadata"]["labels"] for each in objects if each["kind"] == "Pod"
    }
    found = {}
    for each in objects:
        if each["kind"] == "PodDisruptionBudget":
            wanted, status = each["spec"]["selector"].get("matchLabels", {}), each["status"]
            going = [pod["name"] for victim in plan["victims"] for pod in victim["pods"]]
            count = sum(
                wanted.items() <= labels[pod].items() and pod not in status.get("disruptedPods", {})
                for pod in going
            )
            found[each["metadata"]["name"]] = count, status["disruptionsAllowed"]
    return found


@settings(max_examples=examples(300), deadline=None)
@given(protected(), st.sampled_from((0, EFFORT)))
def test_budgets_that_are_respected_are_never_exceeded(objects: list[Object], effort: int) -> None:
    plan = plan_for(objects, "d/hero", effort=effort, costs=RESPECT)
    assert plan[POLICY] == "Respect"
    assert plan["podDisruptionBudgetViolations"] == 0
    assert all(count <= allowed for count, allowed in drawn(objects, plan).values())
    assert all(not victim["violatesPodDisruptionBudget"] for victim in plan["victims"])
    if STOPPED in plan:
        assert plan["outcome"] in ("Unschedulable", "SearchBudgetExhausted")
        assert plan["placements"] == []


@settings(max_examples=examples(300), deadline=None)
@given(protected())
def test_in_small_clusters_they_stop_nobody_whom_they_need_not(objects: list[Object]) -> None:
    """If the best plan exceeds no budget, it is the plan. Else others go, other members fit, or budgets are named."""
    preferred, plan = plan_for(objects, "d/hero", costs=PREFER), plan_for(objects, "d/hero", costs=RESPECT)
    if preferred["outcome"] != "Preempts":
        assert (plan["outcome"], STOPPED in plan) == (preferred["outcome"], False)
        return
    several = any(each["metadata"]["name"] == "all" for each in objects)
    if preferred["podDisruptionBudgetViolations"] == 0 and not several:
        assert plan["victims"] == preferred["victims"]
        assert plan["placements"] == preferred["placements"]
    elif plan["outcome"] not in ("Preempts", "Fits"):
        names = [each["name"] for each in plan[STOPPED]]
        assert names == sorted(names)
        assert names


@settings(max_examples=examples(100), deadline=None)
@given(protected())
def test_ignored_budgets_decide_nothing(objects: list[Object]) -> None:
    without = [each for each in objects if each["kind"] != "PodDisruptionBudget"]
    plan, bare = plan_for(objects, "d/hero", costs=IGNORE), plan_for(without, "d/hero", costs=IGNORE)
    assert plan == bare


@settings(max_examples=examples(100), deadline=None)
@given(protected(), st.randoms(use_true_random=False))
def test_the_order_of_events_changes_nothing(objects: list[Object], random: Any) -> None:
    shuffled = random.sample(objects, len(objects))
    assert plan_for(shuffled, "d/hero", costs=RESPECT) == plan_for(objects, "d/hero", costs=RESPECT)
