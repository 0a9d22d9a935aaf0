"""Random pods and pod templates as people write them: most fields are left out, so that an API server fills them in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from hack.fidelity.selectors import HOSTNAME, RACK, ZONE, Json, pod_term, requirement, selector

__all__ = ["CLASSES", "RUNTIMES", "amounts", "maybe", "pod_spec", "template", "written_pod"]

GPU: Final = "example.com/gpu"
HUGE: Final = "hugepages-2Mi"
CLASSES: Final = ("high", "never")
"""PriorityClasses that exist where pods are compared."""
RUNTIMES: Final = ("plain", "heavy", "placed", "missing")
"""RuntimeClasses. The last one does not exist."""
AMOUNTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "cpu": ("1", "250m", 2, "0.5", "1.5", "0.0004", "100u", "1e-1", "1000m"),
    "memory": ("1Gi", "512Mi", "1e9", 1073741824, "1.5Gi", "128974848", "400m"),
    "ephemeral-storage": ("1Gi", "2G"),
    GPU: ("1", 2, "8"),
    HUGE: ("2Mi", "4Mi"),
}


OF_PODS: Final[Mapping[str, tuple[Any, ...]]] = {
    "cpu": ("20", "30500m"),
    "memory": ("20Gi", "3e10"),
    HUGE: ("64Mi", "128Mi"),
}
"""What whole pods have: more than their containers."""


def maybe(random: Random, thing: Json, chance: float, **fields: Callable[[], Any]) -> None:
    """Set each of the fields with this chance. A value of None leaves the field out."""
    for name, make in fields.items():
        if random.random() < chance and (value := make()) is not None:
            thing[name] = value


def amounts(random: Random, names: tuple[str, ...], values: Mapping[str, tuple[Any, ...]] = AMOUNTS) -> Json:
    """Quantities of some of the resources."""
    chosen = random.sample(names, random.randint(0, len(names)))
    return {name: random.choice(values[name]) for name in chosen}


def written_pod(random: Random, name: str, namespace: str) -> Json:
    """A pod without a node."""
    spec = pod_spec(random)
    spec["automountServiceAccountToken"] = False
    maybe(random, spec, 0.2, priorityClassName=lambda: random.choice(CLASSES), nodeName=lambda: "node")
    if "priorityClassName" not in spec:
        maybe(random, spec, 0.1, preemptionPolicy=lambda: "PreemptLowerPriority")
    if "nodeName" in spec:  # pods with gates have no node
        spec.pop("schedulingGates", None)
    maybe(random, spec, 0.15, runtimeClassName=lambda: random.choice(RUNTIMES))
    maybe(random, spec, 0.05, overhead=lambda: {"cpu": "100m"})
    meta: Json = {"name": name, "namespace": namespace}
    maybe(random, meta, 0.7, labels=lambda: {"app": random.choice("ab"), "rev": random.choice("12")})
    maybe(random, meta, 0.2, annotations=lambda: {"a": "b"})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def template(random: Random, labels: Json, *, restarts: str | None = None) -> Json:
    """A pod template with these labels. `restarts`: its restartPolicy."""
    spec = pod_spec(random)
    if restarts is not None:
        spec["restartPolicy"] = restarts
    return {"metadata": {"labels": labels}, "spec": spec}


def pod_spec(random: Random) -> Json:
    """The spec of a pod of one to four containers."""
    spec: Json = {"containers": [_container(random, f"c{number}") for number in range(random.randint(1, 2))]}
    maybe(
        random, spec, 0.3,
        initContainers=lambda: [_init(random, f"i{number}") for number in range(random.randint(1, 2))],
        tolerations=lambda: [_toleration(random) for _ in range(random.randint(1, 2))],
        affinity=lambda: _affinity(random),
        topologySpreadConstraints=lambda: [_spread(random)],
        volumes=lambda: [_volume(random, f"v{number}") for number in range(random.randint(1, 2))],
        nodeSelector=lambda: {ZONE: "a"},
    )  # fmt: skip
    maybe(
        random, spec, 0.15,
        hostNetwork=lambda: True,
        schedulerName=lambda: "other-scheduler",
        serviceAccountName=lambda: "default",
        terminationGracePeriodSeconds=lambda: random.choice([0, 60, -5]),
        schedulingGates=lambda: [{"name": "example.com/wait"}],
        resourceClaims=lambda: [{"name": "claim", "resourceClaimName": "claim"}],
    )  # fmt: skip
    if random.random() < 0.25:
        spec["resources"] = _of_pod(random)
    if spec.get("hostNetwork"):
        _unique_ports(spec)
    elif random.random() < 0.05:
        spec["hostUsers"] = True
    if "resourceClaims" in spec and random.random() < 0.5:
        user = random.choice([*spec["containers"], *spec.get("initContainers", [])])
        user.setdefault("resources", {})["claims"] = [{"name": "claim", "request": "r"}]
    return spec


def _container(random: Random, name: str) -> Json:
    container: Json = {"name": name, "image": "example.com/image"}
    maybe(random, container, 0.7, resources=lambda: _resources(random, (*AMOUNTS,)))
    maybe(
        random,
        container,
        0.4,
        ports=lambda: [_port(random, number) for number in range(random.randint(1, 2))],
    )
    return container


def _init(random: Random, name: str) -> Json:
    container = _container(random, name)
    maybe(random, container, 0.4, restartPolicy=lambda: "Always")
    return container


def _of_pod(random: Random) -> Json:
    found: Json = {}
    maybe(random, found, 0.8, limits=lambda: amounts(random, (*OF_PODS,), OF_PODS) or None)
    wanted = [name for name in found.get("limits", ()) if random.random() < 0.3 and name != HUGE]
    if wanted:
        found["requests"] = {name: found["limits"][name] for name in wanted}
    if HUGE in found.get("limits", ()):
        found["limits"].setdefault("cpu", "30")
    return found


def _resources(random: Random, names: tuple[str, ...]) -> Json:
    """Requests are at most their limits, and some resources may have one of the two only. Devices and huge pages
    need a limit, and huge pages something else besides."""
    limits, requests = amounts(random, names), Json()
    if not limits.keys() & {"cpu", "memory"}:
        limits.pop(HUGE, None)
    for name in names:
        if name in (GPU, HUGE):
            continue
        if name not in limits and random.random() < 0.2:
            requests[name] = random.choice(AMOUNTS[name])
        elif name in limits and random.random() < 0.3:
            requests[name] = "0" if random.random() < 0.2 else limits[name]
    found: Json = {}
    maybe(random, found, 0.95, limits=lambda: limits or None)
    maybe(random, found, 0.95 if "limits" in found else 0, requests=lambda: requests or None)
    return found


def _port(random: Random, number: int) -> Json:
    port: Json = {"containerPort": 8000 + random.randrange(900) + number * 1000}
    maybe(random, port, 0.3, protocol=lambda: random.choice(["TCP", "UDP"]))
    if random.random() < 0.2:
        port["hostPort"] = port["containerPort"]
        maybe(random, port, 0.5, hostIP=lambda: "10.0.0.1")
    return port


def _unique_ports(spec: Json) -> None:
    """With hostNetwork the host port is the container port, and no two containers may have the same."""
    number = 9000
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        for port in container.get("ports", []):
            port["containerPort"] = number = number + 1
            if "hostPort" in port:
                port["hostPort"] = number


def _toleration(random: Random) -> Json:
    toleration: Json = random.choice(
        [
            {"operator": "Exists"},
            {"key": "a", "value": "b"},
            {"key": "a", "operator": "Exists"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoSchedule"},
        ]
    )
    found = dict(toleration)
    if "effect" not in found:
        maybe(random, found, 0.5, effect=lambda: random.choice(["NoSchedule", "NoExecute"]))
    if found.get("effect") == "NoExecute":
        maybe(random, found, 0.5, tolerationSeconds=lambda: 60)
    return found


def _affinity(random: Random) -> Json:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity: Json = {}
    terms = [{"matchExpressions": [requirement(random)]}]
    if random.random() < 0.3:
        terms.append({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]})
    maybe(random, affinity, 0.5, nodeAffinity=lambda: {required: {"nodeSelectorTerms": terms}})
    for kind in ("podAffinity", "podAntiAffinity"):
        if random.random() < 0.5:
            affinity[kind] = {required: [_with_keys(random, pod_term(random, (HOSTNAME, ZONE, RACK)))]}
    return affinity


def _with_keys(random: Random, term: Json) -> Json:
    if term.get("labelSelector") == {"matchLabels": {"app": "web"}}:
        maybe(random, term, 0.5, matchLabelKeys=lambda: ["rev"])
        if "matchLabelKeys" not in term:
            maybe(random, term, 0.5, mismatchLabelKeys=lambda: ["rev"])
    return term


def _spread(random: Random) -> Json:
    constraint: Json = {
        "topologyKey": ZONE,
        "maxSkew": random.choice([1, 2]),
        "whenUnsatisfiable": "DoNotSchedule",
    }
    maybe(random, constraint, 0.8, labelSelector=lambda: selector(random))
    maybe(
        random, constraint, 0.3,
        minDomains=lambda: 2,
        nodeAffinityPolicy=lambda: random.choice(["Honor", "Ignore"]),
        nodeTaintsPolicy=lambda: random.choice(["Honor", "Ignore"]),
    )  # fmt: skip
    if constraint.get("labelSelector") == {"matchLabels": {"app": "web"}}:
        maybe(random, constraint, 0.5, matchLabelKeys=lambda: ["rev"])
    return constraint


def _volume(random: Random, name: str) -> Json:
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    sources: list[Json] = [
        {},
        {"emptyDir": {}},
        {"persistentVolumeClaim": {"claimName": "data"}},
        {"ephemeral": {"volumeClaimTemplate": claim}},
        {"rbd": {"monitors": ["m"], "image": "i"}},
        {"rbd": {"monitors": ["m"], "image": "i", "pool": "p", "readOnly": True}},
        {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:a", "lun": 0, "readOnly": True}},
        {"gcePersistentDisk": {"pdName": "disk"}},
        {"gcePersistentDisk": {"pdName": "disk", "readOnly": True}},
        {"awsElasticBlockStore": {"volumeID": "vol"}},
        {"azureDisk": {"diskName": "d", "diskURI": "https://blob.example.com/d"}},
        {"cinder": {"volumeID": "c"}},
        {"portworxVolume": {"volumeID": "p"}},
        {"hostPath": {"path": "/p"}},
        {"configMap": {"name": "c"}},
    ]  # fmt: skip
    return {"name": name, **random.choice(sources)}
