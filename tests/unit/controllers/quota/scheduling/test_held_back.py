"""Who is held back takes nothing in the cycle from those who could have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from api.workloads import PreemptionGate, Workload
from controllers.quota.plans.mutual import PAUSE_US, Mutual
from controllers.quota.plans.passers import Passers
from controllers.quota.scheduling.agreement import Agreement
from controllers.quota.scheduling.held_back import HeldBack, cycle_without
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.cycle.promises import Promise
from quota.search.decision import Options
from quota.state.workloads import key_of
from tests.kit.clock import ManualClock
from tests.kit.quota.objects import Object, cluster_queue, cohort, cpu, held, snapshot, us, workload

NOW: Final = us(1000)
QUEUES: Final[list[Object]] = [
    cluster_queue("owner", cpu(1), "team", reclaim="Any"),
    cluster_queue("guest", cpu(0), "team", borrow=True, reclaim="LowerPriority", threshold=20, strict=True),
    cohort("team", quotas=cpu(2)),
]
RUNS: Final = [held(workload(f"runs-{each}", "owner", 1), each) for each in range(2)]
HIGH: Final = workload("high", "guest", 2, priority=20)
"""It would evict a Workload that borrows, and take what is free beside it."""
WAITS: Final = workload("waits", "owner", 1)
"""It would fit into what is free."""
SNAPSHOT: Final = snapshot(*QUEUES, *RUNS, HIGH, WAITS)


async def entries(held_back: Callable[[Entry], Entry | None]) -> dict[str, str]:
    """The outcome of each head."""

    async def run(heads: Sequence[Workload]) -> Sequence[Entry]:
        return cycle(SNAPSHOT, heads, NOW, Options())

    found = await cycle_without([HIGH, WAITS], run, held_back)
    return {each.workload.metadata.name: each.outcome for each in found}


class Term:
    """What is remembered in one term."""

    def __init__(self) -> None:
        self.promised = set[str]()
        self.why_paused = ""
        self.mutual, self.now = Mutual(), NOW
        passer = workload("passer", "guest", 1, priority=30)
        self.passers = Passers({key_of(each): each for each in (HIGH, passer)})
        self.passer = passer
        agreement = Agreement(
            None, Options(), lambda: self.now, lambda: None, lambda _: None, lambda: None, ManualClock()
        )
        self._held_back = HeldBack(
            lambda: self.promised,
            self.passers,
            self.mutual,
            agreement,
            lambda: self.now,
            lambda _: self.why_paused,
        )

    def held_back(self, entry: Entry) -> Entry | None:
        return self._held_back.entry(entry, SNAPSHOT)

    def evicted_for_its_victim(self) -> None:
        """The preemptor was evicted for the Workload that it would evict now."""
        (entry,) = cycle(SNAPSHOT, [HIGH], NOW, Options())
        assert entry.decision is not None
        (target,) = entry.decision.targets
        its_turn = replace(target, holder=replace(target.holder, workload=HIGH))
        decision = replace(entry.decision, targets=(its_turn,))
        self.mutual.begins(replace(entry, workload=target.holder.workload, decision=decision), NOW)


async def test_a_preemptor_takes_what_is_free_before_lower_priorities() -> None:
    assert await entries(Term().held_back) == {"high": "Preempt", "waits": "Skip"}


async def test_a_preemptor_that_pauses_leaves_what_is_free_to_others() -> None:
    term = Term()
    term.evicted_for_its_victim()
    assert await entries(term.held_back) == {"waits": "Admit", "high": "NoCandidates"}
    term.now += PAUSE_US
    assert await entries(term.held_back) == {"high": "Preempt", "waits": "Skip"}


async def test_a_preemptor_that_waits_for_a_passer_leaves_what_is_free_to_others() -> None:
    term = Term()
    term.passers.admitted(term.passer, [Promise(key_of(HIGH), "guest", 20, {}, frozenset())])
    term.passers.failed(HIGH)
    assert await entries(term.held_back) == {"waits": "Admit", "high": "NoCandidates"}


async def test_a_preemptor_that_is_paused_leaves_what_is_free_to_others_even_if_its_plan_is_under_way() -> (
    None
):
    term = Term()
    term.promised.add(key_of(HIGH))
    term.why_paused = "evictions are paused: upgrade"
    assert await entries(term.held_back) == {"waits": "Admit", "high": "NoCandidates"}
    (entry,) = cycle(SNAPSHOT, [HIGH], NOW, Options())
    held_back = term.held_back(entry)
    assert held_back is not None
    assert held_back.message.endswith("; evictions are paused: upgrade")


async def test_a_plan_that_is_under_way_goes_on() -> None:
    term = Term()
    term.evicted_for_its_victim()
    term.promised.add(key_of(HIGH))
    assert await entries(term.held_back) == {"high": "Preempt", "waits": "Skip"}


async def test_a_gate_is_no_reason_while_something_else_holds_a_preemptor_back() -> None:
    term, ran = Term(), 0
    term.evicted_for_its_victim()
    gate = msgspec.structs.replace(HIGH.spec, preemption_gates=[PreemptionGate("example.com/g")])
    gated = msgspec.structs.replace(HIGH, spec=gate)

    async def run(heads: Sequence[Workload]) -> Sequence[Entry]:
        nonlocal ran
        ran += 1
        return cycle(snapshot(*QUEUES, *RUNS, gated, WAITS), heads, NOW, Options())

    found = await cycle_without([gated, WAITS], run, lambda _: None)
    assert {each.outcome for each in found} == {"Admit", "Gated"}
    found = await cycle_without([gated, WAITS], run, term.held_back)
    assert {each.outcome for each in found} == {"Admit", "NoCandidates"}
    assert ran == 2, "it took nothing, so the others need no other cycle"
    (held_back,) = (each for each in found if each.outcome == "NoCandidates")
    assert (held_back.quota_reserved_reason, held_back.requeue) == ("WaitingForQuota", "immediate")
    assert "Pending the preemption of 1 workload(s); it does not preempt Workload" in held_back.message
