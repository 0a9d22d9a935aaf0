"""KEP-1337: a workload that must borrow may preempt, but only lower priorities, up to a threshold.

Story 1: two teams with a pair of queues each, which have no quota of their own, and one queue that has it all:

|                | a-standard | a-best-effort | b-standard | b-best-effort | shared |
|----------------|------------|---------------|------------|---------------|--------|
| nominalQuota   | 0          | 0             | 0          | 0             | 100    |
| borrowingLimit | 100        | 100           | 100        | 100           | 0      |

Jobs of `standard` have priorities above 200, those of `best-effort` below 100: with a threshold of 100 the latter may
be preempted, the former not.
"""

from __future__ import annotations

import pytest

from api.kueue import ClusterQueue
from quota.search.decision import Decision, decide
from tests.kit.quota.objects import cluster_queue, cpu, held, snapshot, us, workload

THRESHOLD = 100


def story(
    reclaim: str = "LowerPriority", threshold: int | None = THRESHOLD, borrow: bool = True
) -> list[ClusterQueue]:
    teams = [
        cluster_queue(
            name,
            cpu(0, 100),
            "teams",
            reclaim=reclaim,  # type: ignore[arg-type]  # one of the policies
            borrow=borrow,
            threshold=threshold,
        )
        for name in ("a-standard", "a-best-effort", "b-standard", "b-best-effort")
    ]
    return [*teams, cluster_queue("shared", cpu(100, 0), "teams")]


def ask(queues: list[ClusterQueue], holder: tuple[str, int], preemptor: tuple[str, int]) -> Decision:
    """All 100 are held in the one queue, with that priority; a workload of the other's wants 50."""
    running = held(workload("running", holder[0], 100, priority=holder[1]), 0)
    waiting = workload("waiting", preemptor[0], 50, priority=preemptor[1], created=60)
    return decide(snapshot(*queues, running, waiting), waiting, us(120))


def reasons(decision: Decision) -> dict[str, str]:
    return {target.holder.key: target.reason for target in decision.targets}


def test_a_borrowing_workload_preempts_a_lower_priority() -> None:
    """Case 1: `a workload which require borrowing can preempt a lower priority workload`."""
    decision = ask(story(), ("b-best-effort", 50), ("a-standard", 250))
    assert decision.mode == "Preempt"
    assert decision.borrowing == 1
    assert reasons(decision) == {"ns/running": "InCohortReclaimWhileBorrowing"}


def test_a_borrowing_workload_does_not_preempt_a_higher_priority() -> None:
    """Case 2: `a workload which require borrowing cannot preempt a higher priority workload`."""
    decision = ask(story(), ("b-best-effort", 80), ("a-best-effort", 50))
    assert decision.mode == "Preempt"
    assert reasons(decision) == {}


def test_a_borrowing_workload_does_not_preempt_above_the_threshold() -> None:
    """Case 3: `a workload which require borrowing cannot preempt a lower priority (but above the threshold)
    workload`."""
    decision = ask(story(), ("b-standard", 210), ("a-standard", 250))
    assert decision.mode == "Preempt"
    assert reasons(decision) == {}


def test_a_borrowing_workload_does_not_preempt_who_does_not_borrow() -> None:
    """Case 4: `a workload which require borrowing cannot preempt a lower priority workload if the workload isn't
    borrowing`: whatever runs in `shared` is within its nominal quota."""
    decision = ask(story(), ("shared", 10), ("a-standard", 250))
    assert decision.mode == "Preempt"
    assert reasons(decision) == {}


@pytest.mark.parametrize(
    ("priority", "goes"), [(THRESHOLD - 1, True), (THRESHOLD, True), (THRESHOLD + 1, False)]
)
def test_the_threshold_itself_may_be_preempted(priority: int, goes: bool) -> None:
    """API: `only workloads with priority below or equal the specified level`."""
    decision = ask(story(), ("b-best-effort", priority), ("a-standard", 250))
    assert bool(decision.targets) == goes


def test_without_a_threshold_every_lower_priority_may_be_preempted() -> None:
    decision = ask(story(threshold=None), ("b-standard", 210), ("a-standard", 250))
    assert reasons(decision) == {"ns/running": "InCohortReclaimWhileBorrowing"}


@pytest.mark.parametrize("reclaim", ["LowerPriority", "Any"])
def test_two_workloads_of_one_priority_do_not_preempt_each_other_in_turns(reclaim: str) -> None:
    """Risks and mitigations: no `flopping`, whatever reclaimWithinCohort is."""
    queues = story(reclaim=reclaim)
    assert reasons(ask(queues, ("b-best-effort", 50), ("a-best-effort", 50))) == {}
    assert reasons(ask(queues, ("a-best-effort", 50), ("b-best-effort", 50))) == {}


def test_without_the_policy_nobody_is_preempted_for_a_workload_that_must_borrow() -> None:
    """Motivation: before the KEP it did not even come to asking."""
    decision = ask(story(borrow=False), ("b-best-effort", 50), ("a-standard", 250))
    assert decision.mode == "NoFit"
    assert reasons(decision) == {}


def test_what_is_free_is_borrowed_before_anybody_goes() -> None:
    running = held(workload("running", "b-best-effort", 50, priority=50), 0)
    waiting = workload("waiting", "a-standard", 50, priority=250, created=60)
    decision = decide(snapshot(*story(), running, waiting), waiting, us(120))
    assert (decision.mode, decision.borrowing) == ("Fit", 1)


def test_only_as_many_go_as_must() -> None:
    """Two of the four that hold 25 each: the lowest priorities, of those the last to come."""
    running = [
        held(workload(f"running-{number}", "b-best-effort", 25, priority=priority), number)
        for number, priority in enumerate((40, 30, 30, 30))
    ]
    waiting = workload("waiting", "a-standard", 50, priority=250, created=60)
    decision = decide(snapshot(*story(), *running, waiting), waiting, us(120))
    assert set(reasons(decision)) == {"ns/running-2", "ns/running-3"}
