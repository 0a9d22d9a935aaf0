"""Random crowds that wait for pulses: never too many, never at more priority than needed, and nobody starves."""

from __future__ import annotations

import itertools
from collections.abc import Container

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controllers.gangs.mirror.waiting import PULSE_NODE, WaitingPod
from controllers.gangs.waking.pulses import Pulse, PulseBudget, PulseQueue, Result, Wish
from tests.kit.examples import examples

SCHEDULERS = ("a", "b")
PRIORITIES = st.integers(0, 3)
LIMIT, PERIOD = 10, 60.0


def waiting(number: int, scheduler: str, priority: int, nominated: str = "") -> WaitingPod:
    name = f"p{number}"
    return WaitingPod(name, "d", name, scheduler, priority, "1", nominated, False, True, False)


class Crowd:
    """The pods, as slow and as plain as can be."""

    def __init__(self) -> None:
        self.pods: dict[str, WaitingPod] = {}
        self.left: dict[str, float] = {}

    def find_writable(self, uid: str) -> WaitingPod | None:
        return self.pods.get(uid)

    def usable(self, but: Container[str]) -> list[WaitingPod]:
        return [pod for pod in self.pods.values() if not pod.nominated and pod.uid not in but]

    def carrier(self, scheduler: str, at_least: int, but: Container[str] = ()) -> WaitingPod | None:
        fits = [pod for pod in self.usable(but) if pod.scheduler == scheduler and pod.priority >= at_least]
        return min(fits, key=lambda pod: pod.priority, default=None)

    def left_behind(self, until: float) -> WaitingPod | None:
        return next((self.pods[uid] for uid, since in self.left.items() if since <= until), None)


def rank(number: int) -> tuple[int, str, tuple[str, str]]:
    return (number, "", ("d", "g"))


class Pulses(RuleBasedStateMachine):
    """A queue, its pods, and an API server that writes, refuses, or goes away."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.queue, self.crowd = PulseQueue(PulseBudget()), Crowd()
        self.numbers = itertools.count()
        self.wishes: dict[str, tuple[Wish, float]] = {}
        """Not fulfilled, and when each became due."""
        self.begun: list[float] = []
        """When pulses began, whatever came of them."""
        self.done: list[float] = []
        """When those began that did something, or may have."""
        self.spared: dict[str, float] = {}

    @rule(scheduler=st.sampled_from(SCHEDULERS), priority=PRIORITIES)
    def a_pod_comes(self, scheduler: str, priority: int) -> None:
        pod = waiting(next(self.numbers), scheduler, priority)
        self.crowd.pods[pod.uid] = pod

    @precondition(lambda self: self.crowd.pods)
    @rule(data=st.data(), node=st.sampled_from(["", "n0", PULSE_NODE]))
    def a_nomination_changes(self, data: st.DataObject, node: str) -> None:
        pod = self.crowd.pods[data.draw(st.sampled_from(sorted(self.crowd.pods)))]
        self.crowd.pods[pod.uid] = pod._replace(nominated=node)
        self.crowd.left.pop(pod.uid, None)
        if node == PULSE_NODE:
            self.crowd.left[pod.uid] = self.now

    @precondition(lambda self: self.crowd.pods)
    @rule(data=st.data())
    def a_pod_goes(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.crowd.pods)))
        del self.crowd.pods[uid]
        self.crowd.left.pop(uid, None)
        self.queue.drop(uid)
        self.wishes.pop(uid, None)

    @precondition(lambda self: self.crowd.pods)
    @rule(data=st.data(), number=st.integers(0, 5), alone=st.booleans(), later=st.sampled_from([0, 0, 90]))
    def somebody_is_wanted(self, data: st.DataObject, number: int, alone: bool, later: int) -> None:
        pod = self.crowd.pods[data.draw(st.sampled_from(sorted(self.crowd.pods)))]
        if pod.uid in self.wishes:
            return
        due = self.now + later
        wish = Wish(pod.uid, rank(number), pod.scheduler, pod.priority, pod.uid, alone, due)
        self.queue.want(wish, self.now)
        self.wishes[wish.id] = wish, due

    @rule(scheduler=st.sampled_from(SCHEDULERS), priority=PRIORITIES, number=st.integers(0, 5))
    def a_crowd_is_wanted(self, scheduler: str, priority: int, number: int) -> None:
        wish = Wish(f"crowd {scheduler}", rank(number), scheduler, priority)
        self.queue.want(wish, self.now)
        before = self.wishes.get(wish.id)
        if before is None or before[0].priority <= priority:
            self.wishes[wish.id] = wish, before[1] if before is not None else self.now

    @rule(seconds=st.sampled_from([0.1, 1.0, 6.0, 31.0]), times=st.integers(1, 12), data=st.data())
    def time_passes(self, seconds: float, times: int, data: st.DataObject) -> None:
        for _ in range(times):
            self.now += seconds
            self.step(data.draw(st.sampled_from([Result.PULSED] * 5 + list(Result))))

    def step(self, result: Result) -> None:
        pulse = self.queue.next(self.now, self.crowd)
        if pulse is not None:
            self.begun.append(self.now)
            self.is_right(pulse)
            fulfilled = self.queue.done(pulse, result, self.now)
            self.follows(pulse, result, fulfilled)
        for id_ in self.queue.give_up(self.now):
            _, since = self.wishes.pop(id_)
            assert self.now >= since + 30, "given up too early"

    def is_right(self, pulse: Pulse) -> None:
        carrier, spared = pulse.carrier, {uid for uid, until in self.spared.items() if until > self.now}
        assert carrier == self.crowd.pods[carrier.uid]
        assert carrier.uid not in spared
        if pulse.is_withdrawal:
            assert carrier.nominated == PULSE_NODE
            return
        assert not carrier.nominated
        due = [wish for wish, since in self.wishes.values() if wish.due <= self.now]
        if any(wish.alone and wish.uid == carrier.uid for wish in due):
            return
        wanted = {w.priority for w in due if not w.alone and w.scheduler == carrier.scheduler}
        reach = [pod for pod in self.crowd.usable(spared) if pod.scheduler == carrier.scheduler]
        possible = [each for each in wanted if any(pod.priority >= each for pod in reach)]
        assert carrier.priority == min(pod.priority for pod in reach if pod.priority >= max(possible))

    def follows(self, pulse: Pulse, result: Result, fulfilled: list[str]) -> None:
        carrier = pulse.carrier
        if result in (Result.PULSED, Result.LEFT):
            self.done.append(self.now)
        if result is not Result.PULSED:
            assert not fulfilled
            self.spared[carrier.uid] = self.now + (60 if result is Result.REFUSED else 2)
            return
        if pulse.is_withdrawal:
            self.crowd.pods[carrier.uid] = carrier._replace(nominated="")
            del self.crowd.left[carrier.uid]
        served = {
            wish.id
            for wish, _ in self.wishes.values()
            if wish.uid == carrier.uid
            or (not wish.alone and wish.scheduler == carrier.scheduler and wish.priority <= carrier.priority)
        }
        assert set(fulfilled) == served, "one pulse serves all who wait, and nobody else"
        for id_ in served:
            del self.wishes[id_]

    @invariant()
    def pulses_are_few(self) -> None:
        assert all(earlier + 1.0 <= later for earlier, later in itertools.pairwise(self.begun))
        assert all(first + PERIOD <= last for first, last in zip(self.done, self.done[LIMIT:], strict=False))

    def teardown(self) -> None:
        """From now on the API server answers, and nobody new comes: everybody is served, or helpless."""
        pulses = len(self.wishes) + len(self.crowd.left) + 1
        latest = max([self.now, *(since for _, since in self.wishes.values())])
        while self.now < latest + PERIOD + pulses * PERIOD / LIMIT + 60 + 30:
            self.now += 1.0
            self.step(Result.PULSED)
            self.pulses_are_few()
        assert len(self.queue) == 0
        assert not self.wishes


TestPulses = Pulses.TestCase
TestPulses.settings = settings(max_examples=examples(100), stateful_step_count=30)


@settings(max_examples=examples(20))
@given(backlog=st.integers(0, 20), scheduler=st.sampled_from(SCHEDULERS))
def test_the_last_in_the_queue_is_served_while_others_keep_coming(backlog: int, scheduler: str) -> None:
    """Every second somebody of higher rank comes who needs a pulse of their own: far more than there are pulses."""
    queue, crowd, now = PulseQueue(PulseBudget()), Crowd(), 1000.0
    numbers = itertools.count(1)

    def comes(number: int, of: str, alone: bool, priority: int) -> str:
        pod = waiting(next(numbers), of, priority)
        crowd.pods[pod.uid] = pod
        queue.want(Wish(pod.uid, rank(number), of, priority, pod.uid, alone), now)
        return pod.uid

    for _ in range(backlog):
        comes(0, "a", True, 0)
    now += 1.0
    last = comes(9, scheduler, False, 5)
    deadline = now + 60.0 + (backlog + 2) * PERIOD / LIMIT
    while queue.find(last) is not None:
        now += 1.0
        assert now <= deadline, "it starves"
        comes(0, "a", True, 0)
        pulse = queue.next(now, crowd)
        if pulse is not None:
            queue.done(pulse, Result.PULSED, now)


@pytest.mark.parametrize("result", [Result.CHANGED, Result.REFUSED])
def test_a_pulse_that_was_none_costs_a_second_and_no_more(result: Result) -> None:
    queue, crowd, now = PulseQueue(PulseBudget()), Crowd(), 1000.0
    for number in range(LIMIT + 5):
        crowd.pods[f"p{number}"] = waiting(number, "a", 0)
    queue.want(Wish("crowd a", rank(0), "a", 0), now)
    for _ in range(LIMIT + 3):
        pulse = queue.next(now, crowd)
        assert pulse is not None
        assert queue.done(pulse, result, now) == []
        assert queue.next(now + 0.9, crowd) is None
        now += 1.0
    pulse = queue.next(now, crowd)
    assert pulse is not None
    assert queue.done(pulse, Result.PULSED, now) == ["crowd a"]


def test_a_wish_that_came_while_the_pulse_was_written_waits_for_the_next_one() -> None:
    queue, crowd = PulseQueue(PulseBudget()), Crowd()
    crowd.pods["p0"] = waiting(0, "a", 0)
    queue.want(Wish("early", rank(0), "a", 0), 1000.0)
    pulse = queue.next(1000.0, crowd)
    assert pulse is not None
    queue.want(Wish("late", rank(0), "a", 0), 1000.5)
    assert queue.done(pulse, Result.PULSED, 1000.6) == ["early"]
    assert queue.find("late") is not None


def test_a_pod_that_waits_itself_carries_the_pulse() -> None:
    queue, crowd = PulseQueue(PulseBudget()), Crowd()
    for number in range(3):
        crowd.pods[f"p{number}"] = waiting(number, "a", 7)
    queue.want(Wish("p1", rank(0), "a", 7, "p1"), 1000.0)
    pulse = queue.next(1000.0, crowd)
    assert pulse is not None
    assert pulse.carrier.uid == "p1"


@pytest.mark.parametrize("gap", [0.25, 1.0, 2.5])
def test_where_many_need_pulses_of_their_own_there_are_ten_a_minute(gap: float) -> None:
    queue, crowd, now = PulseQueue(PulseBudget()), Crowd(), 1000.0
    for number in range(50):
        pod = waiting(number, "a", 0)
        crowd.pods[pod.uid] = pod
        queue.want(Wish(pod.uid, rank(number), "a", 0, pod.uid, alone=True), now)
    begun = []
    while now < 1000.0 + 3 * PERIOD:
        pulse = queue.next(now, crowd)
        if pulse is not None:
            begun.append(now)
            queue.done(pulse, Result.PULSED, now)
        now += gap
    assert all(earlier + 1.0 <= later for earlier, later in itertools.pairwise(begun))
    tens = list(zip(begun, begun[LIMIT:], strict=False))
    assert all(first + PERIOD <= last < first + PERIOD + gap for first, last in tens)
    assert tens


@pytest.mark.parametrize("alone", [False, True])
def test_nobody_is_given_up_who_could_be_helped_meanwhile(alone: bool) -> None:
    queue, crowd = PulseQueue(PulseBudget()), Crowd()
    crowd.pods["p0"] = waiting(0, "a", 9, "n0")
    queue.want(Wish("p0", rank(9), "a", 9, "p0", alone), 1000.0)
    assert queue.next(1000.0, crowd) is None
    crowd.pods["p0"] = waiting(0, "a", 9)
    crowd.pods["p1"] = waiting(1, "b", 0)
    queue.want(Wish("p1", rank(0), "b", 0, "p1"), 1010.0)
    first = queue.next(1010.0, crowd)
    assert first is not None
    assert queue.done(first, Result.PULSED, 1010.0) == ["p1"]
    crowd.pods["p0"] = waiting(0, "a", 9, "n0")
    assert queue.next(1020.0, crowd) is None
    assert queue.give_up(1031.0) == []
    assert queue.give_up(1050.0) == ["p0"]


def test_whom_nobody_can_help_does_not_bring_others_forward() -> None:
    queue, crowd = PulseQueue(PulseBudget()), Crowd()
    for number, (scheduler, priority, nominated) in enumerate([("a", 9, "n0"), ("a", 1, ""), ("b", 0, "")]):
        crowd.pods[f"p{number}"] = waiting(number, scheduler, priority, nominated)
    for number, place in enumerate([0, 5, 3]):
        pod = crowd.pods[f"p{number}"]
        queue.want(Wish(pod.uid, rank(place), pod.scheduler, pod.priority, pod.uid), 1000.0)
    pulse = queue.next(1000.0, crowd)
    assert pulse is not None
    assert pulse.carrier.uid == "p2"
