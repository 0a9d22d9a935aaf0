"""What is said about every workload that holds quota in the same tree."""

from __future__ import annotations

import msgspec

from api.workloads import JOB_UID_LABEL, Workload
from quota.search.decision import Options, decide
from quota.search.explain import Explanation, preemption_message
from tests.kit.quota.objects import (
    Amount,
    Object,
    cluster_queue,
    cohort,
    cpu,
    held,
    snapshot,
    us,
    workload,
)

NOW = us(1000)


def holder(
    name: str, queue: str, cpus: Amount, *, priority: int = 0, created: int = 1, since: int = 2
) -> Workload:
    return held(workload(name, queue, cpus, priority=priority, created=created), since)


def explained(incoming: Workload, *things: Object, options: Options | None = None) -> Explanation:
    explanation = decide(snapshot(*things), incoming, NOW, options, explain=True).explanation
    assert explanation is not None
    return explanation


def steps(explanation: Explanation) -> list[tuple[bool, list[tuple[str, str]]]]:
    """By attempt: whether it may borrow, and the step of each candidate."""
    return [
        (attempt.borrowing, [(each.holder.workload.metadata.name, each.step) for each in attempt.candidates])
        for attempt in explanation.attempts
    ]


def passed_over(explanation: Explanation) -> list[tuple[str, str, int]]:
    return [(each.queue, each.reason, each.count) for each in explanation.passed_over]


def test_nobody_is_mentioned_where_nobody_had_to_go() -> None:
    explanation = explained(workload("w", "q", 1), cluster_queue("q", cpu(5)), holder("a", "q", 1))
    assert (explanation.attempts, explanation.passed_over) == ((), ())
    assert [search.chosen for search in explanation.flavors] == ["default"]
    never = explained(workload("w", "q", 9), cluster_queue("q", cpu(5)), holder("a", "q", 1))
    assert (never.attempts, never.passed_over) == ((), ())
    assert never.flavors[0].attempts[0].checks[0].rule == "ExceedsMaxQuota"


def test_only_where_it_was_asked_for() -> None:
    assert decide(snapshot(cluster_queue("q", cpu(5))), workload("w", "q", 1), NOW).explanation is None


def test_who_is_put_back_is_said() -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(6), within="LowerPriority"),
        holder("small", "q", 1, since=5),
        holder("large", "q", 3, since=4),
        holder("other", "q", 2, since=3),
    ]
    explanation = explained(workload("w", "q", 3, priority=5), *things)
    assert steps(explanation) == [(True, [("small", "Taken"), ("large", "Taken"), ("small", "PutBack")])]
    assert passed_over(explanation) == [("q", "NotReached", 1)]


def test_a_queue_is_brought_down_to_its_nominal_quota_and_no_further() -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(6), "all", reclaim="Any"),
        cluster_queue("r", cpu(3), "all"),
        holder("mine", "q", 2),
        holder("b", "r", 1, since=4),
        holder("a", "r", 3, since=3),
        holder("c", "r", 1, since=5),
        holder("d", "r", 2, since=2),
    ]
    explanation = explained(workload("w", "q", 4), *things)
    assert steps(explanation) == [(True, [("c", "Taken"), ("b", "Taken"), ("a", "Taken"), ("b", "PutBack")])]
    assert passed_over(explanation) == [("q", "Policy", 1), ("r", "NotReached", 1)]


def test_why_the_others_of_its_own_queue_stay() -> None:
    things: list[Object] = [
        cluster_queue(
            "q",
            {**cpu(6), "spot": {"cpu": (9, None, None)}},
            within="LowerOrNewerEqualPriority",
            min_admit="1h",
        ),
        holder("high", "q", 1, priority=9),
        holder("older", "q", 2, priority=5, created=1),
        holder("newer", "q", 3, priority=5, created=900),
        held(workload("elsewhere", "q", 9, created=1), 2, flavors={"cpu": "spot"}),
    ]
    explanation = explained(workload("w", "q", 3, priority=5, created=500), *things)
    assert steps(explanation) == [(True, [("newer", "Taken")])]
    assert passed_over(explanation) == [("q", "NotNewer", 1), ("q", "OtherFlavors", 1), ("q", "Priority", 1)]


def test_newer_ones_whose_turn_did_not_come() -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(2), within="LowerOrNewerEqualPriority"),
        holder("late", "q", 1, priority=5, created=900, since=910),
        holder("later", "q", 1, priority=5, created=900, since=920),
    ]
    explanation = explained(workload("w", "q", 1, priority=5, created=500), *things)
    assert steps(explanation) == [(True, [("later", "Taken")])]
    assert passed_over(explanation) == [("q", "NotReached", 1)]


def test_fair_sharing_does_not_ask_whether_a_cohort_is_within_its_quota() -> None:
    """Who borrows inside a Cohort that borrows nothing is a candidate, whose turn never comes."""
    things: list[Object] = [
        cohort("top"),
        cohort("far", "top", cpu(4)),
        cluster_queue("q", cpu(2), "top", reclaim="Any"),
        cluster_queue("below", cpu(0), "far"),
        cluster_queue("guest", cpu(0), "top"),
        holder("inside", "below", 3),
        holder("low", "guest", 3),
    ]
    incoming = workload("w", "q", 2)
    assert passed_over(explained(incoming, *things)) == [("below", "CohortWithinQuota", 1)]
    fair = explained(incoming, *things, options=Options(fair_sharing=True))
    assert passed_over(fair) == [("below", "NotReached", 1)]


def test_why_those_of_other_queues_stay() -> None:
    things: list[Object] = [
        cohort("top"),
        cohort("near", "top"),
        cohort("far", "top", cpu(9)),
        cluster_queue("q", cpu(6), "near", within="LowerPriority", reclaim="LowerPriority"),
        cluster_queue("borrows", cpu(1), "near"),
        cluster_queue("keeps", cpu(2), "near"),
        cluster_queue("below", cpu(1), "far"),
        cluster_queue("apart", cpu(2)),
        cluster_queue("stopped", cpu(0), "near", stop="Hold"),
        holder("low", "borrows", 6),
        holder("high", "borrows", 2, priority=9),
        holder("within", "keeps", 1),
        holder("inside", "below", 10),
        holder("foreign", "apart", 1),
        holder("stays", "stopped", 1),
    ]
    explanation = explained(workload("w", "q", 5, priority=5), *things)
    assert steps(explanation) == [(True, [("low", "Taken")])]
    assert passed_over(explanation) == [
        ("below", "CohortWithinQuota", 1),
        ("borrows", "Priority", 1),
        ("keeps", "QueueWithinNominal", 1),
        ("stopped", "QueueInactive", 1),
    ]


def test_each_attempt_is_told() -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(4), "all", reclaim="Any"),
        cluster_queue("r", cpu(4), "all"),
        holder("mine", "q", 3),
        holder("theirs", "r", 5, priority=9),
    ]
    explanation = explained(workload("w", "q", 4, priority=5), *things)
    assert steps(explanation) == [
        (False, [("theirs", "Taken")]),
        (True, [("theirs", "WouldBorrow")]),
    ]


def reasons(explanation: Explanation) -> list[list[tuple[str, str, str | None]]]:
    return [
        [(each.holder.workload.metadata.name, each.step, each.reason) for each in attempt.candidates]
        for attempt in explanation.attempts
    ]


def test_who_goes_has_the_reason_beside_it_and_who_is_put_back_has_none() -> None:
    things: list[Object] = [
        cluster_queue("q", cpu(6), "all", within="LowerPriority", reclaim="Any"),
        cluster_queue("r", cpu(2), "all"),
        holder("mine", "q", 3),
        holder("high", "q", 1, priority=9),
        holder("theirs", "r", 3, priority=9),
        holder("small", "r", 1, since=3),
    ]
    assert reasons(explained(workload("w", "q", 5, priority=5), *things)) == [
        [
            ("small", "Taken", None),
            ("theirs", "Taken", "InCohortReclamation"),
            ("mine", "Taken", "InClusterQueue"),
            ("small", "PutBack", None),
        ]
    ]


def test_an_attempt_in_vain_is_told_without_reasons() -> None:
    """Within the nominal quota there is no room, as `high` stays; borrowing, it is enough that `low` goes."""
    things: list[Object] = [
        cluster_queue("q", cpu(4), "all", within="LowerPriority", reclaim="Any"),
        cluster_queue("r", cpu(2), "all"),
        cluster_queue("lender", cpu(2), "all"),
        holder("high", "q", 2, priority=9),
        holder("low", "q", 1),
        holder("theirs", "r", 3),
    ]
    assert reasons(explained(workload("w", "q", 3, priority=5), *things)) == [
        [("theirs", "Taken", None), ("low", "Taken", None)],
        [("theirs", "WouldBorrow", None), ("low", "Taken", "InClusterQueue")],
    ]


def test_what_fair_sharing_refuses_is_told() -> None:
    things: list[Object] = [
        cohort("all", quotas=cpu(9)),
        cluster_queue("q", cpu(0), "all", reclaim="Any"),
        cluster_queue("r", cpu(0), "all"),
        holder("mine", "q", 4),
        holder("theirs", "r", 5),
    ]
    explanation = explained(workload("w", "q", 4), *things, options=Options(fair_sharing=True))
    # By both strategies, one after the other.
    assert steps(explanation) == [(True, [("theirs", "ShareRefused")]), (True, [("theirs", "ShareRefused")])]
    assert passed_over(explanation) == [("q", "Policy", 1)]


# ---- the message of conditions


def test_the_message_is_kueues() -> None:
    preemptor = workload("w", "q", 1, uid="u-1")
    assert preemption_message(preemptor, "InCohortReclamation", "/all/q", "/all/r") == (
        "Preempted to accommodate a workload (UID: u-1, JobUID: UNKNOWN) due to reclamation within the cohort; "
        "preemptor path: /all/q; preemptee path: /all/r"
    )
    labelled = msgspec.structs.replace(preemptor.metadata, uid="", labels={JOB_UID_LABEL: "j-1"})
    unknown = msgspec.structs.replace(preemptor, metadata=labelled)
    assert preemption_message(unknown, "InClusterQueueTimeBased", "/q", "/q").startswith(
        "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: j-1) due to time-based prioritization in the "
        "ClusterQueue; "
    )
