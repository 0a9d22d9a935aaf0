"""How the bench takes the time of a call."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from bench.timing import child_cpu_seconds, cpu_seconds


@pytest.fixture
def only_asked() -> Iterator[None]:
    """Garbage is collected only when a test or what it calls asks for it."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("only_asked")
def test_no_search_for_garbage_is_due_when_the_time_starts() -> None:
    for _ in range(3):
        gc.collect(1)
    assert gc.get_count()[2] >= 3  # Each of them brings the next search among all objects nearer.
    _, counts = cpu_seconds(gc.get_count)
    assert counts[1:] == (0, 0)


def test_the_last_result_of_all_rounds() -> None:
    results = iter("abc")
    seconds, last = cpu_seconds(lambda: next(results), rounds=3)
    assert last == "c"
    assert seconds >= 0


def test_a_process() -> None:
    seconds, status = child_cpu_seconds([sys.executable, "-c", "raise SystemExit(3)"])
    assert status == 3
    assert seconds > 0
