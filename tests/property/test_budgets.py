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
    for each in objects:
        if each["kind"] == "Pod" and each["spec"].get("nodeName"):
            ready = draw(st.sampled_from(("True", "True", "False")))
            each["status"] = {
                **each.get("status", {}),
                "phase": draw(st.sampled_from(("Running", "Running", "Pending"))),
                "conditions": [{"type": "Ready", "status": ready}],
            }
    for app in sorted(draw(st.sets(st.sampled_from("abc"), min_size=1))):
        objects.append(draw(budget(app, {"matchLabels": {"app": app}})))
    if not draw(st.integers(0, 3)):
        objects.append(draw(budget("all", {})))
    return objects


@st.composite
def budget(draw: st.DrawFn, name: str, selector: Object) -> Object:
    status: Object = {
        "disruptionsAllowed": draw(st.sampled_from((0, 1, 1, 1, 2))),
        "currentHealthy": draw(st.integers(0, 2)),
        "desiredHealthy": draw(st.integers(0, 2)),
    }
    spec: Object = {"selector": selector}
    if policy := draw(st.sampled_from((None, "IfHealthyBudget", "AlwaysAllow"))):
        spec["unhealthyPodEvictionPolicy"] = policy
    if draw(st.booleans()):
        status["disruptedPods"] = {f"v{draw(st.integers(0, 9))}": "2026-01-02T00:00:00Z"}
    meta = {"name": name, "namespace": "d", "uid": f"uid-{name}"}
    return {"kind": "PodDisruptionBudget", "metadata": meta, "spec": spec, "status": status}


def selects(budget: Object, pod: Object) -> bool:
    wanted = budget["spec"]["selector"].get("matchLabels", {})
    return bool(wanted.items() <= pod["metadata"]["labels"].items())


def counts(pod: Object, selecting: list[Object]) -> bool:
    """Whether the API server counts an eviction of the pod. `selecting`: the budgets that select it."""
    status = pod["status"]
    if status["phase"] == "Pending":
        return False
    if status["conditions"][0]["status"] == "True" or len(selecting) != 1:
        return True
    [budget] = selecting
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return False
    healthy, desired = budget["status"]["currentHealthy"], budget["status"]["desiredHealthy"]
    return not (healthy >= desired and desired > 0)


def drawn(objects: list[Object], plan: Object) -> dict[str, tuple[int, int]]:
    """How many victims' pods count against each budget, and how many it allows, as the API server says."""
    pods = {each["metadata"]["name"]: each for each in objects if each["kind"] == "Pod"}
    budgets = [each for each in objects if each["kind"] == "PodDisruptionBudget"]
    found = {each["metadata"]["name"]: (0, each["status"]["disruptionsAllowed"]) for each in budgets}
    for name in [pod["name"] for victim in plan["victims"] for pod in victim["pods"]]:
        selecting = [each for each in budgets if selects(each, pods[name])]
        if not counts(pods[name], selecting):
            continue
        assert len(selecting) < 2, "the API server evicts no such pod"
        for each in selecting:
            if name not in each["status"].get("disruptedPods", {}):
                count, allowed = found[each["metadata"]["name"]]
                found[each["metadata"]["name"]] = count + 1, allowed
    return found


def as_selected(objects: list[Object]) -> list[Object]:
    """The same cluster with pods that are all Ready. Budgets select those alone that they would have counted."""
    budgets = [each for each in objects if each["kind"] == "PodDisruptionBudget"]
    found = []
    for each in objects:
        if each["kind"] == "PodDisruptionBudget":
            wanted = {**each["spec"]["selector"].get("matchLabels", {}), "counts": "yes"}
            found.append({**each, "spec": {"selector": {"matchLabels": wanted}}})
        elif each["kind"] == "Pod" and each["spec"].get("nodeName"):
            selecting = [budget for budget in budgets if selects(budget, each)]
            labels = {**each["metadata"]["labels"], "counts": "yes" if counts(each, selecting) else "no"}
            ready = [{"type": "Ready", "status": "True"}]
            status = {**each["status"], "phase": "Running", "conditions": ready}
            found.append({**each, "metadata": {**each["metadata"], "labels": labels}, "status": status})
        else:
            found.append(each)
    return found


@settings(max_examples=examples(300), deadline=None)
@given(protected(), st.sampled_from((0, EFFORT)))
def test_exempt_pods_are_as_if_no_budget_selected_them(objects: list[Object], effort: int) -> None:
    plain = plan_for(as_selected(objects), "d/hero", effort=effort, costs=RESPECT)
    assert plan_for(objects, "d/hero", effort=effort, costs=RESPECT) == plain


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
    objects = as_selected(objects)
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
