"""Kueue's rules for Workload."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.kit.manifests import (
    ELASTIC,
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
    (cause,) = created(workload(annotations={GATED_BY: "a.b/c,"})).causes
    assert cause.message == "a gate's name is empty"
    late = updated(workload(), workload(annotations={GATED_BY: "a.b/c"}))
    assert [cause.message for cause in late.causes] == ["cannot be added to a Workload that is there already"]
