"""Kueue's rules for Workload."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.unit.webhooks.rules.objects import (
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
from webhooks.settings import Settings

TEMPLATE = "spec.podSets[0].template"
CONTAINER = f"{TEMPLATE}.spec.containers[0].resources"
GATED_BY = "kueue.x-k8s.io/admission-gated-by"
GATED = f"metadata.annotations[{GATED_BY}]"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


def of(*pod_sets: Object, **more: Any) -> Object:
    return workload(podSets=list(pod_sets), **more)


def templated(metadata: Object | None = None, **spec: Any) -> Object:
    return of({"name": "main", "count": 1, "template": {"metadata": metadata or {}, "spec": spec}})


def sliced(**request: Any) -> Object:
    return of(pod_set("main", 1, topologyRequest=request))


SLICE = "spec.podSets[0].topologyRequest.podSetSliceSize"
SLICE_TOPOLOGY = {"podSetSliceRequiredTopology": "rack"}
NEGATIVE = {"resources": {"requests": {"cpu": "-1m"}, "limits": {"memory": "-1"}}}
WRONG_SPEC: dict[str, tuple[Object, Pairs]] = {
    "labels": (
        templated({"labels": {"-": "", "a": "b c"}}),
        [(f"{TEMPLATE}.metadata.labels", "Invalid")] * 2,
    ),
    "annotations": (
        templated({"annotations": {"a/b/c": ""}}),
        [(f"{TEMPLATE}.metadata.annotations", "Invalid")],
    ),
    "too many annotations": (
        templated({"annotations": {"a": "x" * 262144}}),
        [(f"{TEMPLATE}.metadata.annotations", "TooLong")],
    ),
    "pods asked for": (of(pod_set("main", 1, {"pods": 1})), [(f"{CONTAINER}.requests[pods]", "Invalid")]),
    "less than no pods asked for": (
        of(pod_set("main", 1, {"pods": -1})),
        [(f"{CONTAINER}.requests[pods]", "Invalid")] * 2,
    ),
    "negative amounts": (
        templated(initContainers=[{"name": "i"}, {"name": "j", **NEGATIVE}], **NEGATIVE),
        [
            (f"{TEMPLATE}.spec.initContainers[1].resources.limits[memory]", "Invalid"),
            (f"{TEMPLATE}.spec.initContainers[1].resources.requests[cpu]", "Invalid"),
            (f"{TEMPLATE}.spec.resources.limits[memory]", "Invalid"),
            (f"{TEMPLATE}.spec.resources.requests[cpu]", "Invalid"),
        ],
    ),
    "two that are partial": (
        of(pod_set("a", 2, minCount=1), pod_set("b", 2, minCount=1)),
        [("spec.podSets", "Invalid")],
    ),
    "partial and elastic": (
        of(pod_set("a", 2, minCount=1), annotations=ELASTIC),
        [("spec.podSets", "Invalid")],
    ),
    "size without topology": (sliced(podSetSliceSize=1), [(SLICE, "Forbidden")]),
    "topology without size": (sliced(**SLICE_TOPOLOGY), [(SLICE, "Required")]),
    "size of zero": (sliced(podSetSliceSize=0, **SLICE_TOPOLOGY), [(SLICE, "Invalid")]),
    "sizes of slices within slices": (
        sliced(podsetSliceRequiredTopologyConstraints=[{"topology": "rack", "size": n} for n in (1, 0)]),
        [("spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints[1].size", "Invalid")],
    ),
    "quantity that Go cannot read": (
        of(pod_set("main", 1, {"cpu": "1e.5"})),
        [(f"{CONTAINER}.requests[cpu]", "Invalid")],
    ),
    "a count that is no integer": (of(pod_set("main", 1.5)), [("spec.podSets[0].count", "Invalid")]),
    "a count that is no number": (of(pod_set("main", True)), [("spec.podSets[0].count", "TypeInvalid")]),
}


@pytest.mark.parametrize("case", WRONG_SPEC)
def test_a_wrong_spec_is_refused_stored_or_not(case: str) -> None:
    wrong, causes = WRONG_SPEC[case]
    assert pairs(created(wrong)) == causes
    assert pairs(updated(wrong, {**wrong, "status": {}}, subresource="status")) == causes
    assert created(wrong, settings=Settings(beside_kueue=True)).allowed


def test_a_right_spec_is_allowed() -> None:
    assert created(workload()).allowed
    assert created(sliced(podSetSliceSize=1, **SLICE_TOPOLOGY)).allowed
    assert created(of(pod_set("a", 2, minCount=1), pod_set("b", 2))).allowed
    assert created(of(pod_set("a", 3.0))).allowed
    assert created(templated(containers=[{"livenessProbe": {"httpGet": {"port": "http"}}}])).allowed
    assert created(templated(ephemeralContainers=[{"name": "e", **NEGATIVE}])).allowed
    assert created(templated({"annotations": {"a": "x" * 262143}})).allowed
    not_elastic = {"kueue.x-k8s.io/elastic-job": "false"}
    assert created(of(pod_set("a", 2, minCount=1), annotations=not_elastic)).allowed


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


def test_pod_sets_may_only_shrink_while_quota_is_held() -> None:
    held = workload(status=reserved())

    def causes(*pod_sets: Object) -> Pairs:
        return pairs(updated(held, of(*pod_sets, status=reserved())))

    driver, workers = pod_set("driver", 1), pod_set("workers", 4)
    assert causes(driver, pod_set("workers", 0)) == []
    assert causes(driver, pod_set("workers", 5)) == [("spec.podSets.1", "Invalid")]
    assert causes(driver, pod_set("workers", 4, {"cpu": "1000m", "memory": "1024Mi"})) == []
    assert causes(driver, pod_set("workers", 4, {"cpu": "2", "memory": "1Gi"})) == [
        ("spec.podSets.1", "Invalid")
    ]
    assert causes(driver, workers, pod_set("more", 1)) == [("spec.podSets", "Invalid")]
    uncounted = {name: part for name, part in driver.items() if name != "count"}
    assert causes(uncounted, workers) == []
    bare, none = (of(first, workers, status=reserved()) for first in (uncounted, pod_set("driver", 0)))
    assert updated(bare, copy.deepcopy(bare)).allowed
    assert updated(bare, none).allowed
    assert updated(none, bare).allowed
    assert pairs(updated(bare, held)) == [("spec.podSets.0", "Invalid")]
    waiting = workload(status={"conditions": [condition("QuotaReserved", "False")]})
    assert updated(waiting, of(pod_set("driver", 9), status=waiting["status"])).allowed


def test_a_cluster_is_one_of_those_that_were_nominated() -> None:
    nominated: Object = {"nominatedClusterNames": ["a", "b"]}
    assert status_causes({"clusterName": "b"}, nominated) == []
    assert status_causes({"clusterName": "c"}, nominated) == [("status.clusterName", "Invalid")]
    assert status_causes({"clusterName": "c"}, {"clusterName": "c"}) == []
    replacing = {"kueue.x-k8s.io/workload-slice-replacement-for": ""}
    assert status_causes({"clusterName": "c"}, nominated, annotations=replacing) == []


@pytest.mark.parametrize(
    ("gates", "types"),
    [
        ("", []),
        (" ", []),
        ("example.com/a, example.com/b", []),
        ("example.com/a,", ["Invalid"]),
        ("example.com/a,example.com/a", ["Invalid"]),
        ("gate", ["Invalid"]),
        ("Example.com/gate", ["Invalid"]),
        ("example.com/a b", ["Invalid"]),
        ("example.com/" + "x" * 51, []),
        ("example.com/" + "x" * 52, ["TooLong"]),
        # Go counts bytes.
        ("example.com/" + "\u00e9" * 26, ["Invalid", "TooLong"]),
        ("example.com/\ud800", ["Invalid"]),
    ],
)
def test_gates_of_admission(gates: str, types: list[str]) -> None:
    assert pairs(created(workload(annotations={GATED_BY: gates}))) == [(GATED, type_) for type_ in types]


@pytest.mark.parametrize(
    ("old", "new", "types"),
    [
        ("example.com/a,example.com/b", "example.com/b", []),
        ("example.com/a,example.com/b", "example.com/b,example.com/a", []),
        ("example.com/a", "", []),
        ("example.com/a", "example.com/b", ["Forbidden"]),
        ("", "example.com/a", ["Forbidden"]),
        ("", " ", ["Forbidden"]),
        # The names are looked at twice.
        ("example.com/a", "example.com/a,", ["Forbidden", "Invalid", "Invalid"]),
    ],
)
def test_gates_of_admission_can_only_be_removed(old: str, new: str, types: list[str]) -> None:
    before, after = workload(annotations={GATED_BY: old}), workload(annotations={GATED_BY: new})
    assert pairs(updated(before, after)) == [(GATED, type_) for type_ in types]


def test_a_message_names_what_the_rule_judged_by() -> None:
    status = assigned(resourceUsage={"cpu": "4002m"})
    verdict = updated(workload(), workload(status=status), subresource="status")
    assert [cause.message for cause in verdict.causes] == ["'4002m' is not the same for each of 4 pods"]
    (cause,) = created(workload(annotations={GATED_BY: "a.b/c,"})).causes
    assert cause.message == "a gate's name is empty"
    late = updated(workload(), workload(annotations={GATED_BY: "a.b/c"}))
    assert [cause.message for cause in late.causes] == ["cannot be added to a Workload that is there already"]
    soon = updated(workload(), workload(status={"requeueState": {"requeueAt": "soon"}}), subresource="status")
    assert [cause.message for cause in soon.causes] == ["'soon' is no time, such as 2006-01-02T15:04:05Z"]


def test_nothing_that_is_given_is_changed() -> None:
    old, new = workload(status=reserved()), workload(status=reclaimed(3))
    before = copy.deepcopy((old, new))
    updated(old, new, subresource="status")
    assert (old, new) == before
