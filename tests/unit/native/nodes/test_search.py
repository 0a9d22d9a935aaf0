"""Single cases of the search, in the kernels and in their twin."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from native.codes import EXHAUSTED, FITS, PREEMPTS, UNSCHEDULABLE
from native.nodes._victims import search
from native.nodes.problem import Problem
from tests.kit.problems import assemble, plain_of
from tests.twins.nodes import victims
from tests.twins.nodes.problem import Solution as PlainFound

Search = Callable[..., PlainFound]


def twin(problem: Problem, budget: int, effort: int) -> PlainFound:
    return victims.search(plain_of(problem), budget, effort)


both = pytest.mark.parametrize("searching", [search, twin], ids=["kernels", "twin"])
EVERYWHERE = [1] * 8


@both
def test_an_overcommitted_node_takes_no_room_from_another(searching: Search) -> None:
    problem = assemble([0, 2], [[-8, 9], [4, 9]], [([2, 1], 2, [1, 1])], [])
    found = searching(problem, 100, 0)
    assert (found.outcomes, found.placed) == ([FITS], [[0, 2]])


@both
def test_what_a_member_does_not_request_may_be_overcommitted(searching: Search) -> None:
    """And whoever holds it need not go."""
    problem = assemble([0, 1], [[1, -5]], [([2, 0], 1, [1])], [(0, 0, {0: [0, 3]}), (0, 1, {0: [1, 3]})])
    found = searching(problem, 100, 1000)
    assert (found.outcomes, found.victims) == ([PREEMPTS], [1])


@both
def test_a_group_pays_once_for_all_its_nodes(searching: Search) -> None:
    """One group on four nodes, or one pod on each of four others."""
    groups = [(0, 0, {node: [4] for node in range(4)})]
    pods = [(0, 0, {node: [4]}) for node in range(4, 8)]
    found = searching(assemble([0, 8], [[0]] * 8, [([4], 4, EVERYWHERE)], groups + pods), 100, 0)
    assert (found.victims, found.scores[0][3]) == ([0], 1)


@both
def test_one_large_pod_goes_rather_than_four_small_ones(searching: Search) -> None:
    units = [(0, 0, {0: [4]}), *((0, 0, {1: [1]}) for _ in range(4))]
    found = searching(assemble([0, 2], [[0], [0]], [([4], 1, [1, 1])], units), 100, 0)
    assert found.victims == [0]


@both
def test_a_budget_is_worth_more_than_priority(searching: Search) -> None:
    units = [(9, 0, {0: [4]}), (0, 0, {1: [4]})]
    problem = assemble([0, 2], [[0], [0]], [([4], 1, [1, 1])], units, allowed=[0], draws=[{}, {0: 1}])
    found = searching(problem, 100, 1000)
    assert (found.victims, found.scores[0][:2]) == ([0], [0, 9])


@both
def test_the_cheaper_domain_wins_and_equal_ones_by_order(searching: Search) -> None:
    units = [(5, 0, {0: [4]}), (0, 0, {1: [4]}), (0, 0, {2: [4]})]
    found = searching(assemble([0, 1, 2, 3], [[0]] * 3, [([4], 1, [1] * 3)], units), 100, 0)
    assert (found.winner, found.victims) == (1, [1])


@both
def test_the_victim_that_started_last_goes(searching: Search) -> None:
    units = [(0, start, {node: [4]}) for node, start in enumerate((5, 9, 7))]
    found = searching(assemble([0, 3], [[0]] * 3, [([4], 1, [1] * 3)], units), 100, 0)
    assert found.placed == [[0, 1, 0]]


@both
def test_room_that_is_free_now_goes_before_room_that_others_leave(searching: Search) -> None:
    problem = assemble([0, 2], [[4], [4]], [([4], 1, [1, 1])], [], leaving=[[4], [0]])
    found = searching(problem, 100, 0)
    assert (found.outcomes, found.placed) == ([FITS], [[0, 1]])


@both
@pytest.mark.parametrize(("workers", "outcome"), [(7, FITS), (8, UNSCHEDULABLE)])
def test_a_leader_with_equal_workers_is_exact_without_any_budget(
    searching: Search, workers: int, outcome: int
) -> None:
    """Every node takes two members, whichever: three of 7 and one of 6."""
    shapes = [([4], 1, [1] * 4), ([3], workers, [1] * 4)]
    found = searching(assemble([0, 4], [[7], [7], [7], [6]], shapes, []), 0, 0)
    assert found.outcomes == [outcome]


@both
def test_what_could_not_be_decided_is_said_and_nobody_goes(searching: Search) -> None:
    """There is room in sum, but no two members share a node. The budget does not allow to look at all ways."""
    shapes = [([4, 0], 1, [1, 1]), ([3, 0], 1, [1, 1]), ([3, 1], 1, [1, 1])]
    units = [(0, 0, {node: [0, 1]}) for node in range(2)]
    problem = assemble([0, 2], [[5, 1], [5, 1]], shapes, units)
    spent = searching(problem, 0, 0)
    assert (spent.outcomes, spent.victims, spent.winner) == ([EXHAUSTED], [], -1)
    assert searching(problem, 10**6, 0).outcomes != [EXHAUSTED]


@both
def test_who_fits_into_free_room_evicts_nobody_for_want_of_steps(searching: Search) -> None:
    """The budget of the exact packing is spent at once. Other orders find the room, so nothing is evicted."""
    units = [(3, 0, {2: [5, 5]}), (2, 0, {0: [2, 1]})]
    members = [([4, 0], 1, [1, 1, 1]), ([3, 0], 1, [1, 0, 1]), ([3, 1], 1, [1, 1, 1])]
    found = searching(assemble([0, 3], [[6, 3], [4, 3], [0, 0]], members, units), 0, 10**6)
    assert (found.outcomes, found.victims, found.winner) == ([FITS], [], 0)
    assert found.placed == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]


@both
def test_a_plan_without_victims_is_a_fit(searching: Search) -> None:
    """Only with everybody gone is a packing found. Then all of them can stay."""
    units = [(3, 0, {2: [5, 5]}), (2, 0, {0: [2, 1]})]
    members = [([1, 2], 1, [1, 1, 1]), ([3, 2], 1, [1, 1, 1]), ([3, 0], 1, [0, 1, 1])]
    found = searching(assemble([0, 3], [[6, 2], [4, 2], [0, 0]], members, units), 0, 10**6)
    assert (found.outcomes, found.victims, found.winner) == ([FITS], [], 0)


@both
def test_gangs_of_many_shapes_need_no_exact_packing(searching: Search) -> None:
    """Larger members first: the smaller ones alone would take the room that only the larger ones fill."""
    shapes = [([4], 1, [1, 1]), ([3], 1, [1, 1]), ([2], 1, [1, 1]), ([1], 1, [1, 1])]
    found = searching(assemble([0, 2], [[5], [0]], shapes, [(3, 0, {1: [5]}), (7, 0, {0: [0]})]), 0, 0)
    assert (found.outcomes, found.scores[0][1]) == ([PREEMPTS], 3)


@both
def test_domains_without_nodes_and_clusters_without_units(searching: Search) -> None:
    found = searching(assemble([0, 0, 1], [[3]], [([4], 1, [1])], []), 100, 100)
    assert (found.outcomes, found.winner) == ([UNSCHEDULABLE, UNSCHEDULABLE], -1)


def test_a_search_that_proves_ends_at_the_best_plan() -> None:
    """Two members on each of two nodes cost five units a node. A search that does not know that goes on to look."""
    units = [(0, age, {node: [16]}) for node in range(40) for age in range(5)]
    problem = assemble([0, 40], [[0]] * 40, [([40], 4, [1] * 40)], units)
    plain, proven = search(problem, 1000, 10**6), search(problem, 1000, 10**6, proves=True)
    assert (len(proven.victims), proven.victims, proven.placed) == (10, plain.victims, plain.placed)
    assert (plain.ended, proven.ended) == (False, True)
    assert plain.work > 10**6 > 20 * proven.work
