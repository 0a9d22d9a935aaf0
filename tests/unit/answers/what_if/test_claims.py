"""Which pods of an object get their quota together, and which pods share the Workload of a pod group."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answers.reading.documents import JsonDocument
from answers.reading.submissions import SubmissionReader
from answers.submission import Submission
from answers.what_if.claims import claims_of, is_resumed
from answers.what_if.pod_groups import with_pod_groups
from answers.what_if.units import Unit, units_of
from nodes.answers.picture import NodesPicture
from nodes.state.tables import Tables

QUEUE = {"kueue.x-k8s.io/queue-name": "l"}
SPEC = {"containers": [{"name": "c"}]}
TEMPLATE = {"spec": SPEC}
QUEUED = {"metadata": {"labels": QUEUE}, "spec": SPEC}
GROUP = {**QUEUE, "kueue.x-k8s.io/pod-group-name": "g"}
SIZE = "kueue.x-k8s.io/pod-group-total-count"
FAST = "kueue.x-k8s.io/pod-group-fast-admission"
APPS, LWS = "apps/v1", "leaderworkerset.x-k8s.io/v1"


def units(*objects: dict[str, Any]) -> list[Unit]:
    reader = SubmissionReader("t")
    for number, each in enumerate(objects):
        reader.add(JsonDocument(json.dumps(each).encode()), f"object {number}")
    submission: Submission = reader.expand({}, {})
    return with_pod_groups(units_of(NodesPicture.of(Tables()).with_groups(submission.groups), submission))


def one(api_version: str, kind: str, spec: dict[str, Any], labels: dict[str, str]) -> Unit:
    meta = {"name": "x", "labels": labels}
    (unit,) = units({"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec})
    return unit


def pod(name: str, annotations: dict[str, str], cpu: str = "1") -> dict[str, Any]:
    meta = {"name": name, "labels": GROUP, "annotations": annotations}
    spec = {"containers": [{"name": "c", "image": name, "resources": {"requests": {"cpu": cpu}}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "labels", "names"),
    [
        ("v1", "Pod", SPEC, QUEUE, ["Pod x"]),
        ("v1", "Pod", SPEC, {}, []),
        (APPS, "Deployment", {"replicas": 2, "template": TEMPLATE}, QUEUE, ["Pod x-0", "Pod x-1"]),
        (APPS, "Deployment", {"replicas": 0, "template": TEMPLATE}, QUEUE, []),
        (APPS, "ReplicaSet", {"template": TEMPLATE}, QUEUE, []),
        (APPS, "ReplicaSet", {"template": QUEUED}, {}, ["Pod x-0"]),
        (APPS, "StatefulSet", {"replicas": 2, "template": TEMPLATE}, QUEUE, ["StatefulSet x"]),
        (APPS, "StatefulSet", {"replicas": 2, "template": QUEUED}, QUEUE, ["StatefulSet x"]),
        ("batch/v1", "Job", {"parallelism": 2, "template": TEMPLATE}, QUEUE, ["Job x"]),
        ("batch/v1", "Job", {"parallelism": 2, "template": QUEUED}, {}, ["Job x"]),
        ("batch/v1", "Job", {"parallelism": 2, "template": QUEUED}, {"a": "b"}, ["Pod x-0", "Pod x-1"]),
        ("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": TEMPLATE}}}, QUEUE, []),
        ("batch/v1", "CronJob", {"jobTemplate": {**QUEUED, "spec": {"template": TEMPLATE}}}, {}, ["CronJob x"]),
        ("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": QUEUED}}}, {}, ["CronJob x"]),
        (LWS, "LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}},
         QUEUE, ["LeaderWorkerSet x-0", "LeaderWorkerSet x-1"]),
    ],
)  # fmt: skip
def test_the_workloads_that_an_object_gets(
    api_version: str, kind: str, spec: dict[str, Any], labels: dict[str, str], names: list[str]
) -> None:
    claims = [*claims_of(one(api_version, kind, spec, labels))]
    assert [f"{each.kind} {each.meta.name}" for each in claims] == names
    assert all((each.meta.labels or {})["kueue.x-k8s.io/queue-name"] == "l" for each in claims)
    assert len({each.meta.uid for each in claims}) == len(claims)


def test_the_pods_of_a_deployment_have_the_priority_class_that_it_names() -> None:
    labels = {**QUEUE, "kueue.x-k8s.io/priority-class": "high", "app": "x"}
    (claim,) = claims_of(one(APPS, "Deployment", {"template": TEMPLATE}, labels))
    added = {"pod-template-hash": "new-x"}
    assert claim.meta.labels == {**QUEUE, **added, "kueue.x-k8s.io/priority-class": "high"}


@pytest.mark.parametrize(
    ("kind", "spec", "labels", "resumed"),
    [
        ("Job", {"suspend": True, "template": TEMPLATE}, QUEUE, True),
        ("Job", {"suspend": True, "template": TEMPLATE}, {}, False),
        ("Job", {"suspend": True, "template": QUEUED}, {}, True),
        ("Job", {"suspend": True, "template": QUEUED}, {"a": "b"}, False),
        ("CronJob", {"suspend": True, "jobTemplate": {"spec": {"template": TEMPLATE}}}, QUEUE, False),
        ("CronJob", {"suspend": True, "jobTemplate": {**QUEUED, "spec": {"template": TEMPLATE}}}, {}, False),
        ("CronJob", {"jobTemplate": {**QUEUED, "spec": {"suspend": True, "template": TEMPLATE}}}, {}, True),
    ],
)
def test_who_resumes_what_is_suspended(
    kind: str, spec: dict[str, Any], labels: dict[str, str], resumed: bool
) -> None:
    unit = one("batch/v1", kind, spec, labels)
    assert unit.held
    assert is_resumed(unit) is resumed


# ---- pod groups


def test_pods_of_a_group_are_one_unit_with_a_pod_set_for_each_role() -> None:
    size = {SIZE: "3"}
    apart = units(pod("a", size), {**pod("b", {}), "metadata": {"name": "b"}})
    (group,) = units(pod("a", size), pod("b", size, "2"), pod("c", size))
    assert (group.kind, group.name, group.problem) == ("Pods", "t/g", None)
    (claim,) = claims_of(group)
    assert [(each.name, each.pod_set) for each in claim.sets] == [
        ("a", "role-0"),
        ("b", "role-1"),
        ("c", "role-0"),
    ]
    assert [each.kind for each in apart] == ["Pods", "Pod"]


@pytest.mark.parametrize(
    ("pods", "outcome"),
    [
        ([pod("a", {SIZE: "2"})], "WaitsForQuota"),
        ([pod("a", {SIZE: "2", FAST: "true"})], None),
        ([pod("a", {SIZE: "1"}), pod("b", {SIZE: "1"})], "Misconfigured"),
        ([pod("a", {SIZE: "2"}), pod("b", {SIZE: "3"})], "Misconfigured"),
        ([pod("a", {SIZE: "two"})], "Misconfigured"),
        ([pod("a", {})], "Misconfigured"),
    ],
)
def test_a_group_says_how_many_pods_it_has(pods: list[dict[str, Any]], outcome: str | None) -> None:
    (group,) = units(*pods)
    assert (group.problem[0] if group.problem is not None else None) == outcome


def test_the_pods_of_a_deployment_may_be_a_group() -> None:
    template = {"metadata": {"labels": GROUP, "annotations": {SIZE: "2"}}, "spec": SPEC}
    group = one(APPS, "Deployment", {"replicas": 2, "template": template}, {})
    assert (group.kind, group.pods, group.problem) == ("Pods", 2, None)


# ---- gangs


def test_a_gang_asks_for_what_the_objects_of_its_members_ask() -> None:
    group = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    member = {"metadata": {"labels": {"reprieve.dev/pod-group": "g"}}, "spec": SPEC}
    jobs = [{"name": name, "template": {"spec": {"template": member}}} for name in ("a", "b")]
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "x", "labels": QUEUE},
        "spec": {"replicatedJobs": jobs},
    }
    other = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "y"}, "spec": {"template": member}}
    (gang,) = units(group, job_set, other)
    assert (gang.kind, gang.pods) == ("PodGroup", 3)
    (claim,) = claims_of(gang)
    assert (claim.kind, [each.pod_set for each in claim.sets]) == ("JobSet", ["a", "b"])

    queued = {**group, "metadata": {"name": "g", "labels": QUEUE}}
    (gang,) = units(queued, job_set, other)
    (claim,) = claims_of(gang)
    assert (claim.kind, len(claim.sets)) == ("PodGroup", 3)
