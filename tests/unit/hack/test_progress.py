"""What is said about a build that takes minutes."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hack.controlplane.progress import LINE_SECONDS, Lines, Piece, Work, in_words


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pieces(*weights: float, version: str = "v1") -> list[Piece]:
    """Packages named p0, p1 and so on."""
    return [Piece(f"p{i}", version, weight) for i, weight in enumerate(weights)]


def work_of(clock: Clock, *all_pieces: Piece, parallel: int = 0) -> Work:
    """Work with everything known. Without parallelism, a package has ended when it is named."""
    work = Work(parallel, clock)
    work.expect(all_pieces)
    work.complete = True
    return work


def test_the_estimate_is_what_is_left_at_the_rate_so_far(clock: Clock) -> None:
    parts = pieces(10, 30, 60)
    work = work_of(clock, *parts)
    with work.building(parts):
        clock.now += 5
        work.started("p0")
        assert work.seconds_left == pytest.approx(45)
        clock.now += 35
        work.started("p1")
        assert work.seconds_left == pytest.approx(60)
    assert work.seconds_left is None
    assert work.counts == (3, 3)


def test_a_package_that_takes_long_makes_the_estimate_longer(clock: Clock) -> None:
    parts = pieces(50, 50)
    work = work_of(clock, *parts)
    with work.building(parts):
        clock.now += 10
        work.started("p0")
        before = work.seconds_left
        clock.now += 10
        assert before == pytest.approx(10)
        assert work.seconds_left == pytest.approx(20)


def test_what_go_still_compiles_does_not_count(clock: Clock) -> None:
    parts = pieces(1, 1, 1, 1)
    work = work_of(clock, *parts, parallel=2)
    with work.building(parts):
        work.started("p0")
        work.started("p1")
        assert work.counts == (0, 4)
        work.started("p2")
        assert work.counts == (1, 4)


def test_there_is_no_estimate_while_sources_are_fetched_or_hardly_anything_is_compiled(clock: Clock) -> None:
    parts = pieces(1, 99)
    work = Work(0, clock)
    work.expect(parts)
    with work.building(parts):
        clock.now += 5
        work.started("p0")
        work.complete = True
        assert work.seconds_left is None
    more = pieces(99, 100, version="v2")
    work.expect(more)
    with work.building(more):
        clock.now += 5
        work.complete = False
        assert work.seconds_left is None
        work.complete = True
        assert work.seconds_left is not None


def test_only_the_time_in_which_something_is_compiled_counts(clock: Clock) -> None:
    first, second = pieces(10), pieces(10, version="v2")
    work = work_of(clock, *first, *second)
    with work.building(first):
        clock.now += 7
    clock.now += 100
    assert work.seconds_left == pytest.approx(7)


def test_a_package_of_two_builds_is_compiled_once_and_of_another_version_again(clock: Clock) -> None:
    work = work_of(clock, *pieces(10, 10), *pieces(10))
    assert work.counts == (0, 2)
    work.expect(pieces(10, version="v2"))
    assert work.counts == (0, 3)
    with work.building(pieces(10)):
        pass
    work.expect(pieces(10))
    assert work.counts == (1, 3)


def test_what_another_process_has_built_is_not_taken_for_fast_work(clock: Clock) -> None:
    first, second = pieces(10), pieces(10, version="v2")
    work = work_of(clock, *first, *second)
    work.forget(first)
    assert work.counts == (0, 1)
    assert work.seconds_left is None


def test_there_is_no_estimate_while_go_only_links(clock: Clock) -> None:
    parts = [*pieces(10, 10), Piece("etcd", "v1", 10, linked=True)]
    work = work_of(clock, *parts, parallel=1)
    work.doing = "compiling etcd"
    with work.building(parts):
        work.started("p0")
        clock.now += 1
        work.started("p1")
        assert work.seconds_left is None
        assert str(work) == "compiling etcd: 1 of 2 packages, then it is linked"


def test_what_go_says_besides_packages_is_ignored(clock: Clock) -> None:
    parts = pieces(1, 1)
    work = work_of(clock, *parts)
    with work.building(parts):
        work.started("# warning: something")
        assert work.counts == (0, 2)


def test_a_log_gets_a_line_at_once_and_then_one_every_twenty_seconds(clock: Clock) -> None:
    parts = pieces(20, 80)
    work = work_of(clock, *parts)
    work.doing = "compiling etcd"
    said = io.StringIO()
    lines = Lines(Console(file=said, width=40), work, clock)
    with work.building(parts):
        lines.tick()
        for _ in range(round(2 * LINE_SECONDS)):
            clock.now += 1
            work.started("p0")
            lines.tick()
    assert said.getvalue().splitlines() == [
        "compiling etcd: 0 of 2 packages",
        "compiling etcd: 1 of 2 packages, about 80 s left",
        "compiling etcd: 1 of 2 packages, about 3 min left",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "10 s"), (10, "10 s"), (11, "20 s"), (90, "90 s"), (91, "2 min"), (120, "2 min"), (121, "3 min")],
)
def test_a_time_is_rounded_up(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
