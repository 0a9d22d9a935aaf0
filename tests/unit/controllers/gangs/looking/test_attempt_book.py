"""What filter calls show of kube-scheduler's attempts on one of its own groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.core import Pod
from api.groups import SCHEDULING_GATE
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey, PlannedPod
from controllers.gangs.lifecycle.observations import NeverNamed
from controllers.gangs.looking.attempt_book import AttemptBook
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.attempts import Attempts, Backoffs, Estimate
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
        self.gated = GatedPods(self.clock)
        self.book = AttemptBook(
            Roster(self.tables),
            self.gated,
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
    nominated = native_pod("m0", nominated="n0")
    for names in (["n0"], ALL):
        book.book.called(nominated, names)
    assert book.attempts.passes == 1
    book.book.called(nominated, ["n0"])
    assert book.attempts.passes == 2


def test_a_call_with_the_only_node_that_is_left_may_begin_a_pass(book: Book) -> None:
    book.attempt([["n0"]], [["n0"]])
    assert book.attempts.passes == 2


def test_a_pass_is_simulated_if_it_begins_before_any_attempt_could(book: Book) -> None:
    seen = []
    for after in (0.0, 0.9, 0.5, 0.0, 1.0, 0.0):
        book.attempt([ALL, ALL], after=after)
        seen.append(book.book.simulates(GANG_KEY))
    assert seen == [False, True, False, True, False, True]


def test_after_a_success_the_next_attempt_comes_at_once(book: Book) -> None:
    book.attempt([ALL, ALL])
    book.tables.upsert_pod(native_pod("m1", node="n1"))
    book.attempt([ALL])
    assert not book.book.simulates(GANG_KEY)
    book.attempt([ALL])
    assert book.book.simulates(GANG_KEY)


def test_the_estimate_follows(book: Book) -> None:
    assert not book.book.estimate(GANG_KEY, None).is_known
    longest = Backoffs().longest(2)
    assert book.book.estimate(GANG_KEY, None).latest == pytest.approx(1000.0 + longest + 1.0)
    book.attempt([ALL, ALL], after=50.0)
    assert book.book.estimate(GANG_KEY, None).latest == pytest.approx(1050.0 + longest + 1.0)


def test_a_group_that_is_younger_than_the_term_was_never_tried_before() -> None:
    assert young().book.estimate(GANG_KEY, None) == Estimate(1061.0, True)


def gated(name: str) -> Pod:
    return native_pod(name, schedulingGates=[{"name": SCHEDULING_GATE}])


def test_a_group_is_tried_at_once_when_our_last_gate_has_gone(book: Book) -> None:
    """However long it has waited, and whoever leads now."""
    for each in ("m0", "m1"):
        book.gated.pod_changed(f"uid-{each}", gated(each))
    book.clock.advance(180.0)
    assert book.book.estimate(GANG_KEY, None) == Estimate(1181.0, True)
    for member in (M0, M1):
        book.gated.pod_changed(member.metadata.uid, member)
    book.clock.advance(1.0)
    book.book.ungated(GANG_KEY)
    assert book.book.estimate(GANG_KEY, 1180.0) == Estimate(1182.0, True)
    book.attempt([ALL, ALL], after=0.5)
    assert book.book.estimate(GANG_KEY, 1180.0) == Estimate(1181.5 + 1.0 + 1.0, True)


def test_a_gate_of_a_later_member_does_not_say_that_the_others_were_never_tried(book: Book) -> None:
    book.gated.pod_changed("uid-m1", gated("m1"))
    assert not book.book.estimate(GANG_KEY, None).is_known


def test_attempts_before_a_plan_offers_nodes_may_show_nothing() -> None:
    book = young()
    book.clock.advance(300.0)
    since = 1060.0
    assert book.book.estimate(GANG_KEY, since) == Estimate(since + 1.0, True)
    due = book.book.estimate(GANG_KEY, since + 100.0)
    assert due.latest == pytest.approx(since + 100.0 + Backoffs().longest(2) + 1.0)
    assert not due.is_known
    assert due == book.book.estimate(GANG_KEY, since + 100.0), "it stands"


def test_a_group_is_not_tried_before_min_count_members_exist() -> None:
    book = young(NOW, "2026-01-01T00:03:00Z")
    assert book.book.estimate(GANG_KEY, None) == Estimate(1180.0 + 1.0, True)


NOW = "2026-01-01T00:01:00Z"


def young(*created: str) -> Book:
    """A book about a group that is younger than its term. `created`: of the members; else they are older."""
    book = Book()
    group = native_group(minimum=2)
    group.metadata.creation_timestamp = NOW
    book.tables.upsert_group(group)
    for name, at in zip(("m0", "m1"), created, strict=False):
        book.tables.upsert_pod(native_pod(name, created=at))
    return book


def test_bound_members_show_a_success(book: Book) -> None:
    book.attempt([ALL, ALL])
    book.tables.upsert_pod(native_pod("m0", node="n0"))
    book.attempt([ALL], after=5.0)
    assert (book.attempts.count, book.attempts.missed) == (1, 0)


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
