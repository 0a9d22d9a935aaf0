"""KEP-8303, the search's part: while a gate is closed a workload may be admitted, but nobody is preempted for it."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from api.kueue import ClusterQueue
from api.workloads import PreemptionGateState, Workload
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.search.decision import Decision, Options, decide
from tests.kit.quota.objects import Object, at, cluster_queue, cpu, held, snapshot, us, workload

NOW = us(1000)
GATE = "kueue.x-k8s.io/multikueue"
Position = Literal["Open", "Closed"]

pytestmark = pytest.mark.parametrize(
    "options", [Options(), Options(fair_sharing=True)], ids=["classical", "fair"]
)


def queue(strict: bool = False) -> ClusterQueue:
    return cluster_queue("queue", cpu(4), "all", within="LowerPriority", strict=strict)


def gated(cpus: int, **positions: Position) -> Workload:
    """It has two gates. Status tells their positions."""
    waiting = workload("waiting", "queue", cpus, gates=("first", "second"))
    states = [PreemptionGateState(name, position, at(0)) for name, position in positions.items()]
    return msgspec.structs.replace(
        waiting, status=msgspec.structs.replace(waiting.status, preemption_gates=states or None)
    )


def victim() -> Workload:
    return held(workload("victim", "queue", 2, priority=-1), 0)


def ask(waiting: Workload, options: Options) -> Decision:
    return decide(snapshot(queue(), victim(), waiting), waiting, NOW, options)


def run(*objects: Object, options: Options) -> dict[str, Entry]:
    waiting = [thing for thing in objects if isinstance(thing, Workload) and thing.status.admission is None]
    return {entry.workload.metadata.name: entry for entry in cycle(snapshot(*objects), waiting, NOW, options)}


@pytest.mark.parametrize(
    ("positions", "closed"),
    [
        ({}, True),
        ({"first": "Open"}, True),
        ({"first": "Open", "second": "Closed"}, True),
        ({"first": "Open", "second": "Open"}, False),
        ({"first": "Open", "second": "Open", "other": "Closed"}, False),
    ],
)
def test_every_gate_of_the_spec_must_be_open(
    positions: dict[str, Position], closed: bool, options: Options
) -> None:
    """One without a state is closed; a state without a gate does not matter."""
    decision = ask(gated(4, **positions), options)
    assert decision.gated == closed
    assert [target.holder.workload.metadata.name for target in decision.targets] == ["victim"]


def test_the_answer_is_that_of_any_other_workload(options: Options) -> None:
    closed, opened = gated(4), gated(4, first="Open", second="Open")
    one, other = ask(closed, options), ask(opened, options)
    assert (one.mode, one.flavors, one.borrowing) == (other.mode, other.flavors, other.borrowing)
    assert [target.holder.key for target in one.targets] == [target.holder.key for target in other.targets]


def test_a_fit_is_a_fit(options: Options) -> None:
    entries = run(queue(), victim(), gated(2), options=options)
    assert entries["waiting"].outcome == "Admit"


@pytest.mark.parametrize(("strict", "requeue"), [(False, "parked"), (True, "immediate")])
def test_nobody_is_preempted_while_a_gate_is_closed(strict: bool, requeue: str, options: Options) -> None:
    """`Kueue Scheduler`: under BestEffortFIFO others may leapfrog it, under StrictFIFO it blocks its queue."""
    entry = run(queue(strict), victim(), gated(4), options=options)["waiting"]
    assert entry.outcome == "Gated"
    assert (entry.requeue, entry.requeue_reason) == (requeue, "PreemptionGated")
    assert entry.quota_reserved_reason == "AdmissionGated"
    assert entry.message == "Workload requires preemption, but it's gated"
    assert entry.decision is not None
    assert [target.holder.workload.metadata.name for target in entry.decision.targets] == ["victim"]


def test_it_claims_nothing(options: Options) -> None:
    """Neither what is free, which another ClusterQueue takes, nor its victims, which another one may have."""
    guest = cluster_queue("guest", cpu(0), "all")
    entries = run(
        queue(), guest, victim(), gated(4), workload("other", "guest", 2, created=10), options=options
    )
    assert {name: entry.outcome for name, entry in entries.items()} == {"waiting": "Gated", "other": "Admit"}
    opened = gated(4, first="Open", second="Open")
    entries = run(
        queue(), guest, victim(), opened, workload("other", "guest", 2, created=10), options=options
    )
    assert {name: entry.outcome for name, entry in entries.items()} == {"waiting": "Preempt", "other": "Skip"}


def test_its_victims_are_free_for_another(options: Options) -> None:
    lenders = [cluster_queue(name, cpu(2), "all", reclaim="LowerPriority") for name in ("queue", "lender")]
    holder = held(workload("borrower", "guest", 4, priority=-1), 0)
    entries = run(
        *lenders,
        cluster_queue("guest", cpu(0), "all"),
        holder,
        gated(2),
        workload("other", "lender", 2, created=10),
        options=options,
    )
    assert {name: entry.outcome for name, entry in entries.items()} == {
        "waiting": "Gated",
        "other": "Preempt",
    }


def test_without_anybody_to_preempt_it_is_as_any_other(options: Options) -> None:
    """It keeps what it waits for from others."""
    equal = held(workload("equal", "queue", 2), 0)
    guest = cluster_queue("guest", cpu(0), "all")
    entries = run(queue(), guest, equal, gated(4), workload("other", "guest", 2, created=10), options=options)
    assert {name: entry.outcome for name, entry in entries.items()} == {
        "waiting": "NoCandidates",
        "other": "Skip",
    }


def test_who_loses_its_turn_does_not_say_that_a_gate_holds_it_back(options: Options) -> None:
    """It would not be carried out: another head takes the quota that it counts on. The next cycle decides anew."""
    first = workload("first", "other", 2, priority=9)
    other = cluster_queue("other", cpu(2), "all", reclaim="Any")
    borrows = cluster_queue(
        "queue", cpu(2), "all", within="LowerPriority", borrow=True, reclaim="LowerPriority"
    )
    entry = run(borrows, other, victim(), gated(4), first, options=options)["waiting"]
    alone = run(borrows, other, victim(), gated(4), options=options)["waiting"]
    assert (alone.outcome, entry.outcome, entry.requeue) == ("Gated", "Skip", "immediate")
