"""Random attempts on random pods: offers against a plain list of what happened, and what no proof may ever say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from api.core import Pod
from controllers.gangs.scheduler.configuration import Limits, SchedulerConfiguration
from controllers.gangs.scheduler.messages import PreemptionOutcome
from controllers.gangs.scheduler.offers import Absence, Ended, Offers, Shown
from controllers.gangs.scheduler.proofs import PlannedMember, Proof, prove
from tests.kit.clock import ManualClock
from tests.kit.examples import examples
from tests.kit.objects import pod

OFFER_SECONDS, SETTLE_SECONDS, LINK_SECONDS = 60.0, 1.0, 30.0
PODS = ("m0", "m1")
NODES = ("n0", "n1", "n2", "n3")
UIDS = ("a", "b", "c")
LIMITS = {"usual": Limits(3, 3), "all": Limits(None, None), "cut": Limits(0, 0)}
SCHEDULERS = st.sampled_from(sorted(LIMITS))
NAMES = st.lists(st.sampled_from(NODES), min_size=1, unique=True)
CANDIDATES = st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from(UIDS), unique=True), min_size=1)
HELD = "0/4 nodes are available: 4 reprieve: wait. preemption: "
FULL = "0/4 nodes are available: 4 Insufficient cpu. preemption: "
SAYINGS = {
    "0/4 nodes are available: 4 Preemption is not helpful for scheduling.": PreemptionOutcome.NO_CANDIDATES,
    "not eligible due to preemptionPolicy=Never.": PreemptionOutcome.NEVER,
    "no candidate node for preemption": PreemptionOutcome.EMPTY_ANSWER,
}


@dataclass
class World:
    """Counts of changes, and when each number was first in force."""

    clock: ManualClock
    last_change: int = 0
    nodes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NODES, 0))
    pods: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NODES, 0))
    changed_at: dict[str, float] = field(default_factory=lambda: dict.fromkeys(NODES, 0.0))

    def node_changes(self, node: str) -> int:
        return self.nodes[node]

    def node_pod_changes(self, node: str) -> int:
        return self.pods[node]

    def nomination_changes(self, node: str) -> int:
        return 0

    def change(self, node: str, counter: dict[str, int]) -> None:
        self.last_change += 1
        counter[node] = self.last_change
        self.changed_at[node] = self.clock.monotonic()

    def state(self, node: str) -> tuple[int, int]:
        return self.nodes[node], self.pods[node]


@dataclass
class Attempt:
    """One attempt as a reader of the rule would write it down, with the state of every node at each call."""

    pod: str
    filtered: tuple[str, ...] | None = None
    """None: filter was not called."""
    filter_at: float = 0.0
    filter_states: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    filter_complete: bool = True
    candidates: Mapping[str, Sequence[str]] = field(default_factory=dict)
    end_at: float | None = None
    end_states: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    complete: bool = False


class Machine(RuleBasedStateMachine):
    """What is noted is noted twice: in the offers, and in a list that nobody shortens."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.world = World(self.clock)
        self.offers = Offers(
            self.clock,
            self.world,
            SchedulerConfiguration(LIMITS),
            offer_seconds=OFFER_SECONDS,
            settle_seconds=SETTLE_SECONDS,
        )
        self.born = self.clock.monotonic()
        self.attempts: list[Attempt] = []
        self.last_filter: dict[str, Attempt] = {}
        self.preempted: dict[str, float] = {}
        """When the pod's last attempt ended, if it ended with a preempt call."""
        self.presented: dict[str, float] = {}
        self.attempted: dict[str, float] = {}

    def states(self) -> dict[str, tuple[int, int]]:
        return {node: self.world.state(node) for node in NODES}

    def pod(self, name: str, scheduler: str, nominated: str = "") -> Pod:
        made = pod(name, uid=name, schedulerName=scheduler)
        made.status.nominated_node_name = nominated
        return made

    # ---- what happens

    @rule(
        name=st.sampled_from(PODS), scheduler=SCHEDULERS, names=NAMES, nominated=st.sampled_from(["", "n0"])
    )
    def filter_called(self, name: str, scheduler: str, names: list[str], nominated: str) -> None:
        self.offers.filter_called(self.pod(name, scheduler, nominated), names)
        limit = LIMITS[scheduler].filter
        complete = (limit is None or len(names) < limit) and not (nominated and len(names) == 1)
        now = self.presented[name] = self.clock.monotonic()
        attempt = Attempt(name, tuple(names), now, self.states(), complete)
        self.attempts.append(attempt)
        self.last_filter[name] = attempt

    @rule(name=st.sampled_from(PODS), scheduler=SCHEDULERS, candidates=CANDIDATES)
    def preempt_called(self, name: str, scheduler: str, candidates: dict[str, list[str]]) -> None:
        self.offers.preempt_called(self.pod(name, scheduler), candidates)
        limit = LIMITS[scheduler].candidates
        self.end(name, scheduler, candidates, limit is None or len(candidates) < limit)
        self.last_filter.pop(name, None)
        self.preempted[name] = self.clock.monotonic()

    @rule(
        name=st.sampled_from(PODS),
        scheduler=SCHEDULERS,
        said=st.sampled_from(sorted(SAYINGS)),
        ours=st.booleans(),
        arrived=st.sampled_from([True, True, False]),
    )
    def message_seen(self, name: str, scheduler: str, said: str, ours: bool, arrived: bool) -> None:
        text = (HELD if ours else FULL) + said
        self.offers.message_seen(self.pod(name, scheduler), text, arrived=arrived)
        answered = self.clock.monotonic() - self.preempted.get(name, -LINK_SECONDS - 1.0) <= LINK_SECONDS
        if arrived and SAYINGS[said] is PreemptionOutcome.EMPTY_ANSWER and answered:
            self.presented[name] = self.clock.monotonic()  # the end of the attempt that called preempt
        elif arrived:
            self.preempted.pop(name, None)
            missing = ours and self.filter_of(name) is None
            self.end(name, scheduler, {}, SAYINGS[said] is PreemptionOutcome.NO_CANDIDATES and not missing)

    def filter_of(self, name: str) -> Attempt | None:
        attempt = self.last_filter.get(name)
        recent = attempt is not None and self.clock.monotonic() - attempt.filter_at <= LINK_SECONDS
        return attempt if recent else None

    def end(self, name: str, scheduler: str, candidates: Mapping[str, Sequence[str]], complete: bool) -> None:
        now, called = self.clock.monotonic(), self.filter_of(name)
        attempt = Attempt(name)
        if called is not None:
            attempt.filtered, attempt.filter_complete = called.filtered, called.filter_complete
            attempt.filter_at, attempt.filter_states = called.filter_at, called.filter_states
        else:
            limit = LIMITS[scheduler].filter
            attempt.filter_complete = limit is None or limit > 0
        attempt.candidates, attempt.end_at, attempt.end_states = candidates, now, self.states()
        attempt.complete = complete and attempt.filter_complete
        self.attempts.append(attempt)
        self.presented[name] = self.attempted[name] = now

    @rule(name=st.sampled_from(PODS))
    def forget(self, name: str) -> None:
        self.offers.forget(name)
        self.attempts = [each for each in self.attempts if each.pod != name]
        for kept in (self.last_filter, self.preempted, self.presented, self.attempted):
            kept.pop(name, None)

    @rule(node=st.sampled_from(NODES), which=st.booleans())
    def change(self, node: str, which: bool) -> None:
        self.world.change(node, self.world.nodes if which else self.world.pods)

    @rule(seconds=st.sampled_from([0.01, 0.5, 1.0, 2.0, 29.0, 31.0, 61.0]), expire=st.booleans())
    def advance(self, seconds: float, expire: bool) -> None:
        self.clock.advance(seconds)
        if expire:
            self.offers.expire()

    # ---- what must hold

    def counts(self, at: float, states: Mapping[str, tuple[int, int]], node: str) -> bool:
        return self.clock.monotonic() - at <= OFFER_SECONDS and states[node] == self.world.state(node)

    def is_offered(self, name: str, node: str) -> bool:
        return any(
            each.filtered is not None
            and node in each.filtered
            and self.counts(each.filter_at, each.filter_states, node)
            for each in self.attempts
            if each.pod == name
        )

    def candidates(self, name: str, node: str) -> set[frozenset[str]]:
        return {
            frozenset(each.candidates[node])
            for each in self.attempts
            if each.pod == name
            and each.end_at is not None
            and node in each.candidates
            and self.counts(each.end_at, each.end_states, node)
        }

    def may_be_absent(self, name: str, node: str) -> bool:
        """Whether a complete attempt that counts did not show the node, and no other attempt that counts did."""
        complete = [each for each in self.attempts if each.pod == name and each.complete]
        return (
            any(
                node not in (each.filtered or ())
                and node not in each.candidates
                and self.counts(each.end_at or 0.0, each.end_states, node)
                for each in complete
            )
            and not self.is_offered(name, node)
            and not self.candidates(name, node)
        )

    @invariant()
    def offers_are_what_happened(self) -> None:
        for name in PODS:
            assert self.offers.presented(name) == self.presented.get(name)
            assert self.offers.attempted(name) == self.attempted.get(name)
            for node in NODES:
                shown = self.offers.shown(name, node)
                assert shown.is_offered == self.is_offered(name, node)
                assert set(shown.candidates) == self.candidates(name, node)
                if shown.absence is not None:
                    assert self.may_be_absent(name, node)
                    assert self.world.changed_at[node] <= shown.absence.at

    @invariant()
    def offers_of_all_pods_are_those_of_each(self) -> None:
        leaving = {"n0": frozenset[str](), "n1": frozenset(UIDS[:1]), "n2": frozenset(UIDS)}
        found = self.offers.offers([*PODS, "stranger"], leaving)
        assert "stranger" not in found
        for name in PODS:
            expected = set()
            for node, gone in leaving.items():
                shown = self.offers.shown(name, node)
                if shown.is_offered or (gone and any(victims <= gone for victims in shown.candidates)):
                    expected.add(node)
            assert found.get(name, set()) == expected

    @invariant()
    def a_fresh_absence_is_not_missed(self) -> None:
        for name in PODS:
            complete = [each for each in self.attempts if each.pod == name and each.complete]
            if not complete:
                continue
            last = complete[-1]
            began = last.filter_at if last.filtered is not None else last.end_at or 0.0
            for node in NODES:
                settled = self.world.changed_at[node] < self.born and began - self.born >= SETTLE_SECONDS
                fresh = self.clock.monotonic() - began <= OFFER_SECONDS
                if settled and fresh and self.may_be_absent(name, node):
                    assert self.offers.shown(name, node).absence is not None


TestOffers = Machine.TestCase
TestOffers.settings = settings(max_examples=examples(100), stateful_step_count=25)


# ---- proofs

SETS = st.frozensets(st.sampled_from(UIDS))
OUTCOMES = st.none() | st.sampled_from(PreemptionOutcome)
SHOWN = st.builds(
    Shown,
    is_offered=st.booleans(),
    candidates=st.lists(SETS, max_size=2).map(tuple),
    absence=st.none() | st.builds(Absence, at=st.just(1.0), change=st.integers(0, 3)),
    last=st.none() | st.builds(Ended, at=st.just(1.0), is_complete=st.booleans(), outcome=OUTCOMES),
)
FLAGS = st.booleans()
MEMBERS = st.builds(
    PlannedMember,
    node=st.just("n0"),
    priority=st.integers(0, 3),
    gone=st.dictionaries(st.sampled_from(UIDS), st.integers(-1, 4), max_size=2),
    victims=SETS,
    never=FLAGS,
    asks_about_others=FLAGS,
    kept_away=FLAGS,
    nomination_changes=st.integers(0, 3),
)


@given(SHOWN, MEMBERS)
def test_a_contradiction_needs_every_one_of_its_conditions(shown: Shown, member: PlannedMember) -> None:
    if prove(shown, member).proof is Proof.CONTRADICTED:
        assert shown.absence is not None
        assert not shown.is_offered
        assert all(priority < member.priority for priority in member.gone.values())
        assert not any((member.never, member.asks_about_others, member.kept_away))
        assert member.nomination_changes <= shown.absence.change


@given(SHOWN, MEMBERS)
def test_a_confirmation_needs_an_offer(shown: Shown, member: PlannedMember) -> None:
    leaves = member.victims | set(member.gone)  # type: ignore[operator]
    helps = bool(member.gone) and any(victims <= leaves for victims in shown.candidates)
    assert (prove(shown, member).proof is Proof.CONFIRMED) == (shown.is_offered or helps)


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("filter"), NAMES),
        st.tuples(st.just("preempt"), CANDIDATES),
        st.tuples(st.just("message"), st.sampled_from(sorted(SAYINGS))),
    ),
    max_size=8,
)


def noted(acts: list[tuple[str, Any]], limits: Limits) -> tuple[Offers, World]:
    clock = ManualClock()
    world = World(clock)
    offers = Offers(clock, world, SchedulerConfiguration({"s": limits}), offer_seconds=OFFER_SECONDS)
    clock.advance(5)
    offers.expire()
    member = pod("m0", uid="m0", schedulerName="s")
    for what, value in acts:
        clock.advance(0.1)
        if what == "filter":
            offers.filter_called(member, value)
        elif what == "preempt":
            offers.preempt_called(member, value)
        else:
            offers.message_seen(member, HELD + value, arrived=True)
    return offers, world


@given(ACTS, MEMBERS)
def test_without_complete_lists_nothing_is_ever_contradicted(
    acts: list[tuple[str, Any]], member: PlannedMember
) -> None:
    offers, _ = noted(acts, Limits(0, 0))
    assert prove(offers.shown("m0", "n0"), member).proof is not Proof.CONTRADICTED


@given(ACTS, ACTS, MEMBERS, st.sampled_from(sorted(LIMITS)))
def test_more_attempts_never_take_back_a_confirmation(
    before: list[tuple[str, Any]], more: list[tuple[str, Any]], member: PlannedMember, limits: str
) -> None:
    first, _ = noted(before, LIMITS[limits])
    if prove(first.shown("m0", "n0"), member).proof is Proof.CONFIRMED:
        then, _ = noted(before + more, LIMITS[limits])
        assert prove(then.shown("m0", "n0"), member).proof is Proof.CONFIRMED


@given(ACTS, MEMBERS, st.booleans())
def test_nothing_that_was_seen_survives_a_change_of_the_node(
    acts: list[tuple[str, Any]], member: PlannedMember, of_pods: bool
) -> None:
    offers, world = noted(acts, LIMITS["all"])
    world.change("n0", world.pods if of_pods else world.nodes)
    assert prove(offers.shown("m0", "n0"), member).proof is Proof.UNKNOWN
