"""How the scores of a way are compared with the best scores that are known."""

from __future__ import annotations

import pytest

from bench.quality import Result

BEST = (1, 10, 30, 3, 7)


def counted(*scores: tuple[int, int, int, int, int] | None) -> Result:
    result = Result()
    for score in scores:
        result.count(score, BEST)
    return result


@pytest.mark.parametrize(
    ("score", "at_best", "excess"),
    [
        (BEST, 1, [0.0]),
        ((1, 10, 30, 3, 6), 1, [0.0]),  # better than what was known
        ((1, 10, 30, 3, 8), 0, [0.0]),
        ((1, 10, 40, 4, 9), 0, [1 / 3]),
        ((1, 11, 10, 1, 1), 0, []),  # units are compared only where the first two columns are equal
        ((2, 10, 10, 1, 1), 0, []),
        ((0, 90, 90, 9, 9), 1, []),
    ],
)
def test_one_cluster(score: tuple[int, int, int, int, int], at_best: int, excess: list[float]) -> None:
    result = counted(score)
    assert (result.clusters, result.at_best, result.violations) == (1, at_best, score[0])
    assert (result.best_violations, result.none) == (1, 0)
    assert result.excess == pytest.approx(excess)


def test_a_cluster_without_a_plan_counts_as_one() -> None:
    result = counted(None, BEST)
    assert (result.clusters, result.at_best, result.none) == (2, 1, 1)
    assert (result.violations, result.best_violations) == (1, 2)
    assert result.words() == "1/2, 0.0%, 1, 1 without a plan"


def test_families_are_added() -> None:
    both = counted(BEST, (1, 10, 40, 4, 9))
    both.add(counted((5, 10, 30, 3, 7), None))
    assert (both.clusters, both.at_best, both.none) == (4, 1, 1)
    assert (both.violations, both.best_violations) == (7, 4)
    assert both.words() == "1/4, 16.7%, 7, 1 without a plan"


def test_no_mean_where_nothing_can_be_compared() -> None:
    assert counted((5, 10, 30, 3, 7)).words() == "0/1, -, 5"
