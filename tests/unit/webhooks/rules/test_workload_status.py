"""Kueue's rules for the status of Workloads."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.kit.manifests import (
    ELASTIC,
    TIME,
    Pairs,
    condition,
    created,
    pairs,
    pod_set,
    reserved,
    updated,
    workload,
)
from webhooks.rules import Object


def status_causes(status: Object, old: Object | None = None, **more: Any) -> Pairs:
    """Of an update of the status."""
    old_workload = workload(status=old, **more) if old is not None else workload(**more)
    return pairs(updated(old_workload, workload(status=status, **more), subresource="status"))


ASSIGNMENT = "status.admission.podSetAssignments[1]"


def assigned(**fields: Any) -> Object:
    """A reservation whose second assignment has these fields."""
    status = reserved()
    status["admission"]["podSetAssignments"][1].update(fields)
    return status


@pytest.mark.parametrize(
    ("status", "causes"),
    [
        (reserved(), []),
        (reserved(admission=None), [("status.admission", "Required")]),
        (assigned(name="gone"), [(f"{ASSIGNMENT}.name", "NotFound")]),
        (assigned(resourceUsage={"cpu": "4002m"}), [(f"{ASSIGNMENT}.resourceUsage[cpu]", "Invalid")]),
        (assigned(resourceUsage={"memory": "3500m"}), []),
        (assigned(resourceUsage={"memory": "4500m"}), [(f"{ASSIGNMENT}.resourceUsage[memory]", "Invalid")]),
        (assigned(resourceUsage={"cpu": "-8"}), []),
        (assigned(resourceUsage={"cpu": "4008m", "memory": None}), []),
        (assigned(resourceUsage={"cpu": " 4008m"}), []),
        (assigned(resourceUsage={"cpu": " 4002m "}), [(f"{ASSIGNMENT}.resourceUsage[cpu]", "Invalid")]),
        (assigned(resourceUsage={"memory": " 4500m"}), [(f"{ASSIGNMENT}.resourceUsage[memory]", "Invalid")]),
        (assigned(count=0, resourceUsage={"cpu": "3"}), []),
        ({"admission": assigned(name="gone")["admission"]}, []),
        ({"conditions": [condition("x y")]}, [("status.conditions[0].type", "Invalid")]),
        ({"conditions": [condition("X", "true")]}, [("status.conditions[0].status", "NotSupported")]),
        ({"conditions": [condition("X", "False"), condition("Y", "Unknown", observedGeneration=0)]}, []),
        ({"conditions": [condition("X"), condition("X")]}, [("status.conditions[1].type", "Duplicate")]),
        (
            {"conditions": [condition("X", lastTransitionTime="0001-01-01T00:00:00Z", reason="")]},
            [
                ("status.conditions[0].lastTransitionTime", "Required"),
                ("status.conditions[0].reason", "Required"),
            ],
        ),
        (
            {"conditions": [condition("X", reason="a-b", observedGeneration=-1)]},
            [
                ("status.conditions[0].observedGeneration", "Invalid"),
                ("status.conditions[0].reason", "Invalid"),
            ],
        ),
        (
            {"conditions": [condition("X", reason="a" * 1025, message="x" * 32769)]},
            [("status.conditions[0].message", "TooLong"), ("status.conditions[0].reason", "TooLong")],
        ),
        ({"conditions": [condition("X", reason="a" * 1024, message="x" * 32768)]}, []),
        # Go counts bytes.
        (
            {"conditions": [condition("X", message="\u00e9" * 16385)]},
            [("status.conditions[0].message", "TooLong")],
        ),
        (
            {"conditions": [condition("X", reason="\u00e9" * 513)]},
            [("status.conditions[0].reason", "Invalid"), ("status.conditions[0].reason", "TooLong")],
        ),
        # JSON has characters that UTF-8 does not have.
        (
            {"conditions": [condition("X", reason="\ud800", message="\ud800")]},
            [("status.conditions[0].reason", "Invalid")],
        ),
        ({"reclaimablePods": [{"name": "workers", "count": 4}]}, []),
        (
            {"reclaimablePods": [{"name": "gone", "count": 0}]},
            [("status.reclaimablePods[gone].name", "NotSupported")],
        ),
        (
            {"reclaimablePods": [{"name": "workers", "count": 5}]},
            [("status.reclaimablePods[workers].count", "Invalid")],
        ),
        (
            {"requeueState": {"requeueAt": "2026-01-02t03:04:05Z"}, "conditions": [condition("X")]},
            [("status.requeueState.requeueAt", "Invalid")],
        ),
        ({"clusterName": "far"}, [("status.clusterName", "Invalid")]),
    ],
)
def test_a_status_by_itself(status: Object, causes: Pairs) -> None:
    assert status_causes(status) == causes


def check(state: str = "Ready", **fields: Any) -> Object:
    return {"name": "c", "state": state, "lastTransitionTime": TIME, "message": "", **fields}


UPDATES = "status.admissionChecks[0].podSetUpdates"


@pytest.mark.parametrize(
    ("update", "causes"),
    [
        ({"name": "driver"}, []),
        ({"name": "gone"}, [("[0].name", "NotSupported")]),
        ({"name": "driver", "labels": {"-": ""}}, [("[0].labels", "Invalid")]),
        ({"name": "driver", "nodeSelector": {"a": "-"}}, [("[0].nodeSelector", "Invalid")]),
        ({"name": "driver", "annotations": {"/a": ""}}, [("[0].annotations", "Invalid")]),
        ({"name": "driver", "annotations": {"Example.com/A": ""}}, []),
        ({"name": "driver", "annotations": {"a": "\u00e9" * 131072}}, [("[0].annotations", "TooLong")]),
        ({"name": "driver", "annotations": {"a": "\ud800"}}, []),
        ({"name": "driver", "tolerations": [{}, {"key": "-"}]}, [("[0].tolerations[1].key", "Invalid")]),
    ],
)
def test_what_a_check_adds_to_pods(update: Object, causes: Pairs) -> None:
    status = {"admissionChecks": [check(podSetUpdates=[update])]}
    assert status_causes(status) == [(UPDATES + path, type_) for path, type_ in causes]


def test_what_a_ready_check_adds_stays() -> None:
    before = {"admissionChecks": [check(podSetUpdates=[{"name": "driver", "labels": {"a": "b"}}])]}
    after = {"admissionChecks": [check(podSetUpdates=[])]}
    assert status_causes(after, before) == [(UPDATES, "Invalid")]
    assert status_causes({"admissionChecks": [check("Pending")]}, before) == []
    assert status_causes(before, after) == [(UPDATES, "Invalid")]
    assert status_causes({"admissionChecks": [check()]}, after) == []
    pending = {"admissionChecks": [check("Pending", podSetUpdates=[])]}
    assert status_causes(before, pending) == []


def test_a_ready_check_is_known_by_its_name_and_told_of_at_its_old_place() -> None:
    other = check("Pending") | {"name": "other"}
    before = {"admissionChecks": [other, check(podSetUpdates=[{"name": "driver"}])]}
    moved = {"admissionChecks": [check(podSetUpdates=[{"name": "driver"}]), other]}
    assert status_causes(moved, before) == []
    changed = {"admissionChecks": [check(), other]}
    assert status_causes(changed, before) == [("status.admissionChecks[1].podSetUpdates", "Invalid")]


def test_a_reservation_without_admission_that_is_stored_may_stay() -> None:
    broken = reserved(admission=None)
    assert pairs(created(workload(status=broken))) == [("status.admission", "Required")]
    assert status_causes(broken, broken) == []
    assert status_causes(broken, reserved()) == [("status.admission", "Required")]


def test_an_admission_can_be_removed_but_not_changed() -> None:
    cause = [("status.admission", "Invalid")]
    assert status_causes(assigned(flavors={"cpu": "on-demand"}), reserved()) == cause
    assert status_causes(assigned(resourceUsage={"cpu": "4000m"}), reserved()) == []
    assert status_causes(assigned(topologyAssignment={"levels": ["rack"]}), reserved()) == []
    assert status_causes(assigned(delayedTopologyRequest="Ready"), reserved()) == []
    assert status_causes({"conditions": [condition("QuotaReserved", "False")]}, reserved()) == []
    assert status_causes(reserved(), {}) == []


def reclaimed(workers: int | None, **pods: int) -> Object:
    counts = pods | ({} if workers is None else {"workers": workers})
    return reserved(reclaimablePods=[{"name": name, "count": count} for name, count in counts.items()])


def test_pods_that_gave_their_quota_back_do_not_take_it_again() -> None:
    before, path = reclaimed(3), "status.reclaimablePods[workers]"
    assert status_causes(reclaimed(4, driver=1), before) == []
    assert status_causes(reclaimed(3, driver=1), before) == []
    assert status_causes(reclaimed(2), before) == [(f"{path}.count", "Invalid")]
    assert status_causes(reclaimed(None), before) == [(path, "Required")]
    given_back = {"conditions": [condition("QuotaReserved", "False")]}
    assert status_causes(given_back, before) == []
    assert status_causes(reclaimed(2), {"reclaimablePods": before["reclaimablePods"]}) == []
    # A first count is not less than any; that it is negative is the schema's to say.
    assert status_causes(reclaimed(-1), reserved()) == []


def test_a_count_that_is_not_there_is_zero() -> None:
    uncounted: Object = reserved(reclaimablePods=[{"name": "workers"}])
    assert status_causes(uncounted, reclaimed(0)) == []
    assert status_causes(reclaimed(0), uncounted) == []
    assert status_causes(uncounted, reclaimed(1)) == [("status.reclaimablePods[workers].count", "Invalid")]
    nobody: Object = {"podSets": [pod_set("driver", 1), {"name": "workers"}]}
    assert status_causes({"reclaimablePods": uncounted["reclaimablePods"]}, **nobody) == []
    assert status_causes({"reclaimablePods": [{"name": "workers", "count": 1}]}, **nobody) == [
        ("status.reclaimablePods[workers].count", "Invalid")
    ]


def test_more_pods_than_there_are_is_refused_though_it_is_stored() -> None:
    assert status_causes(reclaimed(5), reclaimed(5)) == [("status.reclaimablePods[workers].count", "Invalid")]


def test_counts_of_an_elastic_job_may_be_those_from_before_it_shrank() -> None:
    small = {"podSets": [pod_set("driver", 1), pod_set("workers", 2)], "annotations": ELASTIC}
    before = reclaimed(3)
    for workers in (3, 2, 0, None):
        assert status_causes(reclaimed(workers), before, **small) == []
    too_many = [("status.reclaimablePods[workers].count", "Invalid")]
    assert status_causes(reclaimed(4), before, **small) == too_many
    # No more than there are now; but quota is held for four, so it has shrunk, and who is left may not be done.
    assert status_causes(reclaimed(1), reclaimed(2), **small) == []
    assert status_causes(reclaimed(None), reclaimed(2), **small) == []


def test_counts_of_an_elastic_job_that_has_not_shrunk_are_those_of_any_other() -> None:
    fewer, none = (
        [("status.reclaimablePods[workers].count", "Invalid")],
        [("status.reclaimablePods[workers]", "Required")],
    )
    assert status_causes(reclaimed(2), reclaimed(3), annotations=ELASTIC) == fewer
    assert status_causes(reclaimed(None), reclaimed(3), annotations=ELASTIC) == none
    # Without the count that quota is held for, nobody can tell.
    small = {"podSets": [pod_set("driver", 1), pod_set("workers", 2)], "annotations": ELASTIC}
    uncounted = [reclaimed(3), reclaimed(2)]
    for status in uncounted:
        for assignment in status["admission"]["podSetAssignments"]:
            del assignment["count"], assignment["resourceUsage"]
    assert status_causes(uncounted[1], uncounted[0], **small) == fewer


def test_entries_of_reclaimable_pods_that_are_there_twice_are_each_looked_at() -> None:
    twice = reclaimed(3)
    twice["reclaimablePods"] = [{"name": "workers", "count": count} for count in (2, 3)]
    assert status_causes(twice, reclaimed(3)) == [("status.reclaimablePods[workers].count", "Invalid")]


def test_a_cluster_is_one_of_those_that_were_nominated() -> None:
    nominated: Object = {"nominatedClusterNames": ["a", "b"]}
    assert status_causes({"clusterName": "b"}, nominated) == []
    assert status_causes({"clusterName": "c"}, nominated) == [("status.clusterName", "Invalid")]
    assert status_causes({"clusterName": "c"}, {"clusterName": "c"}) == []
    replacing = {"kueue.x-k8s.io/workload-slice-replacement-for": ""}
    assert status_causes({"clusterName": "c"}, nominated, annotations=replacing) == []


def test_a_message_names_what_the_rule_judged_by() -> None:
    uneven = updated(
        workload(), workload(status=assigned(resourceUsage={"cpu": "4002m"})), subresource="status"
    )
    assert [cause.message for cause in uneven.causes] == ["'4002m' is not the same for each of 4 pods"]
    soon = updated(workload(), workload(status={"requeueState": {"requeueAt": "soon"}}), subresource="status")
    assert [cause.message for cause in soon.causes] == ["'soon' is no time, such as 2006-01-02T15:04:05Z"]


def test_nothing_that_is_given_is_changed() -> None:
    old, new = workload(status=reserved()), workload(status=reclaimed(3))
    before = copy.deepcopy((old, new))
    updated(old, new, subresource="status")
    assert (old, new) == before
