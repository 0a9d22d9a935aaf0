"""The kernels and their plain twin give the same answer, always."""

from __future__ import annotations

from dataclasses import asdict

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from native.nodes._victims import search
from native.nodes.problem import Problem
from tests.kit.examples import examples
from tests.kit.problems import crowds, plain_of, problems
from tests.twins.nodes import victims as twin


@settings(max_examples=examples(2000), deadline=None)
@given(problems(), st.sampled_from((0, 3, 10, 100, 10**6)), st.sampled_from((0, 50, 500, 3000)))
def test_they_agree(problem: Problem, budget: int, effort: int) -> None:
    assert asdict(search(problem, budget, effort)) == asdict(twin.search(plain_of(problem), budget, effort))


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(problems(domain=8, units_most=40), st.sampled_from((0, 2000)))
def test_they_agree_on_larger_problems(problem: Problem, effort: int) -> None:
    """Where the kernels look again only at nodes whose cost can have changed, and the twin at all."""
    found = search(problem, 1000, effort)
    assert asdict(found) == asdict(twin.search(plain_of(problem), 1000, effort))


@settings(max_examples=examples(200), deadline=None)
@given(crowds(), st.sampled_from((3000, 30_000)))
def test_they_agree_where_plans_become_better(problem: Problem, effort: int) -> None:
    found = search(problem, 1000, effort)
    assert asdict(found) == asdict(twin.search(plain_of(problem), 1000, effort))


@settings(max_examples=examples(20), deadline=None)
@given(crowds(nodes_most=90), st.just(30_000))
def test_they_agree_where_steps_look_at_some_nodes_only(problem: Problem, effort: int) -> None:
    found = search(problem, 1000, effort)
    assert asdict(found) == asdict(twin.search(plain_of(problem), 1000, effort))
