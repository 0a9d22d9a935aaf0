"""Random manifests of every kind that a command reads, and which kinds are not compared with an API server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from hack.fidelity.selectors import ZONE, Json, selector
from hack.fidelity.written_pods import CLASSES, amounts, maybe, template, written_pod

__all__ = ["COMPARED", "NOT_COMPARED", "written"]

Kind = tuple[str, str]
Make = Callable[[Random, Json], Json]
"""From metadata to the rest of the manifest."""

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
RESOURCES: Final = ("cpu", "memory", "example.com/gpu")


def _node(random: Random, _: Json) -> Json:
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute", "value": "c"}]
    spec: Json = {}
    maybe(random, spec, 0.3, taints=lambda: taints[: random.randint(1, 2)], unschedulable=lambda: True)
    status: Json = {}
    maybe(random, status, 0.8, capacity=lambda: {**amounts(random, RESOURCES), "pods": "110"})
    maybe(random, status, 0.3, allocatable=lambda: {**amounts(random, RESOURCES), "pods": 100})
    maybe(random, status, 0.3, declaredFeatures=lambda: ["Feature"])
    return {"spec": spec, "status": status}


def _limit_range(random: Random, _: Json) -> Json:
    names = ("cpu", "memory")
    least, between, most = ("100m", "64Mi"), ("500m", "128Mi"), ("2", "2Gi")
    container: Json = {"type": "Container"}
    rows = {"max": most, "min": least, "default": between, "defaultRequest": least}
    for field, values in rows.items():
        chosen = {name: value for name, value in zip(names, values, strict=True) if random.random() < 0.5}
        maybe(random, container, 0.6, **{field: lambda chosen=chosen: chosen or None})
    maybe(random, container, 0.1, maxLimitRequestRatio=lambda: {"memory": 4})
    pod: Json = {"type": "Pod"}
    maybe(random, pod, 0.7, max=lambda: {"cpu": "4"}, min=lambda: {"memory": "100Mi"})
    claim: Json = {"type": "PersistentVolumeClaim", "min": {"storage": "1Mi"}}
    items = [each for each in (container, pod, claim) if random.random() < 0.7]
    return {"spec": {"limits": items or [container]}}


def _runtime_class(random: Random, _: Json) -> Json:
    found: Json = {"handler": "handler"}
    maybe(
        random, found, 0.5, overhead=lambda: {"podFixed": amounts(random, ("cpu", "memory")) or {"cpu": "1u"}}
    )
    tolerations = [{"key": "kata", "operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoExecute"}]
    maybe(
        random, found, 0.5, scheduling=lambda: {"nodeSelector": {"kata": "yes"}, "tolerations": tolerations}
    )
    return found


def _priority_class(random: Random, _: Json) -> Json:
    found: Json = {"value": random.randint(-10, 10)}
    maybe(random, found, 0.3, preemptionPolicy=lambda: random.choice(["Never", "PreemptLowerPriority"]))
    return found


def _claim_spec(random: Random) -> Json:
    spec: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5Gi"}}}
    maybe(
        random, spec, 0.3,
        storageClassName=lambda: "class",
        volumeMode=lambda: random.choice(["Block", "Filesystem"]),
        selector=lambda: selector(random),
        volumeName=lambda: "volume",
        volumeAttributesClassName=lambda: "attributes",
    )  # fmt: skip
    return spec


def _volume(random: Random, _: Json) -> Json:
    terms: list[Json] = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]
    if random.random() < 0.5:
        terms.append({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]})
    source: Json = random.choice(
        [
            {"csi": {"driver": "csi.example.com", "volumeHandle": "h"}},
            {"gcePersistentDisk": {"pdName": "disk"}},
            {"awsElasticBlockStore": {"volumeID": "vol"}},
            {"azureDisk": {"diskName": "d", "diskURI": "https://blob.example.com/d"}},
            {"cinder": {"volumeID": "c"}},
            {"portworxVolume": {"volumeID": "p"}},
            {"hostPath": {"path": "/p"}},
        ]
    )
    spec: Json = {"capacity": {"storage": "2.5Gi"}, "accessModes": ["ReadWriteOnce"], **source}
    maybe(
        random, spec, 0.3,
        storageClassName=lambda: "class",
        volumeMode=lambda: "Filesystem",
        nodeAffinity=lambda: {"required": {"nodeSelectorTerms": terms}},
        claimRef=lambda: {"namespace": "a", "name": "b", "uid": "c"},
    )  # fmt: skip
    if "csi" in source:
        maybe(random, spec, 0.3, volumeAttributesClassName=lambda: "attributes")
    return {"spec": spec}


def _storage_class(random: Random, _: Json) -> Json:
    found: Json = {"provisioner": "csi.example.com"}
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
    maybe(
        random, found, 0.4, volumeBindingMode=lambda: "WaitForFirstConsumer", allowedTopologies=lambda: terms
    )
    return found


def _csi_driver(random: Random, _: Json) -> Json:
    spec: Json = {}
    maybe(random, spec, 0.5, storageCapacity=lambda: True, preventPodSchedulingIfMissing=lambda: True)
    return {"spec": spec}


def _csi_node(random: Random, _: Json) -> Json:
    driver: Json = {"name": "csi.example.com", "nodeID": "n", "topologyKeys": []}
    maybe(random, driver, 0.5, allocatable=lambda: {"count": 5})
    return {"spec": {"drivers": [driver]}}


def _capacity(random: Random, _: Json) -> Json:
    found: Json = {"storageClassName": "class"}
    maybe(
        random, found, 0.5,
        capacity=lambda: "1.5Gi", maximumVolumeSize=lambda: 1024, nodeTopology=lambda: selector(random),
    )  # fmt: skip
    return found


def _job(random: Random, meta: Json) -> Json:
    labels = {"kueue.x-k8s.io/queue-name": "q", "app": "a"} if random.random() < 0.5 else {"app": "a"}
    spec: Json = {"template": template(random, labels, restarts="Never")}
    if random.random() < 0.3:
        meta["labels"] = {"own": "label"}
    maybe(random, spec, 0.4, parallelism=lambda: 2, completions=lambda: 4, backoffLimit=lambda: 3)
    maybe(random, spec, 0.2, suspend=lambda: True, managedBy=lambda: "example.com/manager")
    if "completions" in spec and random.random() < 0.5:
        spec["completionMode"] = "Indexed"
        maybe(random, spec, 0.6, backoffLimitPerIndex=lambda: 1)
    pattern: Json = {"type": "DisruptionTarget"}
    maybe(random, pattern, 0.5, status=lambda: "False")
    rules = [{"action": "Ignore", "onPodConditions": [pattern]}]
    maybe(random, spec, 0.3, podFailurePolicy=lambda: {"rules": rules})
    return {"spec": spec}


def _cron_job(random: Random, meta: Json) -> Json:
    template = {"spec": _job(random, {})["spec"]}
    spec: Json = {"schedule": "0 0 * * *", "jobTemplate": template}
    maybe(random, spec, 0.3, suspend=lambda: True)
    return {"spec": spec}


def _controller(random: Random, meta: Json) -> Json:
    found = _set(random, meta)
    found["spec"]["selector"] = {"app": "a"}
    maybe(random, meta, 0.5, labels=lambda: {"own": "label"})
    return found


def _set(random: Random, _: Json) -> Json:
    labels = {"app": "a"}
    spec: Json = {
        "selector": {"matchLabels": labels},
        "template": template(random, labels, restarts="Always"),
    }
    maybe(random, spec, 0.5, replicas=lambda: random.randint(0, 3))
    return {"spec": spec}


def _stateful_set(random: Random, meta: Json) -> Json:
    found = _set(random, meta)
    found["spec"]["serviceName"] = "s"
    return found


def _budget(random: Random, _: Json) -> Json:
    spec: Json = {}
    maybe(
        random, spec, 0.7, selector=lambda: selector(random), unhealthyPodEvictionPolicy=lambda: "AlwaysAllow"
    )
    spec |= random.choice([{"minAvailable": 1}, {"maxUnavailable": "25%"}, {"minAvailable": "50%"}])
    return {"spec": spec}


def _device_class(random: Random, _: Json) -> Json:
    spec: Json = {}
    maybe(random, spec, 0.5, extendedResourceName=lambda: "example.com/device")
    return {"spec": spec}


def _group(random: Random, _: Json) -> Json:
    policy: Json = random.choice([{"basic": {}}, {"gang": {"minCount": 2}}])
    spec: Json = {"schedulingPolicy": policy}
    maybe(
        random, spec, 0.4,
        disruptionMode=lambda: {"all": {}} if "gang" in policy and random.random() < 0.5 else {"single": {}},
        schedulingConstraints=lambda: {"topology": [{"key": ZONE}]},
        priorityClassName=lambda: CLASSES[0],
        preemptionPolicy=lambda: "Never",
    )  # fmt: skip
    return {"spec": spec}


def _resource_groups(random: Random) -> list[Json]:
    quota: Json = {"name": "cpu", "nominalQuota": random.choice(["1", 2, "1500m"])}
    maybe(random, quota, 0.3, borrowingLimit=lambda: "1", lendingLimit=lambda: 1)
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}]


def _cluster_queue(random: Random, _: Json) -> Json:
    spec: Json = {"resourceGroups": _resource_groups(random)}
    preemption: Json = {}
    check: Json = {"name": "check"}
    maybe(random, check, 0.5, onFlavors=lambda: ["f"])
    maybe(
        random, preemption, 0.5,
        withinClusterQueue=lambda: random.choice(["LowerPriority", "LowerOrNewerEqualPriority"]),
        reclaimWithinCohort=lambda: "Any",
        borrowWithinCohort=lambda: random.choice([{}, {"policy": "LowerPriority", "maxPriorityThreshold": 3}]),
    )  # fmt: skip
    maybe(
        random, spec, 0.4,
        cohortName=lambda: "cohort",
        namespaceSelector=lambda: selector(random),
        queueingStrategy=lambda: "StrictFIFO",
        stopPolicy=lambda: "Hold",
        preemption=lambda: preemption,
        flavorFungibility=lambda: random.choice(
            [{}, {"whenCanBorrow": "TryNextFlavor"}, {"whenCanPreempt": "TryNextFlavor"}]
        ),
        admissionChecksStrategy=lambda: {"admissionChecks": [check]},
        admissionScope=lambda: {"admissionMode": "NoAdmissionFairSharing"},
        fairSharing=lambda: random.choice([{}, {"weight": 2}]),
    )  # fmt: skip
    if "cohortName" not in spec:
        quota = spec["resourceGroups"][0]["flavors"][0]["resources"][0]
        quota.pop("borrowingLimit", None)
    if preemption.get("reclaimWithinCohort") is None:
        preemption.pop("borrowWithinCohort", None)
    return {"spec": spec}


def _cohort(random: Random, _: Json) -> Json:
    spec: Json = {}
    maybe(
        random, spec, 0.5,
        parentName=lambda: "parent", resourceGroups=lambda: _resource_groups(random),
        fairSharing=lambda: random.choice([{}, {"weight": "0.5"}]),
    )  # fmt: skip
    return {"spec": spec}


def _local_queue(random: Random, _: Json) -> Json:
    spec: Json = {"clusterQueue": "q"}
    maybe(
        random, spec, 0.4, stopPolicy=lambda: "Hold", fairSharing=lambda: random.choice([{}, {"weight": 2}])
    )
    return {"spec": spec}


def _flavor(random: Random, _: Json) -> Json:
    spec: Json = {}
    taint: Json = {"key": "a", "effect": "NoSchedule"}
    maybe(random, taint, 0.5, value=lambda: "v")
    third = {"key": "d", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    maybe(
        random, spec, 0.5,
        nodeLabels=lambda: {"a": "b"},
        nodeTaints=lambda: [taint],
        tolerations=lambda: [random.choice([{"key": "b", "operator": "Exists"}, {"key": "c", "value": "d"}, third])],
    )  # fmt: skip
    return {"spec": spec}


def _check(random: Random, _: Json) -> Json:
    spec: Json = {"controllerName": "example.com/checks"}
    maybe(random, spec, 0.4, parameters=lambda: {"apiGroup": "example.com", "kind": "P", "name": "p"})
    return {"spec": spec}


def _workload(random: Random, _: Json) -> Json:
    pods: Json = {"template": template(random, {"app": "a"}, restarts="Never")}
    pods["template"]["spec"].pop("resourceClaims", None)
    pods["name"] = "main"
    pods["count"] = random.randint(0, 3)
    where: Json = random.choice([{"required": ZONE}, {"preferred": ZONE}, {"unconstrained": True}])
    more: Json = {}
    maybe(random, more, 0.3, podIndexLabel=lambda: "index", podSetGroupName=lambda: "group")
    if random.random() < 0.3:
        more |= {"subGroupIndexLabel": "sub", "subGroupCount": 2}
    elif random.random() < 0.3:
        more |= {"podSetSliceRequiredTopology": ZONE, "podSetSliceSize": 1}
    maybe(random, pods, 0.3, topologyRequest=lambda: {**where, **more})
    if pods["count"] > 1:
        maybe(random, pods, 0.5, minCount=lambda: 1)
    maybe(
        random, pods["template"]["spec"], 0.2,
        priorityClassName=lambda: "high", runtimeClassName=lambda: "plain", nodeName=lambda: "node",
        overhead=lambda: {"cpu": "1"},
    )  # fmt: skip
    spec: Json = {"podSets": [pods]}
    maybe(
        random, spec, 0.4,
        queueName=lambda: "q", active=lambda: random.random() < 0.5, priority=lambda: 3,
        maximumExecutionTimeSeconds=lambda: 60,
    )  # fmt: skip
    return {"spec": spec}


def _workload_class(random: Random, _: Json) -> Json:
    found: Json = {"value": random.randint(-5, 5)}
    maybe(random, found, 0.3, description=lambda: "text")
    return found


COMPARED: Final[Mapping[Kind, Make]] = {
    ("v1", "Pod"): lambda random, meta: written_pod(random, meta["name"], meta["namespace"]),
    ("v1", "Node"): _node,
    ("v1", "Namespace"): lambda random, _: {},
    ("v1", "LimitRange"): _limit_range,
    ("v1", "ReplicationController"): _controller,
    ("v1", "PersistentVolume"): _volume,
    ("v1", "PersistentVolumeClaim"): lambda random, _: {"spec": _claim_spec(random)},
    ("apps/v1", "Deployment"): _set,
    ("apps/v1", "ReplicaSet"): _set,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("batch/v1", "CronJob"): _cron_job,
    ("batch/v1", "Job"): _job,
    ("node.k8s.io/v1", "RuntimeClass"): _runtime_class,
    ("policy/v1", "PodDisruptionBudget"): _budget,
    ("resource.k8s.io/v1", "DeviceClass"): _device_class,
    ("scheduling.k8s.io/v1", "PriorityClass"): _priority_class,
    ("storage.k8s.io/v1", "CSIDriver"): _csi_driver,
    ("storage.k8s.io/v1", "CSINode"): _csi_node,
    ("storage.k8s.io/v1", "CSIStorageCapacity"): _capacity,
    ("storage.k8s.io/v1", "StorageClass"): _storage_class,
    ("reprieve.dev/v1alpha1", "PodGroup"): _group,
    (KUEUE, "AdmissionCheck"): _check,
    (KUEUE, "ClusterQueue"): _cluster_queue,
    (KUEUE, "Cohort"): _cohort,
    (KUEUE, "LocalQueue"): _local_queue,
    (KUEUE, "ResourceFlavor"): _flavor,
    (KUEUE, "Workload"): _workload,
    (KUEUE, "WorkloadPriorityClass"): _workload_class,
}
"""By apiVersion and kind."""
WITHOUT_CRD: Final = "the CustomResourceDefinition is not installed here"
OF_A_PROGRAM: Final = "programs write them, and people do not"
NOT_COMPARED: Final[Mapping[Kind, str]] = {
    **dict.fromkeys(
        [
            ("jobset.x-k8s.io/v1alpha2", "JobSet"),
            ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
            *(("kubeflow.org/v1", f"{name}Job") for name in ("JAX", "MPI", "MX", "Paddle", "PyTorch", "TF", "XGBoost")),
            ("kubeflow.org/v2beta1", "MPIJob"),
            ("ray.io/v1", "RayCluster"),
            ("ray.io/v1", "RayJob"),
            ("ray.io/v1", "RayService"),
            ("scheduling.volcano.sh/v1beta1", "PodGroup"),
            ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
            ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"),
            ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
            ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"),
        ],
        WITHOUT_CRD,
    ),
    **dict.fromkeys(
        [("scheduling.k8s.io/v1", "PodGroup"), ("scheduling.k8s.io/v1beta1", "PodGroup")],
        "no API server serves them by default",
    ),
    **dict.fromkeys(
        [
            ("v1", "Event"),
            ("coordination.k8s.io/v1", "Lease"),
            ("kueue.x-k8s.io/v1beta2", "MultiKueueCluster"),
            ("reprieve.dev/v1alpha1", "ClusterPreemptionPlan"),
            ("reprieve.dev/v1alpha1", "DispatchPlan"),
            ("reprieve.dev/v1alpha1", "PreemptionPlan"),
            ("reprieve.dev/v1alpha1", "PreemptionReport"),
        ],
        OF_A_PROGRAM,
    ),
}  # fmt: skip
"""Kinds that commands read, and why they are not compared."""


def written(random: Random, kind: Kind, name: str, namespace: str) -> Json:
    """A manifest of the kind. `namespace`: empty for a kind without."""
    meta: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {})}
    rest = COMPARED[kind](random, meta)
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": meta, **rest}
