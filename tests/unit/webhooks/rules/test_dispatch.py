"""What holds for every kind."""

from __future__ import annotations

import pytest

from schema.verdict import Verdict
from tests.kit.manifests import (
    CLASSES,
    cluster_queue,
    created,
    pod_group,
    preemption,
    reserved,
    updated,
    workload,
)
from webhooks.facts import NO_FACTS
from webhooks.rules import KINDS, Object, Request, default

WRONG = {
    "ClusterQueue": cluster_queue(preemption=preemption(borrowWithinCohort={"policy": "LowerPriority"})),
    "Cohort": {"kind": "Cohort", "metadata": {}, "spec": {"fairSharing": {"weight": -1}}},
    "ResourceFlavor": {"kind": "ResourceFlavor", "metadata": {}, "spec": {"nodeLabels": {"-": ""}}},
    "Workload": workload(
        status=reserved(clusterName="far", admission={"podSetAssignments": [{"name": "gone"}]})
    ),
}


def leaving(wrong: Object, *finalizers: str) -> Object:
    metadata = {
        **wrong["metadata"],
        "deletionTimestamp": "2026-01-02T03:04:05Z",
        "finalizers": list(finalizers),
    }
    return {**wrong, "metadata": metadata}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_deleted_loses_its_finalizers_whatever_is_wrong_with_it(kind: str) -> None:
    wrong = WRONG[kind]
    assert not updated(wrong, {**wrong, "metadata": {"labels": {}}}).allowed
    assert updated(leaving(wrong, "a", "b"), leaving(wrong, "b")).allowed
    changed = {**wrong, "spec": {**wrong["spec"], "stopPolicy": "Hold"}}
    assert not updated(leaving(wrong, "a"), leaving(changed)).allowed


def test_what_is_deleted_is_not_filled_in() -> None:
    group = leaving(pod_group(), "a")
    without = {**group, "spec": {**group["spec"], "priority": None}}
    request = Request(
        kind="PodGroup", operation="UPDATE", new=without, old=leaving(pod_group(priority=0), "a")
    )
    assert default(request) is without


def test_a_kind_without_rules_is_allowed_as_it_is() -> None:
    queue: Object = {"kind": "LocalQueue", "metadata": {}, "spec": {"fairSharing": {"weight": -1}}}
    assert created(queue) == Verdict()
    assert default(Request(kind="LocalQueue", operation="CREATE", new=queue)) is queue


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [{}, {"spec": None}, {"metadata": [], "spec": "x", "status": 5}])
def test_any_shape_gets_a_verdict(kind: str, shape: Object) -> None:
    new = {"kind": kind, **shape}
    for facts in (NO_FACTS, CLASSES):
        created(new, facts=facts)
        updated(new, new, facts=facts)
        updated(new, new, subresource="status", facts=facts)
    request = Request(kind=kind, operation="UPDATE", subresource="status", new=new, old=new)
    assert default(request) is new
    made = Request(kind=kind, operation="CREATE", new={**new, "spec": None}, facts=CLASSES)
    assert default(made) is made.new
