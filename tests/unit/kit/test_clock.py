from __future__ import annotations

import pytest

from api.clock import Clock
from tests.kit.clock import ManualClock


def test_both_times_move_together_and_only_when_told() -> None:
    clock: Clock = ManualClock(monotonic=5.0, wall=100.0)
    assert (clock.monotonic(), clock.wall()) == (5.0, 100.0)
    moved = ManualClock(monotonic=5.0, wall=100.0)
    moved.advance(2.5)
    assert (moved.monotonic(), moved.wall()) == (7.5, 102.5)


def test_monotonic_time_never_goes_back() -> None:
    clock = ManualClock()
    before = clock.monotonic()
    with pytest.raises(ValueError, match="back in time"):
        clock.advance(-1)
    clock.set_wall(0)
    assert (clock.monotonic(), clock.wall()) == (before, 0)
