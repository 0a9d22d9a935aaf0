"""What is remembered between two decisions."""

from __future__ import annotations

from controllers.multikueue.life.memory import EMPTY, Out, Remade
from runtime.exchange.dispatch_reports import CheckReport
from tests.kit.dispatched.seeing import SECOND


def test_only_returns_outlive_an_attempt_and_nothing_outlives_the_workload() -> None:
    memory = EMPTY.about("uid", "one").refused("a", "Forbidden", "no").took("b")
    memory = memory.judged(CheckReport("check", "Retry", "why"))
    memory, _ = memory.returned(0)
    assert memory.out == {"a": Out("Forbidden", "no")}
    assert memory.about("uid", "one") is memory
    later = memory.about("uid", "two")
    assert (later.out, later.tried, later.verdict, later.returns) == ({}, frozenset(), None, 1)
    assert memory.about("another", "two").returns == 0


def test_a_workload_that_comes_back_within_a_minute_waits_longer_each_time() -> None:
    memory, waits = EMPTY, list[int | None]()
    for _ in range(11):
        memory, seconds = memory.returned(60 * SECOND - 1)
        waits.append(seconds)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    memory, seconds = memory.returned(None)  # it never was Ready
    assert seconds == 300
    memory, seconds = memory.returned(60 * SECOND)
    assert seconds is None
    assert memory.returned(0)[1] == 1


def test_a_copy_that_has_to_go_counts_once_however_often_it_is_looked_at() -> None:
    remade, waits = Remade(), list[int]()
    for number in range(8):
        remade = remade.once_more(f"copy-{number}", 0)
        assert remade.once_more(f"copy-{number}", 5 * SECOND) is remade
        waits.append(remade.not_before // SECOND)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
