"""The Lease: whatever fails, stands still or is deleted, two processes never act at the same time."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar, cast

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kube.client import ApiClient
from kube.errors import ApiError
from kube.lease import Held, LeaseLock
from runtime.terms.term import Term
from tests.kit.clock import ManualClock
from tests.kit.lease import TIMES, Fault, Server

T = TypeVar("T")


class Process:
    """Tries to act, and notes when it may."""

    def __init__(self, server: Server, name: str) -> None:
        self.clock = server.clock
        client = cast(ApiClient, server)
        self.lock = LeaseLock(client, "ns", "reprieve", name, TIMES, self.clock)
        self.term: Term | None = None
        self.held: Held | None = None
        self.numbers: list[int] = []

    def acts(self) -> bool:
        return self.term is not None and not self.term.is_over

    def step(self) -> None:
        """What `LeaseTerms` does when it is time for the next attempt."""
        try:
            if self.term is not None and self.held is not None and self.acts():
                renewed = run(self.lock.renew(self.held, min(5.0, self.term.seconds_left())))
                if renewed is None:
                    self.term.end()
                else:
                    self.held = renewed
                    self.term.put_off(renewed.until)
                return
            run(self.lock.look(5.0))
            self.held = run(self.lock.take(5.0))
        except ApiError:
            return
        if self.held is not None:
            self.term = Term(self.held.number, self.clock, end=self.held.until)
            if self.acts():
                self.numbers.append(self.held.number)

    def leave(self) -> None:
        """It stops to act, and releases the Lease."""
        if self.term is None or self.held is None or not self.acts():
            return
        self.term.end()
        try:
            run(self.lock.release(self.held, 2.0))
        except ApiError:
            return


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The server answers at once, so nothing has to wait."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise AssertionError("it waits")


WAITS = st.sampled_from([0.0, 0.0, 0.1, 1.0, 4.0, 6.0, 11.0, 30.0])
WHO = st.integers(0, 2)


class Machine(RuleBasedStateMachine):
    """Three processes, and one Lease."""

    @initialize()
    def begin(self) -> None:
        self.clock = ManualClock()
        self.server = Server(self.clock)
        self.starts = 0
        self.processes = [self.start() for _ in range(3)]
        self.highest = 0

    def start(self) -> Process:
        self.starts += 1
        return Process(self.server, f"process-{self.starts}")

    @rule(who=WHO)
    def step(self, who: int) -> None:
        self.processes[who].step()

    @rule(who=WHO, other=WHO, before=WAITS, after=WAITS, lost=st.booleans(), skip=st.integers(0, 1))
    def step_with_fault(
        self, who: int, other: int, before: float, after: float, *, lost: bool, skip: int
    ) -> None:
        between = self.processes[other].step if other != who else None
        self.server.faults = [Fault() for _ in range(skip)] + [Fault(before, after, lost, between)]
        self.processes[who].step()
        self.server.faults = []

    @rule(who=WHO, lost=st.booleans())
    def leave(self, who: int, *, lost: bool) -> None:
        self.server.faults = [Fault(lost=lost)]
        self.processes[who].leave()
        self.server.faults = []

    @rule(who=WHO)
    def killed(self, who: int) -> None:
        self.processes[who] = self.start()

    @rule()
    def deleted(self) -> None:
        self.server.stored = None

    @rule(seconds=WAITS)
    def time(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def one_acts(self) -> None:
        assert sum(process.acts() for process in getattr(self, "processes", ())) <= 1


TestLease = Machine.TestCase
TestLease.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)


def test_a_process_that_is_left_alone_acts_again_and_each_term_has_a_higher_number() -> None:
    clock = ManualClock()
    server = Server(clock)
    first, second = Process(server, "first"), Process(server, "second")
    first.step()
    assert first.acts()
    for _ in range(15):
        second.step()
        assert not second.acts()
        clock.advance(1.0)  # first stands still
    second.step()
    assert second.acts()
    assert not first.acts()
    first.step()
    assert not first.acts()
    second.leave()
    first.step()
    assert first.acts()
    assert (first.numbers, second.numbers) == ([1, 3], [2])


def test_somebody_else_may_be_written_into_the_lease() -> None:
    """By hand: the holder stops as soon as it sees that."""
    clock = ManualClock()
    server = Server(clock)
    process = Process(server, "first")
    process.step()
    assert server.stored is not None
    server.stored["spec"]["holderIdentity"] = "somebody"
    server.stored["metadata"]["resourceVersion"] = "99"
    process.step()
    assert not process.acts()
    process.step()
    assert not process.acts()  # somebody may act now
    clock.advance(15.0)
    process.step()
    assert process.acts()


def test_an_edited_label_is_no_loss() -> None:
    clock = ManualClock()
    server = Server(clock)
    process = Process(server, "first")
    process.step()
    assert server.stored is not None
    server.stored["metadata"]["resourceVersion"] = "99"
    clock.advance(6.0)
    process.step()
    clock.advance(6.0)
    assert process.acts()


def test_nobody_is_named_where_the_lease_was_created_for_nobody() -> None:
    """It has the address of its creator, which does not lead."""
    server = Server(ManualClock(), stored=None)
    first, second = Process(server, "first"), Process(server, "second")
    first.step()
    second.step()
    assert (first.lock.holder, second.lock.holder) == (None, None)
    server.clock.advance(TIMES.duration)
    first.step()
    second.step()
    assert first.acts()
    assert first.lock.holder is None, "not another process"
    assert second.lock.holder is not None
    assert second.lock.holder.holder == "first"


def test_who_cannot_read_the_lease_goes_by_who_had_it_last() -> None:
    """The holder may renew it all the time. Who can read it sees that nobody does."""
    server = Server(ManualClock())
    holder, cut_off, other = (Process(server, name) for name in ("holder", "cut off", "other"))
    for process in (holder, cut_off, other):
        process.step()
    assert cut_off.lock.in_touch
    server.clock.advance(TIMES.duration)
    run(other.lock.look(5.0))
    assert (cut_off.lock.in_touch, other.lock.in_touch) == (False, True)
    assert cut_off.lock.holder is not None
    assert cut_off.lock.holder.holder == "holder"
    assert other.lock.holder is None
    assert holder.lock.holder is None, "not another process"
    run(cut_off.lock.look(5.0))
    assert cut_off.lock.in_touch
    assert cut_off.lock.holder is None


def test_where_there_is_no_lease_a_new_process_waits_for_its_last_holder() -> None:
    clock = ManualClock()
    server = Server(clock, stored=None)
    process = Process(server, "first")
    process.step()
    clock.advance(14.0)
    process.step()
    assert not process.acts()
    clock.advance(1.0)
    process.step()
    assert process.acts()
