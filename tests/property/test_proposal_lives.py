"""What is proposed for a Workload that waits for a gate: one object at most, none after the wait, and few writes.

Writes may fail, and their answers may be lost. Processes may die at any time, also while they write.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from api.plan_names import plan_name
from api.plan_results import PlanCost
from api.plans import PreemptionPlanSpec, Preemptor, PreemptorQuota, Victim, VictimQuota
from controllers.quota.life.proposal_life import (
    EVERY_US,
    LONGEST_US,
    Create,
    Created,
    Decided,
    Delete,
    Deleted,
    Due,
    Effect,
    Found,
    NotCreated,
    NotDeleted,
    Observation,
    Over,
    ProposalLife,
    Vanished,
    reduce,
    same_decision,
)

SECOND: Final = 1_000_000


def decision(victims: int, now: int) -> PreemptionPlanSpec:
    """One that preempts this number of Workloads, which all run since the beginning."""
    named = [
        Victim(
            "Workload",
            "ns",
            f"v{each}",
            f"uid-v{each}",
            each,
            False,
            [],
            VictimQuota("InClusterQueue", "q", "/q", ""),
        )
        for each in range(victims)
    ]
    quota = PreemptorQuota("q", "/q", 1, 0, [])
    return PreemptionPlanSpec(
        preemptor=Preemptor("Workload", "kueue.x-k8s.io/v1beta2", "ns", "hero", "uid-hero", 9, quota),
        outcome="Proposes",
        reason="",
        victims=named,
        cost=PlanCost(victims, victims, victims, victims, victims * now // SECOND),
    )


class Lives(RuleBasedStateMachine):
    """One Workload, one API server, and one process after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000 * SECOND
        self.objects: dict[str, tuple[PreemptionPlanSpec, int, bool]] = {}
        """By name: what it says, when it was created, and whether it has its phase."""
        self.flight: Effect | None = None
        self.created: list[int] = []
        """When objects came to be, since the last failure of a creation."""
        self.writes = 0
        self.life = ProposalLife()
        self.wanted: PreemptionPlanSpec | None = None
        """What the world is like."""
        self.told = True
        """Whether this process has said so."""

    @initialize(victims=st.integers(1, 3))
    def begins(self, victims: int) -> None:
        self.decides(victims)

    # ---- the world

    @rule(victims=st.integers(1, 3))
    def decides(self, victims: int) -> None:
        self.wanted = decision(victims, self.now)
        self.observe(Decided(self.wanted, self.now))

    @rule()
    def wait_ends(self) -> None:
        self.wanted = None
        self.observe(Over(self.now))

    @rule(seconds=st.sampled_from([0, 1, 4, 9, 10, 11, 60]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * SECOND
        self.observe(Due(self.now))

    @precondition(lambda self: self.objects)
    @rule(data=st.data())
    def somebody_deletes(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.objects)))
        del self.objects[name]
        self.observe(Vanished(name, self.now))

    # ---- writes

    @precondition(lambda self: self.flight)
    @rule(done=st.booleans(), answered=st.booleans(), phase=st.booleans())
    def write_ends(self, done: bool, answered: bool, phase: bool) -> None:
        effect, self.flight = self.flight, None
        assert effect is not None
        success = done and answered
        if isinstance(effect, Create):
            if done:
                self.create(effect, complete=success or phase)
            if not success:
                self.created.clear()  # what failed is tried again, and does not wait
            name, spec = effect.name, effect.spec
            self.observe(Created(name, spec, self.now) if success else NotCreated(self.now))
        else:
            if done:
                self.objects.pop(effect.name, None)
            self.observe(Deleted(effect.name, self.now) if success else NotDeleted(self.now))

    def create(self, effect: Create, *, complete: bool) -> None:
        assert effect.name == plan_name(effect.spec)
        assert not set(self.objects) - {effect.name}, "another one is still there"
        assert all(self.now - at >= EVERY_US for at in self.created[-1:]), "too soon after the one before"
        self.created.append(self.now)
        self.objects[effect.name] = effect.spec, self.now, complete

    @rule(done=st.booleans(), complete=st.booleans())
    def another_process_begins(self, done: bool, complete: bool) -> None:
        """What the former one was writing is done before, or never: its writes are fenced."""
        effect, self.flight = self.flight, None
        if effect is not None and done:
            if isinstance(effect, Create):
                self.create(effect, complete=complete)
            else:
                self.objects.pop(effect.name, None)
        self.created = [at for _, at, _ in self.objects.values()]
        self.life = ProposalLife()
        for name, (spec, at, is_complete) in sorted(self.objects.items()):
            stored = msgspec.json.decode(msgspec.json.encode(spec), type=PreemptionPlanSpec)
            if self.wanted is not None and self.life.wanted is None and is_complete:
                self.life = ProposalLife(wanted=stored)
            self.observe(Found(name, stored if is_complete else None, at, self.now))

    def observe(self, seen: Observation) -> None:
        self.life, effects = reduce(self.life, seen)
        assert len(effects) <= 1
        for effect in effects:
            assert self.flight is None, "one write at a time"
            self.flight = effect
            self.writes += 1

    # ---- what is always true

    @invariant()
    def there_is_one_at_most(self) -> None:
        assert len(self.objects) <= 1
        assert set(self.objects) <= self.life.there

    @invariant()
    def it_rests_where_it_should(self) -> None:
        """If writes succeed and time passes, it comes to an end, and stays there without a write."""
        trial = Lives.__new__(Lives)
        RuleBasedStateMachine.__init__(trial)
        trial.__dict__.update(self.__dict__)
        trial.objects, trial.created = dict(self.objects), []
        if trial.wanted is not None:
            trial.wanted = decision(len(trial.wanted.victims), trial.now)
            trial.observe(Decided(trial.wanted, trial.now))  # a cycle says it after each begin
        for _ in range(10):
            trial.settle()
            trial.now += LONGEST_US
            trial.observe(Due(trial.now))
        said = [spec for spec, _, _ in trial.objects.values()]
        if trial.wanted is None:
            assert not said
            assert trial.life.is_over
        else:
            assert len(said) == 1
            assert same_decision(said[0], trial.wanted)
        before = trial.writes
        if trial.wanted is not None:
            again = decision(len(trial.wanted.victims), trial.now)
            trial.observe(Decided(again, trial.now))  # more work would be lost by now: that is no news
        assert trial.writes == before
        assert trial.life.due is None

    def settle(self) -> None:
        while self.flight is not None:
            effect, self.flight = self.flight, None
            if isinstance(effect, Create):
                self.objects[effect.name] = effect.spec, self.now, True
                self.observe(Created(effect.name, effect.spec, self.now))
            elif isinstance(effect, Delete):
                self.objects.pop(effect.name, None)
                self.observe(Deleted(effect.name, self.now))


TestLives = Lives.TestCase
