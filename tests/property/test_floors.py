"""A search that proves is a search that does not, with less work."""

from __future__ import annotations

from dataclasses import asdict, replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from native.nodes._victims import search
from native.nodes.problem import Problem, Solution
from tests.kit.examples import examples
from tests.kit.problems import crowds, fields, problems

BUDGET = 1000


def alike(problem: Problem, budget: int, effort: int) -> tuple[Solution, Solution]:
    """Both answers, which are the same but for what they say of the work."""
    plain, proven = search(problem, budget, effort), search(problem, budget, effort, proves=True)
    assert asdict(replace(proven, work=plain.work, ended=plain.ended)) == asdict(plain)
    assert proven.work <= plain.work
    assert proven.ended >= plain.ended
    return plain, proven


@settings(max_examples=examples(5000), deadline=None)
@given(problems(), st.sampled_from((0, 3, 100, 10**6)), st.sampled_from((0, 50, 3000, 10**6)))
def test_the_answer_is_the_same(problem: Problem, budget: int, effort: int) -> None:
    alike(problem, budget, effort)


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(problems(domain=8, units_most=40), st.sampled_from((0, 20_000)))
def test_it_is_the_same_for_larger_problems(problem: Problem, effort: int) -> None:
    alike(problem, BUDGET, effort)


@settings(max_examples=examples(200), deadline=None)
@given(crowds(nodes_most=90), st.sampled_from((3000, 10**6)))
def test_it_is_the_same_where_plans_become_better(problem: Problem, effort: int) -> None:
    alike(problem, BUDGET, effort)


@settings(max_examples=examples(500), deadline=None)
@given(fields(), st.sampled_from((300, 3000, 100_000)))
def test_it_is_the_same_where_single_pods_run(problem: Problem, effort: int) -> None:
    alike(problem, BUDGET, effort)


@settings(max_examples=examples(1000), deadline=None)
@given(st.one_of(problems(), fields(nodes_most=6)), st.sampled_from((300, 1000, 3000)))
def test_what_is_proven_is_what_a_search_to_the_end_finds(problem: Problem, effort: int) -> None:
    proven = search(problem, 10**6, effort, proves=True)
    whole = search(problem, 10**6, 10**7)
    if proven.ended and whole.ended and proven.winner >= 0:
        assert proven.outcomes[proven.winner] == whole.outcomes[whole.winner]
        assert proven.scores[proven.winner] == whole.scores[whole.winner]
