"""The optional terms of the score decide only between plans that cost the same by everything before them."""

from __future__ import annotations

from itertools import combinations
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from api.disruption import COST_ANNOTATION, ScoreTerm
from nodes.state.costs import CostRules
from tests.kit.examples import examples
from tests.kit.plans.checker import Case
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import plan_for
from tests.kit.plans.raw import admits

Object = dict[str, Any]
COLUMNS = (
    "podDisruptionBudgetViolations",
    "highestVictimPriority",
    "prioritySum",
    "units",
    "pods",
    "earliestStart",
)
TERMS: tuple[ScoreTerm, ...] = get_args(ScoreTerm)


@st.composite
def priced(draw: st.DrawFn, pods: int = 8) -> list[Object]:
    """A cluster in which starts are equal more often, and some say what it costs to evict them."""
    objects = draw(clusters(pods=pods))
    for each in objects:
        if each["kind"] not in ("Pod", "PodGroup"):
            continue
        if draw(st.booleans()):
            said = {COST_ANNOTATION: str(draw(st.integers(0, 3)))}
            each["metadata"]["annotations"] = each["metadata"].get("annotations", {}) | said
        if "startTime" in each.get("status", {}):
            each["status"]["startTime"] = f"2026-01-0{draw(st.integers(1, 2))}T00:00:00Z"
    return objects


def rules() -> st.SearchStrategy[CostRules]:
    """The terms in any order, and bounds."""
    return st.builds(
        CostRules,
        st.permutations(TERMS).flatmap(lambda every: st.integers(1, 3).map(lambda most: tuple(every[:most]))),
        st.sampled_from((0, 2, 10)),
        st.sampled_from(({}, {"d": 1})),
    )


def columns(score: Object) -> list[Any]:
    return [score[name] for name in COLUMNS]


@settings(max_examples=examples(200), deadline=None)
@given(priced(), rules())
def test_what_comes_before_the_terms_stays_as_it_was(objects: list[Object], costs: CostRules) -> None:
    plan, plain = (
        plan_for(objects, "d/hero", costs=costs),
        plan_for(objects, "d/hero", costs=CostRules(terms=())),
    )
    assert plan["outcome"] == plain["outcome"]
    if not plan["placements"]:
        return
    assert columns(plan["domains"][0]["score"]) == columns(plain["domains"][0]["score"])
    without = {each["value"]: each for each in plain["domains"]}
    for domain in plan["domains"]:
        other = without[domain["value"]]
        assert domain["outcome"] == other["outcome"]
        if domain["score"] is not None:
            assert [each["name"] for each in domain["score"]["terms"]] == list(costs.terms)
            assert columns(domain["score"]) == columns(other["score"])


@settings(max_examples=examples(200), deadline=None)
@given(priced(), st.sampled_from((2, 10)))
def test_the_plan_says_what_its_victims_say(objects: list[Object], most: int) -> None:
    plan = plan_for(objects, "d/hero", costs=CostRules(most=most))
    if plan["outcome"] == "Preempts":
        (term,) = plan["domains"][0]["score"]["terms"]
        assert term == {
            "name": "DisruptionCost",
            "value": sum(cost(objects, each, most) for each in plan["victims"]),
        }


def cost(objects: list[Object], victim: Object, most: int) -> int:
    """What it costs to evict the unit, by the words of docs/nodes.md."""
    said = {
        (each["kind"], each["metadata"]["name"]): min(int(text), most)
        for each in objects
        if (text := each["metadata"].get("annotations", {}).get(COST_ANNOTATION)) is not None
    }
    group = {
        each["metadata"]["name"]: each["metadata"].get("labels", {}).get("reprieve.dev/pod-group")
        for each in objects
        if each["kind"] == "Pod"
    }
    if victim["kind"] == "PodGroup":
        own = said.get(("PodGroup", victim["name"]))
        together = sum(said.get(("Pod", pod["name"]), 0) for pod in victim["pods"])
        return min(together, most) if own is None else own
    of_group = said.get(("PodGroup", group[victim["name"]] or ""), 0)
    return said.get(("Pod", victim["name"]), of_group)


@settings(max_examples=examples(100), deadline=None)
@given(priced(), rules(), st.randoms(use_true_random=False))
def test_the_order_of_events_changes_nothing(objects: list[Object], costs: CostRules, random: Any) -> None:
    shuffled = random.sample(objects, len(objects))
    assert plan_for(shuffled, "d/hero", costs=costs) == plan_for(objects, "d/hero", costs=costs)


@settings(max_examples=examples(100), deadline=None)
@given(priced(), rules())
def test_the_domains_are_listed_by_what_they_cost(objects: list[Object], costs: CostRules) -> None:
    domains = [
        each for each in plan_for(objects, "d/hero", costs=costs)["domains"] if each["score"] is not None
    ]
    for first, second in combinations(domains, 2):
        if first["outcome"] == second["outcome"] and columns(first["score"]) == columns(second["score"]):
            one, other = ([each["value"] for each in domain["score"]["terms"]] for domain in (first, second))
            assert one <= other


@settings(max_examples=examples(300), deadline=None)
@given(priced())
def test_victims_that_fit_nowhere_else_are_counted(objects: list[Object]) -> None:
    """By plain rules, where no pod keeps another one away. Of groups whose pods differ, either answer is right."""
    specs = [each["spec"] for each in objects if each["kind"] == "Pod"]
    if any("affinity" in spec or "ports" in spec["containers"][0] for spec in specs):
        return
    plan = plan_for(objects, "d/hero", costs=CostRules(terms=("Cascade",)))
    if plan["outcome"] == "Preempts":
        case = Case.of(objects, "d/hero")
        (term,) = plan["domains"][0]["score"]["terms"]
        stuck = [is_stuck(case, victim) for victim in plan["victims"]]
        assert stuck.count(True) <= term["value"] <= stuck.count(True) + stuck.count(None)


def is_stuck(case: Case, victim: Object) -> bool | None:
    """Whether the victim fits nowhere outside of its domains with nobody gone; None if its pods differ."""
    cluster, pods = case.cluster, [("d", pod["name"]) for pod in victim["pods"]]
    kinds = {
        (tuple(sorted(cluster.requests[key].items())), str(cluster.pods[key]["spec"].get("tolerations")))
        for key in pods
    }
    if len(kinds) > 1:
        return None
    domain_of = {name: value for value, names in case.domains.items() for name in names}
    if len(case.domains) < 2:
        domain_of = {name: name for name in cluster.nodes}
    home = {domain_of.get(case.node_of(key)) for key in pods}
    room, requests = cluster.room(set()), cluster.requests[pods[0]]
    slots = 0
    for name, node in cluster.nodes.items():
        if domain_of.get(name) not in home and admits(cluster.pods[pods[0]], node):
            slots += min(
                max(0, room[name].get(r, 0)) // amount for r, amount in requests.items() if amount > 0
            )
    return slots < len(pods)
