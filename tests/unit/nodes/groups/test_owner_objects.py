"""What the objects of owners say: how many pods start together."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nodes.groups.kinds.kind import Kind
from nodes.groups.kinds.table import OWNERS
from nodes.groups.owner_objects import OwnerFacts, by_owner_of, facts_of

KINDS = {f"{each.kind}.{each.api_version}": each for each in OWNERS.values()}
JOB_SET = KINDS["JobSet.jobset.x-k8s.io/v1alpha2"]
LWS = KINDS["LeaderWorkerSet.leaderworkerset.x-k8s.io/v1"]
PYTORCH = KINDS["PyTorchJob.kubeflow.org/v1"]
MPI = KINDS["MPIJob.kubeflow.org/v2beta1"]
MPI_V1 = KINDS["MPIJob.kubeflow.org/v1"]
RAY = KINDS["RayCluster.ray.io/v1"]
JOB = KINDS["Job.batch/v1"]
GANG = {"reprieve.dev/gang": "true"}


def facts(kind: Kind, spec: dict[str, Any], **fields: Any) -> OwnerFacts | None:
    """Of an object with this spec. `annotations` are of its metadata; further fields are beside its spec."""
    meta = {"name": "a", "namespace": "n", "uid": "u", "annotations": fields.pop("annotations", None)}
    return facts_of(msgspec.convert({"metadata": meta, "spec": spec, **fields}, kind.type))


def jobs(*replicated: tuple[int | None, int | None], **spec: Any) -> dict[str, Any]:
    """A JobSet's spec, by replicas and parallelism of its replicated jobs."""
    made = [
        {"name": f"j{number}", "replicas": replicas, "template": {"spec": {"parallelism": parallelism}}}
        for number, (replicas, parallelism) in enumerate(replicated)
    ]
    return {"replicatedJobs": made, **spec}


def waiting_for_the_first() -> dict[str, Any]:
    spec = jobs((2, 3), (4, 1))
    spec["replicatedJobs"][1]["dependsOn"] = [{"name": "j0", "status": "Ready"}]
    return spec


@pytest.mark.parametrize(
    ("kind", "spec", "pods"),
    [
        (JOB_SET, jobs((2, 3), (None, None), (1, 4)), 11),
        (JOB_SET, jobs((2, 3), (4, 1), startupPolicy={"startupPolicyOrder": "AnyOrder"}), 10),
        (JOB_SET, jobs((2, 3), (4, 1), startupPolicy={"startupPolicyOrder": "InOrder"}), 6),
        (JOB_SET, waiting_for_the_first(), 6),
        (JOB_SET, {}, 0),
        (LWS, {"replicas": 3, "leaderWorkerTemplate": {"size": 4}}, 4),
        (LWS, {"leaderWorkerTemplate": {}}, 1),
        (LWS, {"startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": 4}}, 1),
        (PYTORCH, {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}}, 4),
        (PYTORCH, {"pytorchReplicaSpecs": {"Master": {}, "Worker": {"replicas": None}}}, 2),
        (KINDS["TFJob.kubeflow.org/v1"], {"tfReplicaSpecs": {"PS": {"replicas": 2}, "Chief": {}}}, 3),
        (KINDS["XGBoostJob.kubeflow.org/v1"], {"xgbReplicaSpecs": {"Worker": {"replicas": 2}}}, 2),
        (KINDS["PaddleJob.kubeflow.org/v1"], {"paddleReplicaSpecs": {"Worker": {"replicas": 2}}}, 2),
        (KINDS["JAXJob.kubeflow.org/v1"], {"jaxReplicaSpecs": {"Worker": {"replicas": 2}}}, 2),
        (KINDS["MXJob.kubeflow.org/v1"], {"mxReplicaSpecs": {"Worker": {"replicas": 2}}}, 2),
        (MPI, {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 4}}}, 4),
        (MPI_V1, {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 4}}}, 5),
        (MPI_V1, {"launcherCreationPolicy": "WaitForWorkersReady",
                  "mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 4}}}, 4),
        (RAY, {"workerGroupSpecs": [{"replicas": 2, "numOfHosts": 4}, {"replicas": 1}, {}]}, 10),
        (RAY, {"enableInTreeAutoscaling": True, "workerGroupSpecs": [{"replicas": 5, "minReplicas": 2}]}, 3),
        (RAY, {"workerGroupSpecs": [{"replicas": 9, "maxReplicas": 5}, {"replicas": 1, "minReplicas": 2}]}, 8),
        (RAY, {"workerGroupSpecs": [{"minReplicas": 2}, {"minReplicas": 3, "maxReplicas": 1}]}, 4),
        (RAY, {"workerGroupSpecs": [{"replicas": 9, "suspend": True}, {"replicas": 1}]}, 2),
        (RAY, {"enableInTreeAutoscaling": True, "workerGroupSpecs": [{"minReplicas": 2, "suspend": True}]}, 1),
        (RAY, {}, 1),
    ],
)  # fmt: skip
def test_pods_that_start_together(kind: Kind, spec: dict[str, Any], pods: int) -> None:
    found = facts(kind, spec)
    assert found is not None
    assert minimum(found) == pods


EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
BY_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"


@pytest.mark.parametrize(
    ("annotations", "of_the_first", "pods"),
    [
        ({EXCLUSIVE: "rack"}, {}, 6),
        ({EXCLUSIVE: "rack", BY_SELECTOR: "true"}, {}, 10),
        ({}, {EXCLUSIVE: "rack"}, 6),
        ({}, {EXCLUSIVE: "rack", BY_SELECTOR: "true"}, 10),
        ({"another": "rack"}, {}, 10),
    ],
)
def test_a_job_of_an_exclusive_domain_creates_one_pod_first(
    annotations: dict[str, str], of_the_first: dict[str, str], pods: int
) -> None:
    """JobSet refuses the other pods of the Job until the first one has a node."""
    spec = jobs((2, 3), (4, 1))
    spec["replicatedJobs"][0]["template"]["metadata"] = {"annotations": of_the_first}
    found = facts(JOB_SET, spec, annotations=annotations)
    assert found is not None
    assert minimum(found) == pods


def test_a_replica_in_an_exclusive_domain_creates_its_leader_first() -> None:
    spec = {"leaderWorkerTemplate": {"size": 4}}
    found = facts(LWS, spec, annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"})
    assert found is not None
    assert minimum(found) == 1


def minimum(found: OwnerFacts, *basic: str) -> int:
    """How many pods start together if these groups of kube-scheduler's own kind are basic, and no others."""
    return found.minimum(basic.__contains__)


def test_pods_that_name_a_native_group_are_waited_for_if_that_is_basic() -> None:
    """Then it takes no pod from the group of their owner."""
    named = {"template": {"spec": {"schedulingGroup": {"podGroupName": "g"}}}}
    spec = {"pytorchReplicaSpecs": {"Master": named, "Worker": {"replicas": 3, "template": {"spec": {}}}}}
    found = facts(PYTORCH, spec)
    assert found is not None
    assert minimum(found) == 3
    assert minimum(found, "podgroups.scheduling.k8s.io:other") == 3
    assert minimum(found, "podgroups.scheduling.k8s.io:g") == 4


ELSEWHERE: list[dict[str, Any]] = [
    {"metadata": {"annotations": {"reprieve.dev/gang": "false"}}},
    {"metadata": {"labels": {"reprieve.dev/pod-group": "g"}}},
    {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}},
    {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}},
    {"spec": {"schedulingGroup": {"podGroupName": "g"}}},
]


@pytest.mark.parametrize("template", ELSEWHERE)
def test_pods_that_belong_elsewhere_are_not_waited_for(template: dict[str, Any]) -> None:
    three = {"replicas": 3}
    apart: dict[str, Any] = {"template": template}
    together: dict[str, Any] = {"template": {"spec": {}}}
    job_set = jobs((1, 2), (1, 3))
    job_set["replicatedJobs"][0]["template"]["spec"] |= apart
    specs = [
        (JOB_SET, job_set, 3),
        (LWS, {"leaderWorkerTemplate": {"size": 4, "leaderTemplate": template, "workerTemplate": {}}}, 3),
        (LWS, {"leaderWorkerTemplate": {"size": 4, "leaderTemplate": {}, "workerTemplate": template}}, 1),
        (LWS, {"leaderWorkerTemplate": {"size": 4, "workerTemplate": template}}, 0),
        (PYTORCH, {"pytorchReplicaSpecs": {"Master": apart, "Worker": three | together}}, 3),
        (RAY, {"headGroupSpec": apart, "workerGroupSpecs": [three | together]}, 3),
        (RAY, {"headGroupSpec": together, "workerGroupSpecs": [three | apart]}, 1),
    ]
    for kind, spec, pods in specs:
        found = facts(kind, spec)
        assert found is not None
        assert minimum(found) == pods, kind.kind


@pytest.mark.parametrize(("least", "pods"), [(2, 2), (4, 4), (9, 4), (0, 0), (-1, -1), (None, 4)])
def test_a_training_job_says_how_many_are_enough(least: int | None, pods: int) -> None:
    """No gang waits for pods that nobody creates."""
    policy = {"runPolicy": {"schedulingPolicy": {"minAvailable": least}}}
    found = facts(PYTORCH, {"pytorchReplicaSpecs": {"Worker": {"replicas": 4}}, **policy})
    assert found is not None
    assert minimum(found) == pods


@pytest.mark.parametrize(
    ("status", "pods"),
    [({}, 4), ({"succeeded": 3}, 4), ({"succeeded": 5}, 3), ({"succeeded": 5, "failedIndexes": "1,3-4"}, 0)],
)
def test_the_end_of_a_job_has_fewer_pods(status: dict[str, Any], pods: int) -> None:
    found = facts(JOB, {"parallelism": 4, "completions": 8}, annotations=GANG, status=status)
    assert found is not None
    assert minimum(found) == pods


def test_a_job_without_the_annotation_is_not_kept() -> None:
    template = {"template": {"metadata": {"annotations": GANG}}}
    assert facts(JOB, {"parallelism": 2}) is None
    assert facts(JOB, {"parallelism": 2}, annotations={"reprieve.dev/gang": "false"}) is not None
    of_template = facts(JOB, {"parallelism": 2, **template})
    assert of_template is not None
    assert (of_template.said, minimum(of_template)) == (None, 2)


@pytest.mark.parametrize(("text", "said"), [("true", True), ("false", False), ("True", None), ("", None)])
def test_what_cannot_be_read_counts_as_absent(text: str, said: bool | None) -> None:
    found = facts(JOB_SET, {}, annotations={"reprieve.dev/gang": text, "other.example/x": "y"})
    assert found is not None
    assert found.said is said
    assert found.metadata.annotations == {"reprieve.dev/gang": text}


@pytest.mark.parametrize(
    ("text", "setting"), [("Gangs", "Gangs"), ("Off", "Off"), ("Victims", "Victims"), ("gangs", None)]
)
def test_an_owner_may_have_a_setting_of_its_own(text: str, setting: str | None) -> None:
    assert by_owner_of({"reprieve.dev/groups-by-owner": text}) == setting
    assert by_owner_of(None) is None
