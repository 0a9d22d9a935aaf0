"""Which cluster gets the next turn."""

from __future__ import annotations

import msgspec
import pytest

from controllers.multikueue.life.order import cost_words, first, is_known, why_first
from tests.kit.dispatched.seeing import at, cluster, cost

SAME = {"a": 0, "b": 0, "c": 0}


def least(*clusters: object, turns: dict[str, int] | None = None, by_cost: bool = True) -> str:
    signals = {"a": 3, "b": 2, "c": 1}
    return first(clusters, turns or {}, signals, by_cost=by_cost).name  # type: ignore[arg-type] # clusters


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (cost(1, workloads=9, pods=9), cost(2)),
        (cost(1, priority_sum=5, workloads=9), cost(1, priority_sum=6)),
        (cost(1, workloads=2, pods=9), cost(1, workloads=3)),
        (cost(1, pods=2, pod_seconds=99), cost(1, pods=3)),
        (cost(1, pod_seconds=2), cost(1, pod_seconds=3)),
    ],
)
def test_the_least_cost_comes_first(less: object, more: object) -> None:
    """Highest priority, sum of priorities, Workloads, pods, pod-seconds. b asked before a."""
    assert least(cluster("a", cost=less), cluster("b", cost=more)) == "a"
    assert least(cluster("a", cost=less), cluster("b", cost=more), by_cost=False) == "b"


def test_fewer_open_gates_come_before_the_work_that_is_lost() -> None:
    few, many = cost(1, pod_seconds=99), cost(1, pod_seconds=1)
    assert least(cluster("a", cost=few, open_gates=1), cluster("b", cost=many, open_gates=2)) == "a"
    assert least(cluster("a", cost=many, open_gates=2), cluster("b", cost=cost(2), open_gates=0)) == "a"


def test_a_cluster_that_is_busy_comes_after_the_others_and_before_an_unknown_cost() -> None:
    """Fifty Jobs would all follow it. A stale cost of a cluster that is not busy is the best that is known of it."""
    dear = cluster("a", cost=cost(9, seen=at(5)), last_opened=at(4))
    stale = cluster("b", cost=cost(0, seen=at(5)), last_opened=at(5))
    busy = cluster("c", cost=cost(0, seen=at(5)), last_opened=at(4), is_busy=True, open_gates=1)
    crowded = cluster("d", cost=cost(0, seen=at(5)), last_opened=at(4), is_busy=True, open_gates=2)
    unknown = cluster("e")
    assert least(unknown, crowded, busy, dear, stale) == "b"
    assert least(unknown, crowded, busy, dear) == "a"
    assert least(unknown, crowded, busy) == "c"
    assert least(unknown, crowded) == "d"
    assert [is_known(each) for each in (dear, stale, busy, unknown)] == [True, False, False, False]


def test_fewer_turns_come_before_any_cost() -> None:
    assert least(cluster("a", cost=cost(9)), cluster("b", cost=cost(0)), turns={"b": 1}) == "a"


def test_equal_ones_go_by_the_signal_that_was_seen_first_and_then_by_the_config() -> None:
    clusters = cluster("a", cost=cost()), cluster("b", cost=cost())
    assert least(*clusters) == "b"
    assert first(clusters, {}, SAME, by_cost=True).name == "a"
    assert first(clusters[::-1], {}, SAME, by_cost=True).name == "b"


def test_the_reason_is_true() -> None:
    dear, cheap = cluster("a", cost=cost(9)), cluster("b", cost=cost(1, workloads=2, pods=3))
    assert why_first(dear, [dear], {}, by_cost=True) == "a is the only cluster that asks to preempt."
    assert (
        why_first(dear, [dear, cheap], {"b": 1}, by_cost=True) == "The other clusters had more turns than a."
    )
    assert (
        why_first(cheap, [dear, cheap], {}, by_cost=True)
        == "b: 2 Workloads of priority 1 or less, 3 pods. That is the least."
    )
    assert "asked first" in why_first(dear, [dear, msgspec.structs.replace(dear, name="b")], {}, by_cost=True)
    assert "asked first" in why_first(cheap, [dear, cheap], {}, by_cost=False)


def test_a_stale_and_an_unknown_cost_are_said_to_be_so() -> None:
    assert "before another gate opened" in cost_words(cluster("a", cost=cost(seen=at(1)), last_opened=at(2)))
    assert "another Workload preempts there first" in cost_words(cluster("a", cost=cost(), is_busy=True))
    assert "does not say" in cost_words(cluster("a"))
