"""KEP-8522: a workload that has held its quota for longer than minAdmitDuration may be preempted by its equals.

Every case is asked without and with fair sharing, where it holds within the ClusterQueue just the same. The cases have
the numbers of the KEP's list of integration tests; 2, the rotation, is `test_time_sharing`, 6 is not the search's.
"""

from __future__ import annotations

from typing import Literal

import pytest

from api.kueue import ClusterQueue
from api.workloads import Workload
from quota.search.decision import Decision, Options, decide
from tests.kit.quota.objects import cluster_queue, cpu, evicted, held, snapshot, us, workload

HOUR = 3600
FOUR_HOURS = 4 * HOUR
Within = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]

pytestmark = pytest.mark.parametrize(
    "options", [Options(), Options(fair_sharing=True)], ids=["classical", "fair"]
)


def training(
    slots: int, *, within: Within = "LowerOrNewerEqualPriority", min_admit: str | None = "4h"
) -> ClusterQueue:
    """The ClusterQueue of story 1."""
    return cluster_queue("training", cpu(slots), within=within, min_admit=min_admit)


def running(name: str, since: int, *, created: int = 0, priority: int = 0, slots: int = 1) -> Workload:
    return held(workload(name, "training", slots, created=created, priority=priority), since)


def ask(
    queue: ClusterQueue, holders: list[Workload], waiting: Workload, now: int, options: Options
) -> Decision:
    return decide(snapshot(queue, *holders, waiting), waiting, us(now), options)


def victims(decision: Decision) -> dict[str, str]:
    return {target.holder.workload.metadata.name: target.reason for target in decision.targets}


def in_order(holders: list[Workload], waiting: Workload, now: int, options: Options) -> list[tuple[str, str]]:
    """The first victim, the second and so on: each has one slot, and the waiting one wants one, then two, then ..."""
    result: list[tuple[str, str]] = []
    for wanted in range(1, len(holders) + 1):
        (pods,) = waiting.spec.pod_sets
        pods.count = wanted
        gone = victims(ask(training(len(holders)), holders, waiting, now, options))
        new = [pair for pair in sorted(gone.items()) if pair not in result]
        assert len(new) == 1, gone
        result += new
    return result


@pytest.mark.parametrize(
    ("held_for", "goes"), [(FOUR_HOURS - 1, False), (FOUR_HOURS, False), (FOUR_HOURS + 1, True)]
)
def test_one_goes_once_its_time_has_expired(held_for: int, goes: bool, options: Options) -> None:
    """Cases 1 and 5: A is older than B, so only time lets B have its slot. Exactly at the duration A stays."""
    a = running("a", since=100, created=0)
    b = workload("b", "training", 1, created=200)
    decision = ask(training(1), [a], b, 100 + held_for, options)
    assert decision.mode == "Preempt"
    assert victims(decision) == ({"a": "InClusterQueueTimeBased"} if goes else {})


def test_lower_priorities_go_before_equal_ones(options: Options) -> None:
    """Case 3: also one that has only just got its quota, before one whose time expired long ago."""
    holders = [running("expired", since=0), running("lower", since=5 * HOUR, priority=-1)]
    waiting = workload("waiting", "training", 1, created=HOUR)
    assert in_order(holders, waiting, 5 * HOUR + 1, options) == [
        ("lower", "InClusterQueue"),
        ("expired", "InClusterQueueTimeBased"),
    ]


def test_lower_priorities_keep_their_order_whatever_their_time(options: Options) -> None:
    """Of lower priorities the lowest goes first, then who came last, as ever: time counts among equals only."""
    holders = [
        running("long", since=0, priority=-1),
        running("short", since=5 * HOUR, priority=-1),
        running("lowest", since=0, priority=-2),
    ]
    waiting = workload("waiting", "training", 1, created=HOUR)
    assert in_order(holders, waiting, 5 * HOUR + 1, options) == [
        ("lowest", "InClusterQueue"),
        ("short", "InClusterQueue"),
        ("long", "InClusterQueue"),
    ]


def test_higher_priorities_stay_however_long_they_have_run(options: Options) -> None:
    waiting = workload("waiting", "training", 1, created=HOUR)
    decision = ask(training(1), [running("higher", since=0, priority=1)], waiting, 100 * HOUR, options)
    assert victims(decision) == {}


@pytest.mark.parametrize(("created", "goes"), [(HOUR, False), (3 * HOUR, True)])
def test_unset_only_newer_ones_go(created: int, goes: bool, options: Options) -> None:
    """Case 4: without minAdmitDuration nothing changes, however long it has been."""
    a = running("a", since=3 * HOUR, created=created)
    waiting = workload("waiting", "training", 1, created=2 * HOUR)
    decision = ask(training(1, min_admit=None), [a], waiting, 100 * HOUR, options)
    assert victims(decision) == ({"a": "InClusterQueue"} if goes else {})


def test_feature_gate_off_is_as_if_unset(options: Options) -> None:
    off = Options(fair_sharing=options.fair_sharing, time_based=False)
    a = running("a", since=0)
    waiting = workload("waiting", "training", 1, created=HOUR)
    assert victims(ask(training(1), [a], waiting, 100 * HOUR, off)) == {}


def test_of_several_that_expired_the_longest_running_goes_first(options: Options) -> None:
    """Case 7; of those that came at the same moment the one with the smaller UID."""
    holders = [
        held(workload("c", "training", 1, uid="3"), HOUR),
        held(workload("a", "training", 1, uid="2"), HOUR),
        held(workload("d", "training", 1, uid="4"), 0),
        held(workload("b", "training", 1, uid="1"), HOUR),
    ]
    waiting = workload("waiting", "training", 1, created=HOUR)
    expected = [(name, "InClusterQueueTimeBased") for name in ("d", "b", "a", "c")]
    assert in_order(holders, waiting, 6 * HOUR, options) == expected
    assert in_order(holders[::-1], waiting, 6 * HOUR, options) == expected


def test_expired_ones_go_before_newer_ones(options: Options) -> None:
    """Preemption order: the expired, the longest running first; then the newer, the most recently admitted first."""
    holders = [
        running("newer-1", since=5 * HOUR, created=2 * HOUR),
        running("expired-2", since=HOUR),
        running("newer-2", since=6 * HOUR, created=2 * HOUR),
        running("expired-1", since=0),
    ]
    waiting = workload("waiting", "training", 1, created=HOUR)
    assert in_order(holders, waiting, 7 * HOUR, options) == [
        ("expired-1", "InClusterQueueTimeBased"),
        ("expired-2", "InClusterQueueTimeBased"),
        ("newer-2", "InClusterQueue"),
        ("newer-1", "InClusterQueue"),
    ]


def test_one_that_is_newer_and_has_expired_goes_for_its_time(options: Options) -> None:
    a = running("a", since=HOUR, created=HOUR)
    waiting = workload("waiting", "training", 1, created=0)
    decision = ask(training(1), [a], waiting, 6 * HOUR, options)
    assert victims(decision) == {"a": "InClusterQueueTimeBased"}


def test_one_on_its_way_out_goes_first(options: Options) -> None:
    """Whatever its time: it leaves anyway. It must be one that may be preempted at all, as ever."""
    leaving = evicted(running("leaving", since=5 * HOUR, created=2 * HOUR), 6 * HOUR)
    holders = [running("lower", since=0, priority=-1), running("expired", since=0), leaving]
    waiting = workload("waiting", "training", 1, created=HOUR)
    assert in_order(holders, waiting, 7 * HOUR, options) == [
        ("leaving", "InClusterQueue"),
        ("lower", "InClusterQueue"),
        ("expired", "InClusterQueueTimeBased"),
    ]


@pytest.mark.parametrize("within", ["Never", "LowerPriority"])
def test_other_policies_know_no_time(within: Within, options: Options) -> None:
    """Case 9, for the search: the field has no effect, should it have got past validation."""
    waiting = workload("waiting", "training", 1, created=HOUR)
    decision = ask(training(1, within=within), [running("a", since=0)], waiting, 100 * HOUR, options)
    assert decision.mode == "Preempt"
    assert victims(decision) == {}


def test_time_gives_no_right_to_the_quota_of_another_queue(options: Options) -> None:
    """Case 8 and the non-goal: in the cohort the rules are those of before, here LowerPriority."""
    queues = [
        cluster_queue(
            name,
            cpu(1),
            "all",
            within="LowerOrNewerEqualPriority",
            reclaim="LowerPriority",
            min_admit="1m",
        )
        for name in ("training", "other")
    ]
    borrower = held(workload("borrower", "other", 2), 0)
    waiting = workload("waiting", "training", 1, created=HOUR)
    decision = decide(snapshot(*queues, borrower, waiting), waiting, us(100 * HOUR), options)
    assert decision.mode == "Preempt"
    assert victims(decision) == {}


def test_lower_priority_in_the_cohort_and_expired_at_home(options: Options) -> None:
    """Case 8: reclaiming goes on beside it, and comes first."""
    training = cluster_queue(
        "training", cpu(2), "all", within="LowerOrNewerEqualPriority", reclaim="Any", min_admit="4h"
    )
    other = cluster_queue("other", cpu(1), "all")
    holders = [running("expired", since=0), held(workload("borrower", "other", 2), 0)]
    one = workload("waiting", "training", 1, created=HOUR)
    decision = decide(snapshot(training, other, *holders, one), one, us(5 * HOUR), options)
    reclaimed = victims(decision)
    assert reclaimed == {"borrower": "InCohortReclamation"}


def test_the_annotation_stands_in_for_the_field(options: Options) -> None:
    """Kueue's own CRD prunes the field."""
    queue = training(1, min_admit=None)
    queue.metadata.annotations = {"reprieve.dev/min-admit-duration": "4h"}
    waiting = workload("waiting", "training", 1, created=HOUR)
    expired = ask(queue, [running("a", since=0)], waiting, FOUR_HOURS + 1, options)
    assert victims(expired) == {"a": "InClusterQueueTimeBased"}


def test_the_field_wins_over_the_annotation(options: Options) -> None:
    queue = training(1, min_admit="4h")
    queue.metadata.annotations = {"reprieve.dev/min-admit-duration": "1m"}
    waiting = workload("waiting", "training", 1, created=HOUR)
    assert victims(ask(queue, [running("a", since=0)], waiting, FOUR_HOURS, options)) == {}
