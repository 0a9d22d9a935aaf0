"""While a namespace is paused, no Workload is evicted for quota for it, or in it."""

from __future__ import annotations

import pytest

from api.core import Namespace
from api.meta import ObjectMeta
from api.pauses import PAUSED
from api.published import NAMESPACE
from controllers.quota.plans.resumption import Resumption
from tests.kit.quota.objects import cluster_queue, cohort, cpu, held, workload
from tests.unit.controllers.quota.plan_stage import DEADLINE, PlanStage

QUEUES = (
    cohort("all"),
    cluster_queue("a", cpu(2), "all", within="LowerPriority", reclaim="LowerPriority"),
    cluster_queue("b", cpu(0), "all"),
)
OWN = held(workload("own", "a", 1), 100)
OTHER = held(workload("other", "b", 1), 200)
HERO = workload("hero", "a", 2, priority=5)


class Paused:
    """A stage, what follows the pauses, and what they had tried again."""

    def __init__(self, stage: PlanStage) -> None:
        self.stage, self.tried = stage, list[str]()
        self._resumption = Resumption(
            stage.quota.pauses, stage.plans, lambda: ["a", "b"], self.tried.append, lambda: None
        )

    def pause(self, namespace: str = NAMESPACE) -> None:
        self._annotate(namespace, {PAUSED: "upgrade"})

    def resume(self, namespace: str = NAMESPACE) -> None:
        self._annotate(namespace, {})

    def _annotate(self, namespace: str, said: dict[str, str]) -> None:
        self.stage.put(Namespace(ObjectMeta(name=namespace, annotations=said)))
        self._resumption.step()


async def staged() -> Paused:
    stage = PlanStage(*QUEUES, OWN, OTHER, HERO)
    await stage.preempt(HERO)
    assert stage.going(OWN, OTHER) == ["own", "other"]
    return Paused(stage)


@pytest.mark.parametrize(("namespace", "is_paused"), [(NAMESPACE, True), ("ns", True), ("other", False)])
async def test_a_preemption_does_not_begin_while_paused(namespace: str, is_paused: bool) -> None:
    paused = Paused(PlanStage(*QUEUES, OWN, OTHER, HERO))
    paused.pause(namespace)
    (entry,) = paused.stage.decide(HERO)
    assert entry.outcome == "Preempt"
    assert bool(paused.stage.plans.why_paused(entry)) is is_paused


async def test_a_called_victim_stays_while_paused_and_the_deadline_stands_still() -> None:
    paused = await staged()
    paused.pause()
    assert paused.stage.going(OWN, OTHER) == []
    assert paused.stage.plans.promised() == ["ns/hero"], "it keeps the promised quota"
    paused.stage.clock.advance(2 * DEADLINE)
    paused.stage.plans.tell_time()
    assert paused.stage.phases["hero"][0] == "Evicting"
    assert paused.stage.going(OWN, OTHER) == []


async def test_after_the_pause_the_preemptor_is_decided_about_anew() -> None:
    paused = await staged()
    paused.pause()
    paused.resume()
    await paused.stage.plans.settle()
    assert paused.stage.phases["hero"] == ("Aborted", "Paused")
    assert paused.stage.plans.promised() == []
    assert paused.stage.going(OWN, OTHER) == []
    assert paused.tried[-2:] == ["a", "b"], "all queues have another cycle"


async def test_a_plan_whose_victims_have_all_left_goes_on_after_the_pause() -> None:
    stage = PlanStage(*QUEUES, OWN, OTHER, HERO)
    await stage.preempt(HERO)
    for each in (OWN, OTHER):
        stage.remove(each)
    paused = Paused(stage)
    paused.pause()
    stage.clock.advance(2 * DEADLINE)
    stage.plans.tell_time()
    paused.resume()
    stage.plans.tell_time()
    await stage.plans.settle()
    assert stage.plans.promised() == ["ns/hero"]
    stage.clock.advance(2 * DEADLINE)
    stage.plans.tell_time()
    await stage.plans.settle()
    assert stage.phases["hero"][0] == "Expired"


async def test_a_plan_that_has_called_nobody_ends() -> None:
    stage = PlanStage(*QUEUES, OWN, OTHER, HERO)
    paused = Paused(stage)
    stage.begin(HERO)
    paused.pause()
    await stage.plans.settle()
    assert stage.phases["hero"] == ("Aborted", "Paused")
    assert stage.going(OWN, OTHER) == []


async def test_a_cycle_that_holds_the_preemptor_back_does_not_end_its_plan() -> None:
    paused = await staged()
    paused.pause()
    assert not paused.stage.plans.overtaken("ns/hero")
    assert paused.stage.plans.promised() == ["ns/hero"]


async def test_a_new_term_sees_the_pause_before_it_evicts() -> None:
    paused = await staged()
    again = paused.stage.restart(*QUEUES)
    follows = Paused(again)
    follows.pause()
    await again.resuming.resume(again.quota.state.workloads.values())
    assert again.going(OWN, OTHER) == []
    follows.resume()
    await again.plans.settle()
    assert again.going(OWN, OTHER) == []
