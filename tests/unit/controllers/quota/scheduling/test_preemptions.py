"""Which preemptions begin, and what is remembered of those that were in vain."""

from __future__ import annotations

from typing import Final

from api.workloads import Workload
from controllers.quota.plans.passers import Passers
from controllers.quota.scheduling.agreement import Agreement
from controllers.quota.scheduling.preemptions import Preemptions
from quota.cycle.entries import Entry
from quota.search.decision import Options
from quota.state.workloads import key_of
from runtime.exchange.placements import Placed
from tests.kit.quota.objects import cluster_queue, cpu, held, workload
from tests.unit.controllers.quota.plan_stage import PlanStage

QUEUES: Final = (cluster_queue("a", cpu(2), within="LowerPriority"), cluster_queue("apart", cpu(2)))
VICTIM: Final = held(workload("victim", "a", 2), 100)
NEXT: Final = held(workload("next", "a", 2), 200)
HERO: Final = workload("hero", "a", 2, priority=5)
PASSER: Final = workload("passer", "a", 2, priority=10)


class Stage(PlanStage):
    """The hero preempts in a queue; others may pass it."""

    def __init__(self) -> None:
        super().__init__(*QUEUES, VICTIM, HERO)
        agreement = Agreement(
            None, Options(), lambda: self.now, lambda: None, lambda _: None, lambda: None, self.clock
        )
        self.preemptions = Preemptions(
            self.quota.state,
            self.plans,
            self.proposals,
            Passers(self.quota.state.workloads),
            agreement,
            lambda: self.now,
        )

    @property
    def hero(self) -> Workload:
        return self.quota.state.workloads[key_of(HERO)]

    def entry(self) -> Entry:
        (entry,) = self.decide(HERO)
        return entry

    async def preempts_in_vain(self, queue: str) -> None:
        """Its victim goes, and the passer gets quota of this queue."""
        entry, snapshot = self.entry(), self.quota.state.snapshot()
        assert entry.outcome == "Preempt"
        placed = self.preemptions.placed(entry, snapshot)
        assert placed == Placed(()), "nobody is asked where no nodes plane runs"
        self.preemptions.begin(entry, snapshot, placed)
        assert self.preemptions.waits("ns/hero"), "its plan is being stored"
        await self.plans.settle()
        self.remove(VICTIM)
        assert not self.preemptions.waits("ns/hero"), "it is decided anew"
        assert list(self.preemptions.promised()) == ["ns/hero"]
        self.put(PASSER)
        self.preemptions.admitted(PASSER, queue)
        self.put(NEXT)
        self.preemptions.no_way(self.hero)
        assert not list(self.preemptions.promised()), "its promise keeps nobody out"


async def test_whoever_was_passed_does_not_preempt_while_the_passer_waits() -> None:
    stage = Stage()
    await stage.preempts_in_vain("a")
    entry = stage.entry()
    assert entry.outcome == "Preempt"
    waits = stage.preemptions.held_back(entry, stage.quota.state.snapshot())
    assert waits is not None
    assert waits.outcome == "NoCandidates"
    assert "ns/passer" in waits.message


async def test_who_gets_quota_of_another_cohort_passes_nobody() -> None:
    stage = Stage()
    await stage.preempts_in_vain("apart")
    assert stage.preemptions.held_back(stage.entry(), stage.quota.state.snapshot()) is None


async def test_a_preemption_has_those_decided_anew_who_wait_for_a_gate() -> None:
    """They may have counted on the same victims, and these have not given their quota back yet."""
    stage = Stage()
    gated = workload("gated", "a", 2, priority=4, gates=["example.com/g"])
    stage.put(gated)
    (entry,) = stage.decide(gated)
    stage.preemptions.propose(entry, stage.quota.state.snapshot(), Placed(()))
    await stage.proposals.settle()
    stage.preemptions.begin(stage.entry(), stage.quota.state.snapshot(), Placed(()))
    await stage.plans.settle()
    stage.freed.clear()
    stage.clock.advance(1)
    stage.proposals.tell_time()
    assert stage.freed == ["a"]
