"""The pods that objects would get from their controllers."""

from __future__ import annotations

from typing import Any

import pytest

from api.meta import ObjectMeta
from api.validation import FieldError
from nodes.groups.kinds.kind import SUSPENDED, Awaited
from nodes.groups.kinds.table import KINDS, OWNERS
from nodes.groups.made_pods import MadePods, Written, made_pods, read_as
from nodes.groups.owner_objects import facts_of
from nodes.state.groups.owner_groups import OwnerGroups

VERSIONS = {"MPIJob": "kubeflow.org/v1"}
CONTAINERS = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": CONTAINERS}


def made(kind: str, **spec: Any) -> list[MadePods]:
    meta = ObjectMeta(name="x", namespace="ns", uid="u", labels={"own": "1"})
    (row,) = (
        each
        for each in KINDS
        if (each.kind, each.api_version) == (kind, VERSIONS.get(kind, each.api_version))
    )
    return made_pods(row, Written(kind=kind, metadata=meta, spec=spec))


@pytest.mark.parametrize(
    ("kind", "spec", "count", "owner"),
    [
        ("Pod", CONTAINERS, 1, None),
        ("Job", {"template": TEMPLATE}, 1, "Job"),
        ("Job", {"template": TEMPLATE, "parallelism": 4}, 4, "Job"),
        ("Job", {"template": TEMPLATE, "parallelism": 4, "completions": 3}, 3, "Job"),
        ("Deployment", {"template": TEMPLATE}, 1, "ReplicaSet"),
        ("Deployment", {"template": TEMPLATE, "replicas": 0}, 0, "ReplicaSet"),
        ("StatefulSet", {"template": TEMPLATE, "replicas": 3}, 3, "StatefulSet"),
        ("MPIJob", {"mpiReplicaSpecs": {"Worker": {"replicas": 3, "template": TEMPLATE}}}, 3, "MPIJob"),
        ("TFJob", {"tfReplicaSpecs": {"PS": {"template": TEMPLATE}}}, 1, "TFJob"),
        ("RayCluster", {"headGroupSpec": {"template": TEMPLATE}}, 1, "RayCluster"),
        ("Workload", {"podSets": [{"name": "a", "count": 2, "template": TEMPLATE}]}, 2, None),
    ],
)
def test_the_number_of_pods_and_their_owner(
    kind: str, spec: dict[str, Any], count: int, owner: str | None
) -> None:
    (pods,) = made(kind, **spec)
    owners = pods.pod.metadata.owner_references or []
    assert (pods.count, [each.kind for each in owners]) == (count, [owner] if owner else [])
    assert pods.pod.metadata.namespace == "ns"


def test_a_job_set_is_a_group_of_another_kind() -> None:
    jobs = [
        {"name": "leader", "template": {"spec": {"template": TEMPLATE}}},
        {"name": "worker", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": TEMPLATE}}},
    ]
    leader, worker = made("JobSet", replicatedJobs=jobs)
    assert (leader.count, worker.count, worker.name) == (1, 6, "x-worker")
    units = {OwnerGroups("Victims").unit_of(each.pod) for each in (leader, worker)}
    assert units == {("ns", "JobSet.jobset.x-k8s.io:x")}


def test_a_training_job_is_one_group() -> None:
    role = {"replicas": 2, "template": TEMPLATE}
    master, worker = made(
        "PyTorchJob", pytorchReplicaSpecs={"Master": {"template": TEMPLATE}, "Worker": role}
    )
    assert [(each.name, each.pod_set, each.count) for each in (master, worker)] == [
        ("x-master", "master", 1),
        ("x-worker", "worker", 2),
    ]
    assert {OwnerGroups("Victims").unit_of(each.pod) for each in (master, worker)} == {
        ("ns", "PyTorchJob.kubeflow.org:x:u")
    }


def test_each_replica_of_a_leader_worker_set_is_a_group() -> None:
    body = {"size": 3, "workerTemplate": TEMPLATE}
    found = made("LeaderWorkerSet", replicas=2, leaderWorkerTemplate=body)
    assert [each.count for each in found] == [1, 2, 1, 2]
    units = [OwnerGroups("Victims").unit_of(each.pod) for each in found]
    assert units[0] == units[1] != units[2] == units[3]
    assert units[2] == ("ns", "LeaderWorkerSet.leaderworkerset.x-k8s.io:x-1")


def test_workers_of_a_ray_cluster_have_hosts() -> None:
    workers = [{"groupName": "small", "replicas": 2, "numOfHosts": 3, "template": TEMPLATE}]
    head, small = made("RayCluster", headGroupSpec={"template": TEMPLATE}, workerGroupSpecs=workers)
    assert (head.count, small.count, small.name) == (1, 6, "x-small")


@pytest.mark.parametrize(
    ("kind", "spec", "path"),
    [
        ("PyTorchJob", {"pytorchReplicaSpecs": {"Worker": 3}}, "spec.pytorchReplicaSpecs.Worker"),
        (
            "PyTorchJob",
            {"pytorchReplicaSpecs": {"Worker": {}}},
            "spec.pytorchReplicaSpecs.Worker.template.spec.containers",
        ),
        ("LeaderWorkerSet", {"leaderWorkerTemplate": {"size": -1}}, "spec.leaderWorkerTemplate.size"),
        (
            "LeaderWorkerSet",
            {"replicas": 100_000, "leaderWorkerTemplate": {"workerTemplate": TEMPLATE}},
            "spec",
        ),
        ("LeaderWorkerSet", {}, "spec.leaderWorkerTemplate.workerTemplate.spec.containers"),
        ("RayCluster", {}, "spec.headGroupSpec.template.spec.containers"),
        ("Job", {}, "spec.template.spec.containers"),
        ("Job", {"template": TEMPLATE, "parallelism": "2"}, "spec.parallelism"),
        ("Job", {"template": TEMPLATE, "parallelism": -1}, "spec.parallelism"),
        ("Deployment", {"template": TEMPLATE, "replicas": 20_000}, "spec.template.spec"),
        ("Deployment", {"template": []}, "spec.template"),
        ("Deployment", {"template": "x"}, "spec.template"),
        ("StatefulSet", {"template": {"spec": {"containers": 3}}}, "spec.template.spec.containers"),
        ("JobSet", {"replicatedJobs": [3]}, "spec.replicatedJobs[0]"),
        ("Pod", {"containers": [{"name": "c"}], "nodeName": 3}, "spec.nodeName"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(kind: str, spec: dict[str, Any], path: str) -> None:
    with pytest.raises(FieldError) as error:
        made(kind, **spec)
    assert error.value.path == path


def test_owner_and_pods_say_the_same_number() -> None:
    """The engine and what-if read one description."""
    bodies: dict[str, dict[str, Any]] = {
        "LeaderWorkerSet": {"leaderWorkerTemplate": {"size": 3, "workerTemplate": TEMPLATE}},
        "JobSet": {
            "replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": {"template": TEMPLATE}}}]
        },
        "RayCluster": {
            "headGroupSpec": {"template": TEMPLATE},
            "workerGroupSpecs": [{"replicas": 1, "minReplicas": 2, "numOfHosts": 2, "template": TEMPLATE}],
        },
        "JAXJob": {"jaxReplicaSpecs": {"Worker": {"replicas": 4, "template": TEMPLATE}}},
    }
    for row in OWNERS.values():
        if row.kind in bodies:
            meta = ObjectMeta(name="x", namespace="ns", uid="u")
            written = Written(kind=row.kind, metadata=meta, spec=bodies[row.kind])
            facts = facts_of(read_as(row, written))
            assert facts is not None
            assert facts.minimum(lambda _: False) == sum(each.count for each in made_pods(row, written))


def test_a_suspended_owner_has_a_number_and_makes_no_pods() -> None:
    (row,) = (each for each in KINDS if each.kind == "JobSet")
    body = {"suspend": True, "replicatedJobs": [{"name": "a", "template": {"spec": {"template": TEMPLATE}}}]}
    item = read_as(row, Written(metadata=ObjectMeta(name="x", namespace="ns", uid="u"), spec=body))
    facts = facts_of(item)
    assert facts is not None
    assert (facts.minimum(lambda _: False), row.held(item)) == (1, SUSPENDED)


def test_containers_that_an_operator_adds_count_on_nodes() -> None:
    workers = [{"groupName": "w", "replicas": 1, "template": TEMPLATE}]
    more = {"resources": {"requests": {"cpu": "3"}}}
    head, worker = made(
        "RayCluster",
        enableInTreeAutoscaling=True,
        autoscalerOptions=more,
        headGroupSpec={"template": TEMPLATE},
        workerGroupSpecs=workers,
    )
    assert [each.name for each in head.pod.spec.containers or []] == ["c", "autoscaler"]
    added = (head.pod.spec.containers or [])[1].resources
    assert added is not None
    assert added.requests == {"cpu": "3"}
    assert [each.name for each in worker.pod.spec.init_containers or []] == ["wait-gcs-ready"]
    assert [len(each.template["spec"]["containers"]) for each in (head, worker)] == [1, 1]


def test_pods_that_wait_say_for_what() -> None:
    late = {
        "name": "b",
        "dependsOn": [{"name": "a", "status": "Complete"}],
        "template": {"spec": {"template": TEMPLATE}},
    }
    jobs = [{"name": "a", "template": {"spec": {"template": TEMPLATE}}}, late]
    first, second = made("JobSet", replicatedJobs=jobs)
    assert first.after is None
    assert second.after == Awaited("replicated job a is complete", stage=1)
