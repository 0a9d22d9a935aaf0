"""What attempts on a pod showed of a node, and for how long that counts."""

from __future__ import annotations

import gc
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Sequence

import pytest

from api.core import Pod
from controllers.gangs.scheduler.configuration import Limits, SchedulerConfiguration
from controllers.gangs.scheduler.messages import PreemptionOutcome
from controllers.gangs.scheduler.offers import Absence, Ended, Offers, Shown
from tests.kit.clock import ManualClock
from tests.kit.objects import pod

FULL = "0/3 nodes are available: 3 Insufficient cpu. preemption: "
HELD = "0/3 nodes are available: 3 reprieve: wait. preemption: "
NO_CANDIDATES = "0/3 nodes are available: 3 No preemption victims found for incoming pod."
MANY = [f"n{number}" for number in range(100)]


class Changes:
    """Counts of changes that a test makes."""

    def __init__(self) -> None:
        self.last_change = 0
        self.nodes: defaultdict[str, int] = defaultdict(int)
        self.pods: defaultdict[str, int] = defaultdict(int)
        self.nominations: defaultdict[str, int] = defaultdict(int)

    def node_changes(self, node: str) -> int:
        return self.nodes[node]

    def node_pod_changes(self, node: str) -> int:
        return self.pods[node]

    def nomination_changes(self, node: str) -> int:
        return self.nominations[node]

    def change_nominations(self, node: str) -> None:
        self.last_change += 1
        self.nominations[node] = self.last_change

    def change_node(self, node: str) -> None:
        self.last_change += 1
        self.nodes[node] = self.last_change

    def change_pods(self, node: str) -> None:
        self.last_change += 1
        self.pods[node] = self.last_change


class Scene:
    """Offers about the pod m, some seconds after they were made."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.clock, self.changes = ManualClock(), Changes()
        scheduler = SchedulerConfiguration({"default-scheduler": limits} if limits is not None else {})
        self.offers = Offers(self.clock, self.changes, scheduler, offer_seconds=60)
        self.pod: Pod = pod("m")
        self.uid = self.pod.metadata.uid
        self.advance(2)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.offers.expire()

    def filter(self, *nodes: str, nominated: str = "") -> None:
        self.pod.status.nominated_node_name = nominated
        self.offers.filter_called(self.pod, nodes)

    def preempt(self, **candidates: Sequence[str]) -> None:
        self.offers.preempt_called(self.pod, candidates)

    def message(self, text: str, *, arrived: bool = True) -> None:
        self.offers.message_seen(self.pod, text, arrived=arrived)

    def shown(self, node: str) -> Shown:
        return self.offers.shown(self.uid, node)

    def is_absent(self, node: str) -> bool:
        return self.shown(node).absence is not None


# ---- what is shown


def test_a_pod_that_nobody_has_tried() -> None:
    scene = Scene()
    assert scene.shown("n1") == Shown()
    assert scene.offers.presented(scene.uid) is None
    assert scene.offers.attempted(scene.uid) is None


def test_a_node_that_filter_named_was_offered() -> None:
    scene = Scene()
    scene.filter("n1", "n2")
    assert scene.shown("n1").is_offered
    assert scene.shown("n2").is_offered
    assert not scene.shown("n3").is_offered


def test_a_candidate_is_shown_with_its_victims() -> None:
    scene = Scene()
    scene.preempt(n1=["a", "b"], n2=[])
    assert scene.shown("n1").candidates == (frozenset("ab"),)
    assert scene.shown("n2").candidates == (frozenset(),)
    assert scene.shown("n3").candidates == ()


def test_offers_add_up_over_attempts() -> None:
    scene = Scene()
    scene.filter("n1", "n2")
    scene.preempt(n3=["a"])
    scene.filter("n2")
    scene.preempt(n3=["b"])
    assert [scene.shown(node).is_offered for node in ("n1", "n2", "n3")] == [True, True, False]
    assert set(scene.shown("n3").candidates) == {frozenset("a"), frozenset("b")}


def test_pods_do_not_share_offers() -> None:
    scene = Scene()
    scene.filter("n1")
    assert not scene.offers.shown("another", "n1").is_offered


# ---- whether another attempt would show more


def test_an_attempt_whose_candidates_were_not_read_has_ended_and_shows_nothing() -> None:
    scene = Scene()
    scene.filter("n1")
    scene.offers.preempt_called(scene.pod, None)
    assert scene.offers.attempted(scene.uid) == scene.clock.monotonic()
    shown = scene.offers.shown(scene.uid, "n2")
    assert (shown.is_offered, shown.candidates, shown.absence) == (False, (), None)
    assert not scene.offers.is_current(scene.uid, "n1"), "another attempt may show more"


def test_an_attempt_is_current_until_its_node_changes() -> None:
    changes: list[Callable[[Changes], Callable[[str], None]]] = [
        lambda made: made.change_node,
        lambda made: made.change_pods,
        lambda made: made.change_nominations,
    ]
    for change in changes:
        scene = Scene()
        scene.filter("n1")
        assert not scene.offers.is_current(scene.uid, "n1"), "it has not ended"
        scene.preempt(n2=["a"])
        assert scene.offers.is_current(scene.uid, "n1")
        change(scene.changes)("n2")
        assert scene.offers.is_current(scene.uid, "n1")
        assert not scene.offers.is_current(scene.uid, "n2")


def test_an_attempt_is_not_current_for_ever() -> None:
    scene = Scene()
    scene.preempt(n1=["a"])
    scene.advance(60)
    assert scene.offers.is_current(scene.uid, "n1")
    scene.advance(1)
    assert not scene.offers.is_current(scene.uid, "n1")


def test_the_message_about_our_empty_answer_ends_no_other_attempt() -> None:
    scene = Scene()
    scene.preempt(n1=["a"])
    scene.advance(1)
    before = scene.shown("n1").last
    scene.message(FULL + "no candidate node for preemption")
    assert scene.shown("n1").last == before
    assert scene.offers.is_current(scene.uid, "n1")
    scene.advance(31)
    scene.message(FULL + "no candidate node for preemption")
    assert scene.shown("n1").last != before, "it is not about that attempt"


def test_an_attempt_that_ends_with_a_message_or_right_after_a_change_is_not_current() -> None:
    scene = Scene()
    scene.message(FULL + NO_CANDIDATES)
    assert not scene.offers.is_current(scene.uid, "n1")
    scene.changes.change_pods("n1")
    scene.preempt(n1=["a"])
    assert not scene.offers.is_current(scene.uid, "n1"), "the scheduler may not have known of the change"
    assert not scene.offers.is_current("stranger", "n1")


# ---- how long it counts


@pytest.mark.parametrize("what", ["change_node", "change_pods"])
def test_an_offer_ends_with_a_change_of_its_node(what: str) -> None:
    scene = Scene()
    scene.filter("n1", "n2")
    scene.preempt(n1=["a"], n2=["b"])
    getattr(scene.changes, what)("n1")
    assert scene.shown("n1").candidates == ()
    assert not scene.shown("n1").is_offered
    assert scene.shown("n2").is_offered
    assert scene.shown("n2").candidates


@pytest.mark.parametrize(("seconds", "counts"), [(60, True), (60.1, False)])
@pytest.mark.parametrize("expired", [True, False])
def test_an_offer_counts_for_its_seconds(seconds: float, counts: bool, expired: bool) -> None:
    scene = Scene()
    scene.filter("n1")
    scene.preempt(n2=["a"])
    scene.clock.advance(seconds)
    if expired:
        scene.offers.expire()
    assert scene.shown("n1").is_offered is counts
    assert bool(scene.shown("n2").candidates) is counts
    assert scene.is_absent("n3") is counts


def test_an_offer_that_is_repeated_counts_from_then() -> None:
    scene = Scene()
    scene.filter("n1", "n2")
    scene.advance(50)
    scene.filter("n1")
    scene.advance(50)
    assert scene.shown("n1").is_offered
    assert not scene.shown("n2").is_offered


def test_offers_of_more_than_one_numbering_add_up() -> None:
    scene = Scene()
    scene.filter("n1")
    for _ in range(5):
        scene.advance(40)
        scene.filter("n1", "n2")
    scene.advance(50)
    scene.filter("n3")
    assert [scene.shown(node).is_offered for node in ("n1", "n2", "n3", "n4")] == [True, True, True, False]


# ---- complete attempts


def test_a_complete_attempt_shows_which_nodes_were_refused() -> None:
    scene = Scene()
    scene.filter("n1")
    scene.preempt(n2=["a"])
    assert scene.is_absent("n3")
    assert not scene.is_absent("n1")
    assert not scene.is_absent("n2")


def test_filter_is_not_called_if_no_node_passes() -> None:
    scene = Scene()
    scene.preempt(n2=["a"])
    assert scene.is_absent("n3")


def test_an_attempt_that_has_not_ended_refuses_nothing() -> None:
    scene = Scene()
    scene.filter("n1")
    assert not scene.is_absent("n3")


@pytest.mark.parametrize(
    ("limits", "names", "complete"),
    [(None, 99, True), (None, 100, False), (Limits(None, 100), 100, True), (Limits(0, 100), 1, False)],
)
def test_a_filter_list_is_complete_below_its_limit(limits: Limits | None, names: int, complete: bool) -> None:
    scene = Scene(limits)
    scene.filter(*MANY[:names])
    scene.preempt(x=["a"])
    assert scene.is_absent("away") is complete


@pytest.mark.parametrize(
    ("limits", "candidates", "complete"),
    [(None, 99, True), (None, 100, False), (Limits(100, None), 100, True), (Limits(100, 7), 7, False)],
)
def test_candidates_are_complete_below_their_limit(
    limits: Limits | None, candidates: int, complete: bool
) -> None:
    scene = Scene(limits)
    scene.preempt(**{name: ["a"] for name in MANY[:candidates]})
    assert scene.is_absent("away") is complete


def test_if_others_may_have_emptied_the_list_no_call_of_filter_says_nothing() -> None:
    scene = Scene(Limits(0, 100))
    scene.preempt(n1=["a"])
    assert not scene.is_absent("away")


@pytest.mark.parametrize(
    ("nominated", "names", "complete"),
    [("n1", ["n1"], False), ("", ["n1"], True), ("n1", ["n1", "n2"], True)],
)
def test_one_name_for_a_nominated_pod_is_never_complete(
    nominated: str, names: list[str], complete: bool
) -> None:
    scene = Scene(Limits(None, None))
    scene.filter(*names, nominated=nominated)
    scene.preempt(x=["a"])
    assert scene.is_absent("away") is complete
    assert scene.shown("n1").is_offered


def test_after_the_probe_of_a_nominated_node_the_whole_list_may_come() -> None:
    scene = Scene()
    scene.filter("n1", nominated="n1")
    scene.filter("n1", "n2", nominated="n1")
    scene.preempt(x=["a"])
    assert scene.is_absent("away")


def test_limits_are_those_of_the_pod_s_scheduler() -> None:
    scene = Scene(Limits(None, None))
    scene.pod = pod("m", schedulerName="another")
    scene.filter(*MANY)
    scene.preempt(x=["a"])
    assert not scene.is_absent("away")


# ---- messages


@pytest.mark.parametrize(
    ("said", "outcome", "complete"),
    [
        (NO_CANDIDATES, PreemptionOutcome.NO_CANDIDATES, True),
        ("not eligible due to preemptionPolicy=Never.", PreemptionOutcome.NEVER, False),
        (
            "not eligible due to a terminating pod on the nominated node.",
            PreemptionOutcome.TERMINATING,
            False,
        ),
        ('expected at least one victim pod on node "n2"', PreemptionOutcome.EXPECTED_VICTIM, False),
        ("no candidate node for preemption", PreemptionOutcome.EMPTY_ANSWER, False),
        ("what nobody knows", PreemptionOutcome.OTHER, False),
    ],
)
def test_only_a_message_of_no_candidates_completes_an_attempt(
    said: str, outcome: PreemptionOutcome, complete: bool
) -> None:
    scene = Scene()
    scene.message(FULL + said)
    shown = scene.shown("n1")
    assert (shown.absence is not None) is complete
    assert shown.last is not None
    assert (shown.last.outcome, shown.last.is_complete) == (outcome, complete)


def test_a_message_that_did_not_arrive_shows_no_attempt() -> None:
    """It is only known that the scheduler will not write it again."""
    scene = Scene()
    scene.message(FULL + NO_CANDIDATES, arrived=False)
    stands = Ended(float("-inf"), True, PreemptionOutcome.NO_CANDIDATES)
    assert scene.shown("n1") == Shown(last=stands)
    assert scene.offers.presented(scene.uid) is None
    assert scene.offers.attempted(scene.uid) is None
    scene.preempt(n2=["a"])
    assert scene.shown("n1").last == Ended(scene.clock.monotonic(), True, None, known=0)


def test_a_message_of_something_else_that_did_not_arrive_counts_for_nothing() -> None:
    scene = Scene()
    scene.message(FULL + "no candidate node for preemption", arrived=False)
    assert scene.shown("n1") == Shown()
    assert len(scene.offers) == 0


@pytest.mark.parametrize(("names", "complete"), [(1, True), (100, False)])
def test_a_held_pod_s_message_that_did_not_arrive_needs_a_complete_list(names: int, complete: bool) -> None:
    scene = Scene()
    scene.message(HELD + NO_CANDIDATES, arrived=False)
    assert scene.shown("away").last == Ended(float("-inf"), False, PreemptionOutcome.NO_CANDIDATES)
    scene.filter(*MANY[:names])
    assert scene.shown("away").last == Ended(float("-inf"), complete, PreemptionOutcome.NO_CANDIDATES)


def test_whose_lists_others_may_have_emptied_is_refused_by_no_message_that_did_not_arrive() -> None:
    scene = Scene(Limits(0, 100))
    scene.message(FULL + NO_CANDIDATES, arrived=False)
    last = scene.shown("n1").last
    assert last is not None
    assert not last.is_complete


def test_a_held_pod_s_message_belongs_to_its_filter_call() -> None:
    scene = Scene()
    scene.filter("n1")
    scene.message(HELD + NO_CANDIDATES)
    assert not scene.is_absent("n1")
    assert scene.is_absent("n2")


def test_a_held_pod_s_message_without_its_filter_call_says_nothing() -> None:
    scene = Scene()
    scene.message(HELD + NO_CANDIDATES)
    assert not scene.is_absent("n1")


def test_an_incomplete_filter_list_makes_the_message_incomplete() -> None:
    scene = Scene()
    scene.filter(*MANY)
    scene.message(HELD + NO_CANDIDATES)
    assert not scene.is_absent("away")


def test_a_late_message_of_the_attempt_before_does_not_use_up_the_filter_call() -> None:
    """The next attempt's filter list is incomplete, and so is the attempt that its preempt call ends."""
    scene = Scene()
    scene.filter("n1")
    scene.filter(*MANY)
    scene.message(HELD + NO_CANDIDATES)
    scene.preempt(x=["a"])
    assert not scene.is_absent("away")


def test_a_preempt_call_ends_the_attempt_of_its_filter_call() -> None:
    """The next preempt call had no filter call: no node passed."""
    scene = Scene()
    scene.filter(*MANY)
    scene.preempt(x=["a"])
    scene.preempt(x=["a"])
    assert scene.is_absent("away")


@pytest.mark.parametrize(("seconds", "complete"), [(30, False), (31, True)])
def test_a_filter_call_of_long_ago_belongs_to_another_attempt(seconds: float, complete: bool) -> None:
    scene = Scene()
    scene.filter(*MANY)
    scene.advance(seconds)
    scene.preempt(x=["a"])
    assert scene.is_absent("away") is complete


# ---- when an absence does not count


def test_an_absence_does_not_stand_against_an_offer_that_counts() -> None:
    scene = Scene()
    scene.filter("n1")
    scene.preempt(n2=["a"])
    scene.preempt(n3=["a"])
    assert not scene.is_absent("n1")
    assert not scene.is_absent("n2")
    assert scene.is_absent("n4")


def test_an_attempt_that_is_not_complete_leaves_the_absence_before() -> None:
    scene = Scene()
    scene.preempt(n1=["a"])
    scene.filter(*MANY)
    scene.preempt(n1=["a"])
    assert scene.is_absent("away")


@pytest.mark.parametrize("what", ["change_node", "change_pods"])
def test_an_absence_ends_with_a_change_of_the_node(what: str) -> None:
    scene = Scene()
    scene.preempt(n1=["a"])
    getattr(scene.changes, what)("n2")
    assert not scene.is_absent("n2")
    assert scene.is_absent("n3")


@pytest.mark.parametrize(("seconds", "counts"), [(0.5, False), (1.0, True)])
def test_an_absence_does_not_speak_of_a_node_that_had_just_changed(seconds: float, counts: bool) -> None:
    scene = Scene()
    scene.changes.change_pods("n2")
    scene.advance(0.2)
    scene.clock.advance(seconds)
    scene.filter("n1")
    scene.preempt(x=["a"])
    assert scene.is_absent("n2") is counts
    assert scene.is_absent("n3")


def test_in_the_first_moments_nothing_is_known_to_be_absent() -> None:
    clock = ManualClock()
    offers = Offers(clock, Changes(), SchedulerConfiguration(), offer_seconds=60)
    member = pod("m")
    offers.preempt_called(member, {"n1": ["a"]})
    assert offers.shown(member.metadata.uid, "n2").absence is None
    assert offers.shown(member.metadata.uid, "n1").candidates


def test_an_absence_tells_when_it_was_seen() -> None:
    scene = Scene()
    scene.changes.change_node("n9")
    scene.advance(1)
    scene.advance(1)
    scene.filter("n1")
    at = scene.clock.monotonic()
    scene.clock.advance(1)
    scene.preempt(n2=["a"])
    assert scene.shown("n3").absence == Absence(at, 1)


# ---- who has asked, and what is forgotten


def test_when_the_pod_was_presented_and_attempted() -> None:
    scene = Scene()
    start = scene.clock.monotonic()
    acts: list[Callable[[], None]] = [
        lambda: scene.filter("n1"),
        lambda: scene.preempt(n2=["a"]),
        lambda: scene.message(FULL + NO_CANDIDATES),
        lambda: scene.offers.sign_seen(scene.uid),
    ]
    seen = []
    for act in acts:
        scene.advance(1)
        act()
        seen.append((scene.offers.presented(scene.uid), scene.offers.attempted(scene.uid)))
    assert seen == [
        (start + 1, None),
        (start + 2, start + 2),
        (start + 3, start + 3),
        (start + 4, start + 3),
    ]


def test_it_is_still_known_that_a_pod_was_presented_when_its_offers_have_lapsed() -> None:
    scene = Scene()
    scene.filter("n1")
    at = scene.clock.monotonic()
    scene.advance(1000)
    assert scene.offers.presented(scene.uid) == at


def test_a_pod_that_is_forgotten_was_never_presented() -> None:
    scene = Scene()
    scene.filter("n1")
    scene.preempt(n2=["a"])
    scene.offers.forget(scene.uid)
    scene.offers.forget(scene.uid)
    assert scene.shown("n1") == Shown()
    assert scene.offers.presented(scene.uid) is None
    assert len(scene.offers) == 0


def test_nodes_that_come_and_go_take_no_memory_for_ever() -> None:
    scene = Scene()

    def live(rounds: range) -> int:
        for number in rounds:
            scene.clock.advance(61)
            names = [f"{number}-{node}" for node in range(100)]
            scene.filter(*names)
            scene.preempt(**{name: [f"uid-{number}"] for name in names})
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = live(range(20))
        assert live(range(20, 60)) < before + 50_000
    finally:
        tracemalloc.stop()


def test_attempts_whose_lists_were_cut_short_are_counted_once_each() -> None:
    scene = Scene()
    scene.offers.filter_called(scene.pod, MANY)
    assert scene.offers.cut(scene.uid) == 0, "the attempt has not ended"
    scene.offers.preempt_called(scene.pod, {})
    assert scene.offers.cut(scene.uid) == 1
    scene.offers.filter_called(scene.pod, MANY[:9])
    scene.offers.preempt_called(scene.pod, {node: frozenset("v") for node in MANY})
    assert scene.offers.cut(scene.uid) == 2
    scene.offers.filter_called(scene.pod, MANY)
    for total in (3, 3):
        scene.offers.message_seen(scene.pod, FULL + NO_CANDIDATES, arrived=True)
        assert scene.offers.cut(scene.uid) == total
    scene.offers.filter_called(scene.pod, MANY[:9])
    scene.offers.preempt_called(scene.pod, {})
    assert scene.offers.cut(scene.uid) == 3
    scene.offers.forget(scene.uid)
    assert scene.offers.cut(scene.uid) == 0
