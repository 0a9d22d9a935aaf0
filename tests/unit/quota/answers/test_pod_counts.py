"""How many pods get quota, in words and numbers."""

from __future__ import annotations

import msgspec
import pytest

from api.fates import Fate, changes
from api.waits import PodCount
from api.workloads import ReclaimablePod, Workload
from quota.answers.decision_words import said_of
from quota.answers.pod_counts import counts_held, counts_of, in_part
from quota.search.decision import Decision, decide
from tests.kit.quota.objects import Object, cluster_queue, cpu, held, snapshot, us, workload


def decided(incoming: Workload, *things: Object) -> Decision:
    return decide(snapshot(*things), incoming, us(1000))


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([PodCount("main", 4, 4)], ""),
        ([PodCount("main", 4, 10)], "4 of its 10 pods"),
        ([PodCount("a", 1, 1), PodCount("b", 2, 3)], "2 of its 3 pods"),
        ([PodCount("a", 1, 2), PodCount("b", 2, 3)], "1 of 2 pods of a, 2 of 3 pods of b"),
    ],
)
def test_only_pod_sets_with_fewer_pods_are_named(counts: list[PodCount], words: str) -> None:
    assert in_part(counts) == words


def test_a_partial_admission_says_why_all_pods_get_none() -> None:
    state, says = said_of(decided(workload("w", "q", 1, count=10, least=2), cluster_queue("q", cpu(4))))
    assert state == "Fits"
    assert "gets its quota for 4 of its 10 pods in flavor default" in says
    assert "minCount" in says
    assert "All its pods do not fit: it asks for more than there would be if no quota was in use." in says


def test_all_pods_may_lack_victims() -> None:
    queue = cluster_queue("q", cpu(10), within="LowerPriority")
    _, says = said_of(
        decided(workload("w", "q", 1, count=10, least=2), queue, held(workload("h", "q", 4), 1))
    )
    assert "6 of its 10 pods" in says
    assert "too few of the Workloads" in says


def test_what_does_not_fit_at_all_says_that_fewer_were_tried() -> None:
    state, says = said_of(decided(workload("w", "q", 1, count=10, least=5), cluster_queue("q", cpu(4))))
    assert (state, "down to its minCount" in says) == ("ExceedsMaxQuota", True)


def test_without_min_count_nothing_is_said_of_it() -> None:
    _, says = said_of(decided(workload("w", "q", 1, count=10), cluster_queue("q", cpu(4))))
    assert "minCount" not in says


def test_what_gets_no_quota_has_no_counts() -> None:
    queue = cluster_queue("q", cpu(4), within="LowerPriority")
    assert counts_of(decided(workload("w", "q", 2, count=2), queue, held(workload("h", "q", 1), 1))) == ()


def test_reclaimable_pods_of_a_holder_are_not_missing() -> None:
    whole = held(workload("h", "q", 1, count=5), 1)
    assert counts_held(whole) == (PodCount("main", 5, 5),)
    done = msgspec.structs.replace(
        whole, status=msgspec.structs.replace(whole.status, reclaimable_pods=[ReclaimablePod("main", 2)])
    )
    assert in_part(counts_held(done)) == ""


def test_a_fate_differs_by_its_number_of_pods() -> None:
    few, more = (
        Fate("Quota", "Workload", "ns/w", "Fits", "", "", pod_sets=(PodCount("main", count, 9),))
        for count in (2, 3)
    )
    assert [each.names for each in changes({"w": few}, {"w": more})] == [("ns/w",)]
    assert changes({"w": few}, {"w": few}) == []
