"""When kube-scheduler tries a group again. The times are those of a real 1.37.1."""

from __future__ import annotations

import pytest

from controllers.gangs.scheduler.attempts import WINDOW_SECONDS, Attempts, Backoffs

USUAL = Backoffs()


@pytest.mark.parametrize(("members", "seconds"), [(1, 10.0), (3, 17.3), (100, 100.0), (1000, 316.2)])
def test_the_longest_wait_grows_with_the_root_of_the_members(members: int, seconds: float) -> None:
    assert USUAL.longest(members) == pytest.approx(seconds, abs=0.1)
    assert USUAL.seconds(200, members) == USUAL.longest(members)


def test_waits_double_up_to_the_longest_one() -> None:
    waits = [USUAL.seconds(attempts, 3) for attempts in range(8)]
    assert waits == pytest.approx([0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 17.32, 17.32], abs=0.01)


def test_a_group_that_was_turned_down_for_days_waits_no_longer() -> None:
    assert USUAL.seconds(10_000, 3) == USUAL.longest(3)


def test_the_first_wait_may_be_the_longest_one() -> None:
    assert [Backoffs(7.0, 7.0).seconds(attempts, 1) for attempts in (1, 2)] == [7.0, 7.0]


@pytest.mark.parametrize(
    ("members", "times"),
    [(3, [0.0, 1.1, 4.1, 9.1, 18.1, 35.1, 53.1]), (100, [0.0, 2.8, 5.7, 10.8, 19.7, 35.8])],
)
def test_attempts_on_a_real_scheduler(members: int, times: list[float]) -> None:
    """A gang that filter held all the time. An attempt of 100 members took up to 0.8 s after its first call."""
    seen = Attempts(0.0, missed=0)
    for at in times:
        due = seen.estimate(seen.called, members, USUAL)
        assert due.is_known
        assert not seen.count or due.latest - WINDOW_SECONDS - 0.05 <= at <= due.latest + 0.8
        seen = seen.begin_pass(at, members, USUAL)
    assert seen.count == len(times)


def test_a_group_that_was_never_tried_is_tried_at_once() -> None:
    due = Attempts(5.0, missed=0).estimate(5.0, 100, USUAL)
    assert (due.latest, due.is_known) == (6.0, True)


def test_a_process_that_has_just_started_knows_an_upper_bound() -> None:
    seen = Attempts(5.0)
    due = seen.estimate(5.0, 100, USUAL)
    assert (due.latest, due.is_known) == (106.0, False)
    due = seen.begin_pass(50.0, 100, USUAL).estimate(50.0, 100, USUAL)
    assert (due.latest, due.is_known) == (151.0, False)


def test_after_enough_attempts_the_wait_is_the_longest_one_anyway() -> None:
    seen = Attempts(0.0)
    for number in range(6):
        seen = seen.begin_pass(100.0 * number, 3, USUAL)
    due = seen.estimate(500.0, 3, USUAL)
    assert due.is_known
    assert due.latest == pytest.approx(518.3, abs=0.1)


def test_the_simulated_pass_belongs_to_the_attempt() -> None:
    seen = Attempts(0.0, missed=0).begin_pass(1.0, 3, USUAL).call(1.2).begin_pass(1.4, 3, USUAL)
    assert (seen.count, seen.passes) == (1, 2)
    assert seen.estimate(1.4, 3, USUAL).latest == pytest.approx(3.4)


def test_a_long_real_pass_is_no_attempt_of_its_own() -> None:
    seen = Attempts(0.0, missed=0).begin_pass(1.0, 1000, USUAL)
    for tenth in range(30):
        seen = seen.call(1.0 + tenth / 10)
    assert seen.begin_pass(4.1, 1000, USUAL).count == 1


def test_a_third_pass_too_early_shows_a_scheduler_that_began_anew() -> None:
    seen = Attempts(0.0, missed=0)
    for at in (1.0, 1.1, 1.2):
        seen = seen.begin_pass(at, 3, USUAL)
    assert seen.count == 2
    assert not seen.estimate(1.2, 3, USUAL).is_known


def test_a_success_begins_anew() -> None:
    seen = Attempts(0.0)
    for at in (1.0, 10.0):
        seen = seen.begin_pass(at, 3, USUAL)
    seen = seen.succeed(20.0).begin_pass(21.0, 3, USUAL)
    due = seen.estimate(21.0, 3, USUAL)
    assert (due.latest, due.is_known) == (23.0, True)


def test_attempts_that_show_nothing_make_the_next_one_come_later() -> None:
    """A gang of 25 for which no node passes the scheduler's own filters: attempts after 0, 1, 3, 7, 15 s and so on."""
    seen = Attempts(0.0, missed=0)
    due = seen.estimate(6.0, 25, USUAL)
    assert (due.latest, due.is_known) == (6.0 + 4.0 + 1.0, False)
    due = seen.estimate(180.0, 25, USUAL)
    assert (due.latest, due.is_known) == (180.0 + 50.0 + 1.0, False)


def test_a_pass_that_comes_late_leaves_it_open_how_many_were_missed() -> None:
    seen = Attempts(0.0, missed=0).begin_pass(0.0, 3, USUAL).begin_pass(3.5, 3, USUAL)
    due = seen.estimate(3.5, 3, USUAL)
    assert (due.latest, due.is_known) == (3.5 + 4.0 + 1.0, False)
    due = seen.begin_pass(20.0, 3, USUAL).begin_pass(40.0, 3, USUAL).estimate(40.0, 3, USUAL)
    assert not due.is_known


def test_a_pass_that_others_put_off_a_little_is_no_second_one() -> None:
    seen = Attempts(0.0, missed=0).begin_pass(0.0, 3, USUAL).begin_pass(2.9, 3, USUAL)
    due = seen.estimate(2.9, 3, USUAL)
    assert (due.latest, due.is_known) == (2.9 + 2.0 + 1.0, True)
