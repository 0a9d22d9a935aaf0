"""Random lives of a plan of the quota plane: the world agrees, refuses, forgets and fails as it likes.

`REPRIEVE_LIVES` sets how many lives are lived (10,000 for a release).
"""

from __future__ import annotations

import os
from types import MappingProxyType

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controllers.quota.life.plan_life import (
    RETRY_US,
    Call,
    Deleted,
    Ending,
    EndNotWritten,
    EndWritten,
    Forget,
    Free,
    Life,
    Look,
    NotWritten,
    Observation,
    Overruled,
    WriteEnd,
    Written,
    reduce,
)
from controllers.quota.life.planned import Planned, PlannedVictim
from tests.kit.examples import examples

LIVES = int(os.environ.get("REPRIEVE_LIVES", examples(300)))
DEADLINE = 100_000_000
VICTIMS = ("v0", "v1", "v2")
ENDINGS = st.sampled_from(
    [
        Ending("QuotaReserved", "QuotaReserved", "it got its quota"),
        Ending("Aborted", "WorkloadDeleted", "it is gone"),
        Ending("Aborted", "VictimChanged", "the rule does not allow its preemption any longer"),
    ]
)


def planned() -> Planned:
    victims = {uid: PlannedVictim(uid, f"ns/{uid}", "InClusterQueue", "q", "/q", 0, 0) for uid in VICTIMS}
    key = ("ns", "plan")
    return Planned(
        key, "ns/w", "u", 1, 5, "q", "/q", MappingProxyType({}), MappingProxyType(victims), decided=0
    )


class Lives(RuleBasedStateMachine):
    """One plan. The test is the world: it writes, or does not."""

    def __init__(self) -> None:
        super().__init__()
        self.life, self.now = Life(planned(), DEADLINE), 0
        self.is_stored = self.was_active = False
        self.called: list[str] = []
        self.ends: list[Ending] = []
        """Ends that are being written."""
        self.stored_end: Ending | None = None
        self.freed = self.forgotten = 0
        self.paused = False
        self.stood = 0
        """For how long its deadline stood still, in microseconds."""

    def observe(self, seen: Observation) -> None:
        was_active, was_over = self.life.is_active, self.life.stage == "Over"
        self.life, effects = reduce(self.life, seen)
        assert was_active or not self.life.is_active, "an end is final"
        assert not (was_over and effects), "nothing follows once it is over"
        for effect in effects:
            match effect:
                case Call(uid):
                    assert self.is_stored, "nothing is evicted before the plan is stored"
                    assert self.life.stage == "Evicting", "nothing is evicted after the end"
                    assert uid not in self.called, "once is enough"
                    assert not self.paused, "nothing is evicted while it is paused"
                    self.called.append(uid)
                case WriteEnd(ending):
                    if ending.phase == "Expired" and was_active:  # it may be written once more later
                        assert not self.paused
                        assert self.now >= DEADLINE + self.stood, "its deadline stands still"
                    assert not self.ends, "one write at a time"
                    assert not self.life.is_active
                    self.ends.append(ending)
                case Free():
                    self.freed += 1
                case Forget():
                    self.forgotten += 1

    @precondition(lambda self: self.life.stage == "Storing" and not self.is_stored)
    @rule()
    def store(self) -> None:
        self.is_stored = True
        self.observe(Written())

    @precondition(lambda self: self.life.stage == "Storing" and not self.is_stored)
    @rule()
    def fail_to_store(self) -> None:
        self.observe(NotWritten(self.now + RETRY_US))

    @rule(seconds=st.sampled_from([0, 1, 2, 50, 200]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * 1_000_000
        if self.life.paused_since is not None:
            self.stood += seconds * 1_000_000
        due = self.life.due
        if due is not None and due <= self.now:
            self.look(None, frozenset())
            assert self.life.due is None or self.life.due > self.now, "time alone must not turn in circles"

    @rule(ending=st.none() | ENDINGS, to_evict=st.frozensets(st.sampled_from(VICTIMS)))
    def look(self, ending: Ending | None, to_evict: frozenset[str]) -> None:
        before = self.life
        if self.paused:
            self._look_paused(ending, has_evicted=len(to_evict) < len(VICTIMS))
            return
        self.observe(Look(self.now, ending, to_evict))
        if before.paused_since is not None and before.stage == "Evicting" and to_evict and ending is None:
            assert self.life.stage == "Ending", "it is decided about anew"
            return
        deadline = DEADLINE + self.stood
        if before.stage == "Evicting" and ending is None and before.paused_since is not None:
            assert self.life.stage == ("Ending" if self.now >= deadline else "Evicting")
            return
        if before.stage == "Evicting" and (ending is not None or self.now >= deadline):
            assert self.life.stage == "Ending"
        elif before.stage == "Evicting":
            assert to_evict <= set(self.called), "each victim that may be evicted is called"

    def _look_paused(self, ending: Ending | None, *, has_evicted: bool) -> None:
        before = self.life
        self.observe(Look(self.now, ending, frozenset(), "evictions are paused", has_evicted))
        if before.stage != "Evicting":
            return
        keeps = ending is None and (has_evicted or bool(self.called))
        assert self.life.stage == ("Evicting" if keeps else "Ending")

    @rule()
    def pause_or_resume(self) -> None:
        """Plans are looked at whenever that changes."""
        self.paused = not self.paused
        self.look(None, frozenset(VICTIMS) if self.paused else frozenset(VICTIMS[:1]))

    @rule(ending=ENDINGS)
    def overrule(self, ending: Ending) -> None:
        self.observe(Overruled(ending))
        assert not self.life.is_active

    @rule()
    def delete(self) -> None:
        self.observe(Deleted())
        assert self.life.stage == "Over"

    @precondition(lambda self: self.ends)
    @rule(is_written=st.booleans())
    def write_end(self, is_written: bool) -> None:
        ending = self.ends.pop()
        if is_written:
            self.stored_end = ending
        self.observe(EndWritten() if is_written else EndNotWritten(self.now))

    @invariant()
    def the_promise_is_given_back_once(self) -> None:
        assert self.freed == (not self.life.is_active)

    @invariant()
    def it_is_forgotten_once_it_is_over(self) -> None:
        assert self.forgotten == (self.life.stage == "Over")

    def teardown(self) -> None:
        """Left alone, and with writes that succeed, every plan comes to its end, which is stored."""
        self.paused = False
        if self.life.stage == "Storing":
            self.is_stored = True
            self.observe(Written())
        was_over = self.life.stage == "Over"
        for _ in range(5):
            self.now += DEADLINE
            self.look(None, frozenset())
            while self.ends:
                self.write_end(True)
        assert self.life.stage == "Over"
        assert was_over or self.stored_end is not None


Lives.TestCase.settings = settings(max_examples=LIVES, stateful_step_count=30, deadline=None)
TestLives = Lives.TestCase
