"""How many gates are open in each cluster."""

from __future__ import annotations

import pytest

from controllers.multikueue.acting.gates import OpenGates
from controllers.multikueue.life.seen import Copy
from tests.kit.clock import ManualClock
from tests.kit.dispatched.seeing import QUOTA_RESERVED, admitted, copy, gated

OPEN = gated(gate="Open")
HOLDS = copy(QUOTA_RESERVED, gate="Open")
SECOND = 1_000_000


def test_a_turn_counts_from_the_moment_when_it_is_given_and_once() -> None:
    """Fifty Jobs that ask at once would all follow the same cost."""
    gates = OpenGates(ManualClock(wall=1.0))
    gates.gave("team/one", "a", "q", 5)
    assert (gates.count("a"), gates.count("b")) == (1, 0)
    gates.saw("team/one", "a", OPEN)
    assert gates.count("a") == 1
    gates.saw("team/two", "a", OPEN)
    assert gates.count("a") == 2
    gates.saw("team/one", "a", gated())
    gates.saw("team/two", "a", None)
    assert gates.count("a") == 0


def test_a_turn_that_is_over_before_its_gate_was_open_does_not_count() -> None:
    gates = OpenGates(ManualClock(wall=1.0))
    gates.gave("team/one", "a", "q", 5)
    gates.saw("team/one", "b", OPEN)
    assert (gates.count("a"), gates.count("b")) == (1, 1)
    gates.over("team/one")
    gates.over("team/one")
    assert gates.count("a") == 0


def test_the_last_opening_is_that_of_the_cluster_queue_or_of_one_that_is_not_known() -> None:
    gates = OpenGates(ManualClock(wall=1.0))
    gates.gave("team/one", "a", "q", 5)
    gates.gave("team/two", "a", "q", 3)
    assert (gates.last("a", "q"), gates.last("a", "r"), gates.last("b", "q")) == (5, 0, 0)
    gates.gave("team/three", "a", "", 9)
    assert (gates.last("a", "q"), gates.last("a", "r")) == (9, 9)


@pytest.mark.parametrize(
    "done", [HOLDS, admitted(gate="Open"), gated(), None, gated(gate="Open", is_deleting=True)]
)
def test_a_cluster_is_busy_until_the_turn_is_carried_out(done: Copy | None) -> None:
    """The cost of another copy there may name the same victims until then."""
    clock = ManualClock(wall=1.0)
    gates = OpenGates(clock)
    gates.gave("team/one", "a", "q", SECOND)
    gates.saw("team/one", "a", gated())
    assert gates.is_busy("team/two", "a", "q")
    assert not gates.is_busy("team/one", "a", "q")
    assert not any(gates.is_busy("team/two", *each) for each in (("a", "r"), ("b", "q")))
    gates.saw("team/one", "a", OPEN)
    assert gates.is_busy("team/two", "a", "q")
    clock.advance(3)
    gates.saw("team/one", "a", done)
    assert not gates.is_busy("team/two", "a", "q")
    assert gates.last("a", "q") == 4 * SECOND
    gates.saw("team/one", "a", done)
    assert gates.count("a") == 0


def test_a_turn_that_is_over_makes_no_cluster_busy() -> None:
    gates = OpenGates(ManualClock(wall=1.0))
    gates.gave("team/one", "a", "q", 5)
    gates.saw("team/one", "a", OPEN)
    gates.gave("team/one", "b", "q", 7)
    assert not gates.is_busy("team/two", "a", "q")
    assert gates.is_busy("team/two", "b", "q")
    gates.over("team/one")
    assert not gates.is_busy("team/two", "b", "q")


def test_nothing_of_a_cluster_that_is_gone_counts_for_another_one_of_its_name() -> None:
    """It has other copies: of the former ones no event tells any longer."""
    gates = OpenGates(ManualClock(wall=1.0))
    gates.gave("team/one", "a", "q", 5)
    gates.saw("team/one", "a", OPEN)
    gates.saw("team/two", "a", OPEN)
    gates.gone("a")
    assert (gates.count("a"), gates.last("a", "q")) == (0, 0)
    assert gates.is_busy("team/two", "a", "q")  # until its turn is over
    gates.over("team/one")
    assert not gates.is_busy("team/two", "a", "q")


def test_only_queues_with_a_copy_or_a_turn_are_kept() -> None:
    gates = OpenGates(ManualClock(wall=1.0))
    for number, queue in enumerate(("used", "unused", ""), 5):
        gates.gave(f"team/{queue}", "a", queue, number)
        gates.over(f"team/{queue}")
    gates.gave("team/turn", "b", "turn", 4)
    gates.keep({("a", "used")})
    kept = {queue: gates.last(*queue) for queue in [("a", "used"), ("a", "unused"), ("b", "turn")]}
    assert kept == {("a", "used"): 7, ("a", "unused"): 7, ("b", "turn"): 4}  # 7: of a queue that is not known
    gates.gone("a")
    gates.keep(())
    assert (gates.last("a", "used"), gates.last("b", "turn")) == (0, 4)
