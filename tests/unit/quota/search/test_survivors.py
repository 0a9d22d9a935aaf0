"""Why workloads keep their quota, in words."""

from __future__ import annotations

from api.workloads import Workload
from quota.search.decision import Options, decide
from quota.search.survivors import Survivors, survivors
from quota.state.workloads import effective_priority
from tests.kit.quota.objects import Object, cluster_queue, cohort, cpu, held, snapshot, us, workload

NOW = us(1000)


def holder(name: str, queue: str, cpus: int, *, priority: int = 0, since: int = 2) -> Workload:
    return held(workload(name, queue, cpus, priority=priority, created=1), since)


def stay(
    incoming: Workload, *things: Object, options: Options | None = None, explain: bool = True
) -> Survivors:
    world = snapshot(*things)
    decision = decide(world, incoming, NOW, options, explain=explain)
    return survivors(decision, effective_priority(incoming), world.queues[decision.queue])


def candidates(found: Survivors) -> list[tuple[str, tuple[str, ...]]]:
    return [(each.holder.workload.metadata.name, each.reasons) for each in found.candidates]


def others(found: Survivors) -> list[tuple[str, int, str]]:
    return [(each.queue, each.count, each.reason) for each in found.others]


def test_a_candidate_that_was_put_back_stays_and_a_target_does_not() -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(6), within="LowerPriority"),
        holder("small", "q", 1, since=5),
        holder("large", "q", 3, since=4),
        holder("other", "q", 2, since=3),
    ]
    found = stay(workload("w", "q", 3, priority=5), *things)
    assert candidates(found) == [("small", ("there is room without it",))]
    assert others(found) == [("q", 1, "not needed")]


def test_the_answer_is_empty_without_an_explanation() -> None:
    things: list[Object] = [cluster_queue("q", cpu(1), within="LowerPriority"), holder("a", "q", 1)]
    found = stay(workload("w", "q", 1), *things, explain=False)
    assert found == Survivors((), (), 0, ())


def test_only_as_many_candidates_are_told_as_are_asked_for() -> None:
    world = snapshot(
        cluster_queue("q", cpu(6), within="LowerPriority"),
        holder("small", "q", 1, since=6),
        holder("tiny", "q", 1, since=5),
        holder("large", "q", 3, since=4),
    )
    decision = decide(world, workload("w", "q", 4, priority=5), NOW, explain=True)
    whole, part = (survivors(decision, 5, world.queues["q"], most) for most in (None, 1))
    assert ([name for name, _ in candidates(whole)], whole.more) == (["small", "tiny"], 0)
    assert (candidates(part), part.more) == (candidates(whole)[:1], 1)


def test_each_attempt_has_its_reason() -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(4), "all", reclaim="Any"),
        cluster_queue("r", cpu(4), "all"),
        holder("mine", "q", 3),
        holder("theirs", "r", 5, priority=9),
    ]
    found = stay(workload("w", "q", 4, priority=5), *things)
    assert found.attempts == ("tried without borrowing", "tried with borrowing")
    never = "borrowWithinCohort is Never: preempted only for what is not borrowed"
    assert candidates(found) == [("theirs", ("taken, but it was not enough", never))]


def test_the_threshold_of_borrow_within_cohort_is_named() -> None:
    def reasons(priority: int, threshold: int) -> tuple[str, ...]:
        things: list[Object] = [
            cluster_queue("q", cpu(4), "all", reclaim="Any", borrow=True, threshold=threshold),
            cluster_queue("r", cpu(4), "all"),
            holder("mine", "q", 3),
            holder("theirs", "r", 5, priority=priority),
        ]
        found = stay(workload("w", "q", 4, priority=5), *things)
        return next(why for name, why in candidates(found) if name == "theirs")

    assert "its priority is not lower: preempted only for what is not borrowed" in reasons(9, 3)
    assert "above the threshold 3: preempted only for what is not borrowed" in reasons(4, 3)


def test_others_are_counted_by_queue_and_reason() -> None:
    things: list[Object] = [
        cohort("top"),
        cohort("far", "top", cpu(9)),
        cluster_queue("q", cpu(6), "top", within="LowerPriority", reclaim="LowerPriority"),
        cluster_queue("borrows", cpu(1), "top"),
        cluster_queue("keeps", cpu(2), "top"),
        cluster_queue("below", cpu(1), "far"),
        cluster_queue("stopped", cpu(0), "top", stop="Hold"),
        holder("low", "borrows", 6),
        holder("high", "borrows", 2, priority=9),
        holder("within", "keeps", 1),
        holder("inside", "below", 10),
        holder("stays", "stopped", 1),
    ]
    assert others(stay(workload("w", "q", 5, priority=5), *things)) == [
        ("below", 1, "the Cohort borrows nothing"),
        ("borrows", 1, "the priority is not low enough"),
        ("keeps", 1, "the ClusterQueue borrows nothing"),
        ("stopped", 1, "the ClusterQueue is not active"),
    ]


def test_the_time_is_named_where_time_counts() -> None:
    def reason(min_admit: str | None) -> str:
        queue = cluster_queue("q", cpu(4), within="LowerOrNewerEqualPriority", min_admit=min_admit)
        things: list[Object] = [queue, holder("older", "q", 2), holder("old", "q", 2)]
        (only,) = others(stay(workload("w", "q", 1, created=500), *things))
        return only[2]

    assert reason(None) == "same priority, and not newer"
    assert reason("1h") == "same priority, and not newer, and its time is not over"
