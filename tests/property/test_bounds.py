"""A domain that is not searched because of its bound would not have won."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from native.codes import EXHAUSTED, FITS, PREEMPTS
from native.nodes._victims import search
from native.nodes.problem import Problem, Solution
from tests.kit.examples import examples
from tests.kit.problems import problems


def each_alone(problem: Problem, budget: int, effort: int) -> list[Solution]:
    """Every domain searched as if there were no other one, with its part of the effort."""
    ends = problem.domains.tolist()
    return [
        search(
            replace(
                problem,
                domains=np.array(part, np.int32),
                domain_terms=np.ascontiguousarray(problem.domain_terms[:, index : index + 1]),
            ),
            budget,
            effort // (len(ends) - 1),
        )
        for index, part in enumerate(pairwise(ends))
    ]


@settings(max_examples=examples(2000), deadline=None)
@given(problems(), st.sampled_from((3, 10**6)), st.sampled_from((0, 500)))
def test_the_winner_is_the_best_of_all_domains(problem: Problem, budget: int, effort: int) -> None:
    found, alone = search(problem, budget, effort), each_alone(problem, budget, effort)
    outcomes = [one.outcomes[0] for one in alone]
    ranked = sorted((one.outcomes[0], one.scores[0], d) for d, one in enumerate(alone) if one.winner == 0)
    assert found.winner == (ranked[0][2] if ranked else -1)
    if ranked:
        best = alone[found.winner]
        assert (found.victims, found.placed) == (best.victims, best.placed)
    for domain, bounded in enumerate(found.bounded):
        if not bounded:
            assert found.outcomes[domain] == outcomes[domain]
        elif outcomes[domain] != EXHAUSTED:
            assert outcomes[domain] == PREEMPTS
            assert found.scores[domain] <= alone[domain].scores[0]
            assert domain != found.winner


@settings(max_examples=examples(500), deadline=None)
@given(problems())
def test_where_one_fits_no_other_domain_is_searched(problem: Problem) -> None:
    found = search(problem, 10**6, 0)
    if FITS in found.outcomes:
        searched = [d for d, each in enumerate(found.outcomes) if each == PREEMPTS and not found.bounded[d]]
        assert not searched
