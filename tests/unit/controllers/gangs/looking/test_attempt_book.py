"""What filter calls show of kube-scheduler's attempts on one of its own groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.gangs.lifecycle.life import ActivePlan, GroupKey, PlannedPod
from controllers.gangs.lifecycle.observations import NeverNamed
from controllers.gangs.looking.attempt_book import AttemptBook
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.attempts import Attempts, Backoffs
from nodes.groups.forms import ALL_PREEMPTING
from tests.kit.clock import ManualClock
from tests.kit.native_gangs import GANG_KEY, native_group, native_pod
from tests.kit.objects import node, pod, tables
from tests.unit.controllers.gangs.lives import spec

M0, M1 = native_pod("m0"), native_pod("m1")
PLAN = ActivePlan(
    name="plan",
    spec=spec(),
    members={
        each.metadata.uid: PlannedPod(each.metadata.uid, each.metadata.name, "n0", {}) for each in (M0, M1)
    },
    deadline=2000.0,
    opened=1000.0,
)


class Book:
    """A book about two members that wait."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.tables = tables(node("n0"), node("n1"), native_group(minimum=2), M0, M1)
        self.tables.set_preempting(ALL_PREEMPTING)
        self.heard: list[tuple[GroupKey, NeverNamed]] = []
        self.plan: ActivePlan | None = None
        self.book = AttemptBook(
            Roster(self.tables),
            Backoffs(),
            self.clock,
            lambda _: self.plan,
            lambda key, seen: self.heard.append((key, seen)),
        )

    def attempt(self, *passes: list[list[str]], after: float = 0.0) -> None:
        """An attempt after that time. Each pass has names for the first member, and maybe for the second one."""
        self.clock.advance(after)
        for each in passes:
            for member, names in zip((M0, M1), each, strict=False):
                self.book.called(member, names)

    @property
    def attempts(self) -> Attempts:
        return self.book._groups[GANG_KEY].attempts


@pytest.fixture
def book() -> Book:
    return Book()


ALL = ["n0", "n1"]


def test_two_passes_are_one_attempt(book: Book) -> None:
    book.attempt([ALL, ALL], [ALL, ALL])
    assert (book.attempts.count, book.attempts.passes) == (1, 2)
    book.attempt([ALL], after=1.1)
    assert book.attempts.count == 2


def test_a_call_with_the_nominated_node_begins_no_pass(book: Book) -> None:
    book.attempt([["n0"]], [ALL])
    assert book.attempts.passes == 1
    book.attempt([["n0"]])
    assert book.attempts.passes == 2


def test_the_estimate_follows(book: Book) -> None:
    assert not book.book.estimate(GANG_KEY).is_known
    longest = Backoffs().longest(2)
    assert book.book.estimate(GANG_KEY).latest == pytest.approx(1000.0 + longest + 1.0)
    book.attempt([ALL, ALL], after=50.0)
    assert book.book.estimate(GANG_KEY).latest == pytest.approx(1050.0 + longest + 1.0)


def test_a_group_that_is_younger_than_the_term_was_never_tried_before() -> None:
    book = Book()
    group = native_group(minimum=2)
    group.metadata.creation_timestamp = "2026-01-01T00:01:00Z"
    book.tables.upsert_group(group)
    due = book.book.estimate(GANG_KEY)
    assert (due.latest, due.is_known) == (1061.0, True)


def test_bound_members_show_a_success(book: Book) -> None:
    book.attempt([ALL, ALL])
    book.tables.upsert_pod(native_pod("m0", node="n0"))
    book.attempt([ALL], after=5.0)
    assert (book.attempts.count, book.attempts.all_seen) == (1, True)


def test_pods_of_other_groups_do_not_matter(book: Book) -> None:
    book.book.called(pod("other"), ALL)
    assert book.book._groups == {}


def test_a_gone_group_is_forgotten(book: Book) -> None:
    book.attempt([ALL])
    book.book.forget(GANG_KEY)
    assert book.book._groups == {}


@pytest.mark.parametrize(
    ("passes", "names"),
    [
        ([[["n1"] * 2, ["n1"] * 2]] * 2, ["m0", "m1"]),
        ([[["n1"] * 2, ["n1"] * 2], [ALL, ["n1"] * 2]], ["m1"]),
        ([[ALL, ["n1"] * 2], [["n1"] * 2, ALL]], []),
        ([[["n1"] * 2]], []),
    ],
)
def test_members_whose_node_a_whole_attempt_never_names(
    book: Book, passes: list[list[list[str]]], names: list[str]
) -> None:
    book.plan = PLAN
    book.attempt(*passes, after=1.0)
    assert [(key, seen.name) for key, seen in book.heard] == [(GANG_KEY, name) for name in names]


def test_real_passes_of_two_attempts_are_no_whole_attempt(book: Book) -> None:
    book.plan = PLAN
    book.attempt([["n1"] * 2], after=1.0)
    book.attempt([["n1"] * 2], after=5.0)
    assert book.heard == []


def test_an_attempt_that_began_before_the_plan_was_open_shows_nothing(book: Book) -> None:
    book.plan = replace(PLAN, opened=1001.0)
    book.attempt([["n1"] * 2], [["n1"] * 2])
    assert book.heard == []
