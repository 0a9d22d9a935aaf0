"""How many gates are open in each cluster."""

from __future__ import annotations

from controllers.multikueue.acting.gates import OpenGates
from tests.kit.dispatched.seeing import gated

OPEN = gated(gate="Open")


def test_a_turn_counts_from_the_moment_when_it_is_given_and_once() -> None:
    """Fifty Jobs that ask at once would all follow the same cost."""
    gates = OpenGates()
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
    gates = OpenGates()
    gates.gave("team/one", "a", "q", 5)
    gates.saw("team/one", "b", OPEN)
    assert (gates.count("a"), gates.count("b")) == (1, 1)
    gates.over("team/one")
    gates.over("team/one")
    assert gates.count("a") == 0


def test_the_last_opening_is_that_of_the_cluster_queue_or_of_one_that_is_not_known() -> None:
    gates = OpenGates()
    gates.gave("team/one", "a", "q", 5)
    gates.gave("team/two", "a", "q", 3)
    assert (gates.last("a", "q"), gates.last("a", "r"), gates.last("b", "q")) == (5, 0, 0)
    gates.gave("team/three", "a", "", 9)
    assert (gates.last("a", "q"), gates.last("a", "r")) == (9, 9)
