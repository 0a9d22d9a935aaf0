"""How far a cluster can be reached."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controllers.multikueue.clusters.reach import AWAY_SECONDS, Promptness, Silence
from tests.kit.clock import ManualClock


def test_a_cluster_that_was_never_heard_is_lost_in_time() -> None:
    """13238: also one that cannot even be tried."""
    clock = ManualClock()
    silence = Silence(clock, 900)
    assert silence.reach(is_followed=False) == "Away"
    clock.advance(899)
    assert silence.reach(is_followed=False) == "Away"
    clock.advance(1)
    assert silence.reach(is_followed=False) == "Lost"


def test_a_new_process_counts_from_its_start() -> None:
    clock = ManualClock()
    clock.advance(10_000)
    assert Silence(clock, 900).reach(is_followed=False) == "Away"


def test_only_the_monotonic_clock_decides() -> None:
    clock = ManualClock()
    silence = Silence(clock, 900)
    clock.set_wall(clock.wall() + 10_000)
    assert silence.reach(is_followed=True) == "Connected"


def test_a_word_ends_a_loss_but_is_no_connection() -> None:
    clock = ManualClock()
    silence = Silence(clock, 20)
    clock.advance(AWAY_SECONDS)
    assert silence.reach(is_followed=True) == "Away"
    clock.advance(20)
    assert silence.reach(is_followed=True) == "Lost"
    silence.heard(clock.monotonic())
    assert silence.reach(is_followed=False) == "Away"
    assert silence.reach(is_followed=True) == "Connected"


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=30), st.floats(1, 200))
def test_it_is_lost_exactly_when_it_was_silent_for_so_long(
    steps: list[tuple[float, bool]], lost_after: float
) -> None:
    clock = ManualClock()
    silence, last = Silence(clock, lost_after), clock.monotonic()
    for seconds, is_heard in steps:
        clock.advance(seconds)
        if is_heard:
            silence.heard(clock.monotonic())
            silence.heard(last)  # an older word counts for nothing
            last = clock.monotonic()
        is_lost = clock.monotonic() - last >= lost_after
        assert (silence.reach(is_followed=True) == "Lost") == is_lost
        assert (silence.reach(is_followed=False) == "Lost") == is_lost


def test_it_is_prompt_unless_a_request_waits_for_more_than_a_second() -> None:
    clock = ManualClock()
    promptness, seen = Promptness(clock), list[bool]()

    def look() -> None:
        seen.append(promptness.is_prompt)

    look()
    slow = promptness.begins()
    clock.advance(0.9)
    quick = promptness.begins()
    promptness.ends(quick)
    look()
    clock.advance(0.2)
    look()
    promptness.ends(slow)
    look()  # it was slow lately
    clock.advance(5.1)
    look()
    assert seen == [True, True, False, False, True]
