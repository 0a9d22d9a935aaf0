"""Nothing is evicted for a Workload whose pods would find no node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import msgspec
import pytest

from api.multikueue import ORIGIN_LABEL
from api.workloads import PreemptionGate, Workload
from controllers.quota.scheduling.agreement import FIRST_WAIT, Agreement, without_place
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.search.decision import Options
from quota.state.workloads import key_of
from runtime.exchange.placements import Answer, Asking, NoPlace, Owner, Place, Placed
from tests.kit.clock import ManualClock
from tests.kit.quota.objects import cluster_queue, cpu, held, owned, snapshot, us, workload
from tests.kit.waiting import beside

NOW: Final = us(1000)
PLACED: Final = Placed((Place("main-0", "n0"),))
NOWHERE: Final = NoPlace("0/4 nodes are available: 4 Insufficient cpu")


HERO: Final = owned(workload("hero", "q", 2, priority=10))
QUEUE: Final = cluster_queue("q", cpu(4), within="LowerPriority")


class Nodes:
    """Nodes on which pods fit once any of some sets of victims is gone."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.rooms: dict[frozenset[str], Placed] = {}
        self.changes = 0
        self._listeners: list[Callable[[], None]] = []

    async def find(self, asking: Asking, victims: Sequence[Owner]) -> Answer:
        names = frozenset(each.name for each in victims)
        self.asked.append(tuple(sorted(names)))
        await asyncio.sleep(0)
        for room, answer in self.rooms.items():
            if room <= names:
                return Placed(answer.places, frozenset(f"uid-{each}" for each in room), evicts=answer.evicts)
        return NOWHERE

    def hold(self, asking: Asking, places: Sequence[Place], victims: Sequence[Owner]) -> bool:
        raise AssertionError

    def release(self, namespace: str, name: str, uid: str) -> None:
        raise AssertionError

    @contextmanager
    def told(self, listener: Callable[[], None]) -> Iterator[None]:
        self._listeners.append(listener)
        yield

    def change(self) -> None:
        self.changes += 1
        for each in self._listeners:
            each()


class Stage:
    """One head, and the cycles about it. Old holders have the lower numbers: the newest goes first."""

    def __init__(self, *holders: Workload, head: Workload = HERO) -> None:
        self.nodes, self.clock, self.brought = Nodes(), ManualClock(), list[str]()
        self.head = head
        known = holders or [held(owned(workload(f"old-{each}", "q", 2)), each + 1) for each in range(2)]
        self.snapshot = snapshot(QUEUE, *known, head)
        self.answered = 0
        self.agreement = Agreement(
            self.nodes, Options(), lambda: NOW, self._answered, self.brought.append, lambda: None, self.clock
        )

    def _answered(self) -> None:
        self.answered += 1

    def decide(self) -> Entry:
        (entry,) = cycle(self.snapshot, [self.head], NOW, Options(), preferred=self.agreement.preferred)
        assert entry.outcome in ("Preempt", "Gated")
        return entry

    async def answer(self) -> tuple[Answer, list[str]]:
        """The answer that the cycles come to, and the victims."""
        for _ in range(10):
            entry = self.decide()
            answer = self.agreement.answer(entry, self.snapshot)
            if answer is not None:
                targets = entry.decision.targets if entry.decision is not None else ()
                return answer, [each.holder.key for each in targets]
            for _ in range(10):
                await asyncio.sleep(0)
            assert not self.agreement.is_asking(key_of(self.head))
        raise AssertionError("they ask for ever")


async def test_the_question_is_asked_before_anybody_goes() -> None:
    stage = Stage()
    stage.nodes.rooms[frozenset({"old-1"})] = PLACED
    assert stage.agreement.answer(stage.decide(), stage.snapshot) is None
    assert stage.agreement.is_asking("ns/hero")
    answer, victims = await stage.answer()
    assert isinstance(answer, Placed)
    assert answer.places == PLACED.places
    assert victims == ["ns/old-1"]
    assert stage.nodes.asked == [("old-1",)]
    assert stage.answered == 1


async def test_without_any_place_nobody_goes_and_it_is_asked_once() -> None:
    stage = Stage()
    for _ in range(3):
        assert (await stage.answer())[0] == NOWHERE
    assert stage.nodes.asked == [("old-1",), ("old-0", "old-1")]


async def test_a_refusal_counts_until_nodes_change_and_it_is_time() -> None:
    stage = Stage()
    assert stage.agreement.refused(stage.decide(), stage.snapshot) is None
    await stage.answer()
    assert stage.agreement.refused(stage.decide(), stage.snapshot) == NOWHERE
    stage.nodes.change()
    assert stage.agreement.refused(stage.decide(), stage.snapshot) == NOWHERE
    stage.clock.advance(FIRST_WAIT)
    assert stage.agreement.refused(stage.decide(), stage.snapshot) is None
    assert len(stage.nodes.asked) == 2


async def test_nodes_here_are_not_asked_about_pods_that_run_in_other_clusters() -> None:
    """Also if they were asked before the queue got the check, and refused."""
    stage = Stage()
    assert (await stage.answer())[0] == NOWHERE
    asked = list(stage.nodes.asked)
    queue = replace(stage.snapshot.queues["q"], dispatches=True)
    stage.snapshot = replace(stage.snapshot, queues={"q": queue})
    assert stage.agreement.refused(stage.decide(), stage.snapshot) is None
    assert (await stage.answer())[0] == Placed(())
    assert stage.nodes.asked == asked


async def test_a_place_is_no_refusal() -> None:
    stage = Stage()
    stage.nodes.rooms[frozenset({"old-1"})] = PLACED
    assert stage.agreement.answer(stage.decide(), stage.snapshot) is None
    for _ in range(10):
        await asyncio.sleep(0)
    assert stage.agreement.refused(stage.decide(), stage.snapshot) is None


async def test_others_go_whose_nodes_the_pods_can_use() -> None:
    stage = Stage()
    stage.nodes.rooms[frozenset({"old-0"})] = PLACED
    answer, victims = await stage.answer()
    assert isinstance(answer, Placed)
    assert victims == ["ns/old-0"]
    assert stage.nodes.asked == [("old-1",), ("old-0", "old-1"), ("old-0",)]
    assert stage.agreement.preferred == {}


async def test_others_go_before_the_nodes_plane_evicts_yet_others() -> None:
    stage = Stage()
    stage.nodes.rooms[frozenset({"old-0"})] = PLACED
    stage.nodes.rooms[frozenset()] = Placed(PLACED.places, evicts=True)
    assert (await stage.answer())[1] == ["ns/old-0"]


async def test_the_nodes_plane_may_evict_if_no_other_victims_help() -> None:
    stage = Stage()
    stage.nodes.rooms[frozenset()] = Placed(PLACED.places, evicts=True)
    answer, victims = await stage.answer()
    assert isinstance(answer, Placed)
    assert victims == ["ns/old-1"]


async def test_a_second_decision_that_does_not_help_is_no_loop() -> None:
    """Both must go to make room, and the quota plane needs only one to go."""
    stage = Stage()
    stage.nodes.rooms[frozenset({"old-0", "old-1"})] = PLACED
    for _ in range(3):
        answer, _ = await stage.answer()
        assert isinstance(answer, NoPlace)
    assert len(stage.nodes.asked) == 3


async def test_it_is_asked_again_when_nodes_have_changed_and_not_too_often() -> None:
    stage = Stage()
    await stage.answer()
    stage.nodes.change()
    await stage.answer()
    assert len(stage.nodes.asked) == 2
    stage.clock.advance(FIRST_WAIT)
    await stage.answer()
    assert len(stage.nodes.asked) == 4
    stage.nodes.change()
    stage.clock.advance(FIRST_WAIT)
    await stage.answer()
    assert len(stage.nodes.asked) == 4
    stage.clock.advance(FIRST_WAIT)
    await stage.answer()
    assert len(stage.nodes.asked) == 6


def gated(head: Workload) -> Workload:
    spec = msgspec.structs.replace(head.spec, preemption_gates=[PreemptionGate("example.com/g")])
    return msgspec.structs.replace(head, spec=spec)


async def test_a_place_behind_a_closed_gate_counts_until_nodes_change_and_it_is_time() -> None:
    stage = Stage(head=gated(HERO))
    stage.nodes.rooms[frozenset({"old-1"})] = PLACED
    for _ in range(3):
        assert isinstance((await stage.answer())[0], Placed)
    assert stage.nodes.asked == [("old-1",)]
    stage.nodes.change()
    await stage.answer()
    assert len(stage.nodes.asked) == 1
    stage.nodes.rooms.clear()
    stage.clock.advance(FIRST_WAIT)
    assert isinstance((await stage.answer())[0], NoPlace)


async def test_who_has_a_place_behind_a_closed_gate_is_brought_back_when_nodes_change() -> None:
    stage = Stage(head=gated(HERO))
    stage.nodes.rooms[frozenset({"old-1"})] = PLACED
    async with beside(stage.agreement.run()):
        await stage.answer()
        stage.clock.advance(FIRST_WAIT)
        stage.nodes.change()
        for _ in range(5):
            await asyncio.sleep(0)
        assert stage.brought == ["q"]


async def test_a_preemptor_whose_gate_opens_asks_anew_if_nodes_have_changed() -> None:
    for changes, asked in ((0, 1), (1, 2)):
        stage = Stage(head=gated(HERO))
        stage.nodes.rooms[frozenset({"old-1"})] = PLACED
        await stage.answer()
        for _ in range(changes):
            stage.nodes.change()
        stage.head = HERO
        assert isinstance((await stage.answer())[0], Placed)
        assert len(stage.nodes.asked) == asked
        await stage.answer()
        assert len(stage.nodes.asked) == asked + 1, "that places were found is said once to a preemptor"


async def test_the_nodes_that_pods_can_use_choose_the_victims_behind_a_closed_gate() -> None:
    """The second decision stays, however often it is made."""
    stage = Stage(head=gated(HERO))
    stage.nodes.rooms[frozenset({"old-0"})] = PLACED
    for _ in range(3):
        assert (await stage.answer())[1] == ["ns/old-0"]
    assert len(stage.nodes.asked) == 3


async def test_who_waits_is_brought_back_when_nodes_change() -> None:
    stage = Stage()
    async with beside(stage.agreement.run()):
        await stage.answer()
        for _ in range(5):
            await asyncio.sleep(0)
        assert stage.brought == []
        stage.clock.advance(FIRST_WAIT)
        stage.nodes.change()
        for _ in range(5):
            await asyncio.sleep(0)
        assert stage.brought == ["q"]
        stage.nodes.change()
        for _ in range(5):
            await asyncio.sleep(0)
        assert stage.brought == ["q"]


async def test_pods_of_unknown_owners_are_no_reason_to_wait() -> None:
    alone = [held(workload("alone", "q", 4), 1)]
    stage = Stage(*alone)
    assert (await stage.answer())[0] == Placed(())
    stage = Stage(head=workload("hero", "q", 2, priority=10))
    assert (await stage.answer())[0] == Placed(())
    assert stage.nodes.asked == []


async def test_a_copy_of_a_manager_is_asked_about_before_it_has_a_job() -> None:
    hero = workload("hero", "q", 2, priority=10)
    meta = msgspec.structs.replace(hero.metadata, labels={ORIGIN_LABEL: "manager"})
    stage = Stage(head=msgspec.structs.replace(hero, metadata=meta))
    assert (await stage.answer())[0] == NOWHERE
    assert stage.agreement.refused(stage.decide(), stage.snapshot) == NOWHERE
    stage = Stage(head=gated(stage.head))
    stage.nodes.rooms[frozenset({"old-1"})] = PLACED
    assert (await stage.answer())[1] == ["ns/old-1"]
    assert stage.nodes.asked == [("old-1",)]


async def test_a_workload_that_is_gone_is_forgotten() -> None:
    stage = Stage()
    await stage.answer()
    stage.agreement.workload_changed("ns/hero", None)
    await stage.answer()
    assert len(stage.nodes.asked) == 4


async def test_a_question_about_a_workload_that_has_changed_has_no_answer() -> None:
    stage = Stage()
    assert stage.agreement.answer(stage.decide(), stage.snapshot) is None
    stage.agreement.workload_changed("ns/hero", None)
    assert not stage.agreement.is_asking("ns/hero")
    for _ in range(10):
        await asyncio.sleep(0)
    assert stage.answered == 0
    await stage.agreement.close()


async def test_without_a_nodes_plane_nobody_is_asked() -> None:
    stage = Stage()
    agreement = Agreement(
        None, Options(), lambda: NOW, lambda: None, stage.brought.append, lambda: None, stage.clock
    )
    assert agreement.answer(stage.decide(), stage.snapshot) == Placed(())
    await agreement.run()


async def test_a_fault_of_ours_evicts_nobody() -> None:
    stage = Stage()

    async def fails(asking: Asking, victims: Sequence[Owner]) -> Answer:
        raise RuntimeError("broken")

    stage.nodes.find = fails  # type: ignore[method-assign]
    assert (await stage.answer())[0] == NoPlace("internal error: RuntimeError('broken')")


@pytest.mark.parametrize("head", [HERO, gated(HERO)], ids=["open", "gated"])
def test_the_message_names_the_constraint(head: Workload) -> None:
    """It is the same with a closed preemption gate."""
    entry = without_place(Stage(head=head).decide(), NOWHERE.why, "BestEffortFIFO")
    assert (entry.outcome, entry.quota_reserved_reason, entry.requeue) == (
        "NoCandidates",
        "WaitingForQuota",
        "parked",
    )
    assert entry.message.endswith(
        "Pending the preemption of 1 workload(s); it does not preempt, because its pods would find no place on "
        "nodes: 0/4 nodes are available: 4 Insufficient cpu"
    )
    assert without_place(entry, "", "StrictFIFO").requeue == "immediate"
