"""Decoding what API servers send and people write."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.meta import List

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}],
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "o"}],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "pause",
                "resources": {"requests": {"cpu": "100m", "memory": 1024, "x/y": 0.5, "z/z": None}},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}],
            }
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}],
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
                ]
            },
        },
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "b", "awsElasticBlockStore": {"volumeID": "x"}},
            {"name": "c", "configMap": {"name": "cm"}},
        ],
        "schedulingGroup": {"podGroupName": "native"},
        "tolerations": None,
    },
    "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]},
}


def test_pod() -> None:
    pod = msgspec.json.decode(msgspec.json.encode(POD), type=Pod)
    (container,) = pod.spec.containers or []
    assert container.resources is not None
    assert container.resources.requests == {"cpu": "100m", "memory": 1024, "x/y": 0.5, "z/z": None}
    (port,) = container.ports or []
    assert port.host_port == 8080
    affinity = pod.spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.node_affinity.required is not None
    assert affinity.pod_anti_affinity is not None
    (term,) = affinity.pod_anti_affinity.required or []
    assert term.topology_key == "zone"
    claim, disk, other = pod.spec.volumes or []
    assert claim.persistent_volume_claim is not None
    assert disk.aws_elastic_block_store is not None
    assert {name for name in msgspec.structs.asdict(other) if getattr(other, name) is not None} == {"name"}
    assert pod.spec.scheduling_group is not None
    assert pod.spec.scheduling_group.pod_group_name == "native"
    assert pod.spec.tolerations is None


def test_lists() -> None:
    body = {
        "kind": "PodList",
        "metadata": {"resourceVersion": "7", "continue": "token", "remainingItemCount": 3},
        "items": [POD],
    }
    pods = msgspec.json.decode(msgspec.json.encode(body), type=List[Pod])
    assert (pods.metadata.resource_version, pods.metadata.continue_) == ("7", "token")
    assert [pod.metadata.name for pod in pods.items] == ["p"]


def test_nodes_budgets_and_classes() -> None:
    node = msgspec.convert(
        {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}, Node
    )
    assert [taint.key for taint in node.spec.taints or ()] == ["k"]
    budget = msgspec.convert(
        {
            "metadata": {"name": "b", "generation": 2},
            "spec": {"selector": {}, "minAvailable": "50%"},
            "status": {"disruptionsAllowed": 1, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}},
        },
        PodDisruptionBudget,
    )
    assert budget.spec.selector is not None
    assert budget.status is not None
    assert (budget.status.disruptions_allowed, list(budget.status.disrupted_pods or ())) == (1, ["p"])
    high = msgspec.convert({"metadata": {"name": "h"}, "value": 5, "globalDefault": True}, PriorityClass)
    assert (high.value, high.global_default, high.preemption_policy) == (5, True, None)


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"spec": {}}, "metadata"),
        ({"metadata": {"name": "p"}, "spec": {"priority": 2**31}}, r"\$\.spec\.priority"),
        ({"metadata": {"name": "p"}, "spec": {"containers": [{}]}}, r"containers\[0\]"),
        (
            {
                "metadata": {"name": "p"},
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": []}}}]},
            },
            "requests",
        ),
    ],
)
def test_faults_are_named(document: dict[str, Any], where: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=where):
        msgspec.convert(document, Pod)


def test_an_empty_list_may_have_null_items() -> None:
    assert (
        msgspec.json.decode(b'{"metadata":{"resourceVersion":"7"},"items":null}', type=List[Pod]).items == []
    )
