"""Random clusters: few nodes, few pods, and so few names that everything meets everything.

Objects are JSON values as an API server sends them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from api.groups import POD_GROUP_LABEL
from hack.fidelity.configurations import PROFILES, add_selectors, configuration
from hack.fidelity.selectors import (
    APPS,
    HOSTNAME,
    NAMESPACES,
    RACK,
    ZONE,
    Json,
    pod_term,
    requirement,
    selector,
)
from hack.fidelity.volumes import add_volumes
from hack.fidelity.world import Step, World

__all__ = ["FAMILIES", "GROUP", "random_world"]

GROUP: Final = "gang"


def random_world(random: Random, family: str | None = None) -> World:
    """A cluster that is full of one family of features, or of all of them."""
    family = family if family is not None else random.choice([*FAMILIES, "all"])
    nodes = [_node(random, f"n{number}") for number in range(random.randint(2, 6))]
    pods = [
        _pod(random, f"p{number}", node=random.choice(nodes)["metadata"]["name"])
        for number in range(random.randint(0, 10))
    ]
    members = [_member(random, number) for number in range(random.randint(1, 4))]
    namespaces = [{"metadata": {"name": name, "labels": labels}} for name, labels in NAMESPACES.items()]
    world = World(
        family, nodes, pods, members, {"namespaces": namespaces}, _steps(random, nodes, pods, members)
    )
    for name, decorate in FAMILIES.items():
        if family == name or (family == "all" and random.random() < 0.4):
            decorate(random, world)
    return world


def _steps(random: Random, nodes: list[Json], pods: list[Json], members: list[Json]) -> list[Step]:
    """Ask about each member; then some pods go, and the members are asked about and placed one after the other."""
    names = [node["metadata"]["name"] for node in nodes]
    going = [pod["metadata"]["name"] for pod in pods if random.random() < 0.4]
    asked = [Step([], member["metadata"]["name"]) for member in members]
    placed = [Step([], member["metadata"]["name"], random.choice(names)) for member in members]
    return [*asked, Step(going), *placed]


def _node(random: Random, name: str) -> Json:
    labels = {HOSTNAME: name, ZONE: random.choice("ab"), RACK: random.choice("xyz")}
    amounts = {"cpu": str(random.choice([2, 4, 8])), "memory": "8Gi", "pods": "20"}
    return {
        "metadata": {"name": name, "labels": labels, "uid": f"uid-{name}"},
        "spec": {},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def _pod(random: Random, name: str, *, node: str = "", namespace: str | None = None) -> Json:
    namespace = namespace or random.choice([*NAMESPACES])
    labels = {"app": random.choice(APPS)} | ({"rev": random.choice("12")} if random.random() < 0.5 else {})
    container: Json = {"name": "main", "image": "x"}
    if random.random() < 0.5:
        container["resources"] = {"requests": {"cpu": random.choice(["100m", "500m", "1"])}}
    spec: Json = {"containers": [container], "priority": 0, "schedulerName": "default-scheduler"}
    if node:
        spec["nodeName"] = node
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "labels": labels,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running" if node else "Pending"}}


def _member(random: Random, number: int) -> Json:
    pod = _pod(random, f"m{number}", namespace="default")
    pod["metadata"]["labels"][POD_GROUP_LABEL] = GROUP
    pod["spec"]["priority"] = 100
    return pod


# ---- one function for each family: it decorates a world


def _resources(random: Random, world: World) -> None:
    for node in world.nodes:
        for resource in ("example.com/gpu", "ephemeral-storage"):
            if random.random() < 0.7:
                node["status"]["allocatable"][resource] = str(random.randint(0, 4))
        if random.random() < 0.3:
            node["status"]["allocatable"]["pods"] = str(random.randint(0, 3))
    for pod in [*world.pods, *world.members]:
        requests: Json = {}
        for resource, amounts in (
            ("cpu", ("0", "1", "1500m", "3")),
            ("memory", ("1Gi", "5Gi", "100")),
            ("example.com/gpu", ("0", "1", "2")),
            ("ephemeral-storage", ("1", "2")),
        ):
            if random.random() < 0.4:
                requests[resource] = random.choice(amounts)
        pod["spec"]["containers"][0]["resources"] = {"requests": requests}
        if random.random() < 0.3:
            extra: Json = {
                "name": "init",
                "image": "x",
                "resources": {"requests": {"cpu": random.choice("123")}},
            }
            if random.random() < 0.5:
                extra["restartPolicy"] = "Always"
            pod["spec"]["initContainers"] = [extra]
        if random.random() < 0.2:
            pod["spec"]["overhead"] = {"cpu": "500m"}
        if random.random() < 0.2:
            pod["spec"]["resources"] = {"requests": {"cpu": random.choice("234")}}


def _taints(random: Random, world: World) -> None:
    keys, values, effects = ("a", "b"), ("", "1", "2"), ("NoSchedule", "NoExecute", "PreferNoSchedule")
    for node in world.nodes:
        node["spec"]["taints"] = [
            {"key": key, "value": random.choice(values), "effect": random.choice(effects)}
            for key in random.sample(keys, random.randint(0, 2))
        ]
        if random.random() < 0.25:
            node["spec"]["unschedulable"] = True
    for member in world.members:
        tolerations = []
        for _ in range(random.randint(0, 3)):
            toleration: Json = {}
            if random.random() < 0.8:
                toleration["key"] = random.choice([*keys, "node.kubernetes.io/unschedulable"])
            operator = random.choice(["Exists", "Equal", None]) if "key" in toleration else "Exists"
            if operator is not None:
                toleration["operator"] = operator
            if operator != "Exists":
                toleration["value"] = random.choice(values)
            if random.random() < 0.5:
                toleration["effect"] = random.choice(effects)
            tolerations.append(toleration)
        member["spec"]["tolerations"] = tolerations


def _node_affinity(random: Random, world: World) -> None:
    for node in world.nodes:
        node["metadata"]["labels"] |= {"size": random.choice(["1", "5", "10", "x"])}
    for member in world.members:
        if random.random() < 0.3:
            member["spec"]["nodeSelector"] = {ZONE: random.choice("abc")}
        if random.random() < 0.8:
            terms = [_node_term(random, world) for _ in range(random.randint(1, 2))]
            affinity = member["spec"].setdefault("affinity", {})
            affinity["nodeAffinity"] = {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }


def _node_term(random: Random, world: World) -> Json:
    term: Json = {}
    if random.random() < 0.8:
        term["matchExpressions"] = [requirement(random) for _ in range(random.randint(1, 2))]
    if random.random() < 0.3:
        names = [node["metadata"]["name"] for node in world.nodes]
        operator = random.choice(["In", "NotIn"])
        term["matchFields"] = [
            {"key": "metadata.name", "operator": operator, "values": [random.choice(names)]}
        ]
    return term


def _ports(random: Random, world: World) -> None:
    for pod in [*world.pods, *world.members]:
        ports = []
        for _ in range(random.choice([0, 1, 1, 2])):
            number = random.choice([80, 81])
            port: Json = {"containerPort": number, "hostPort": number}
            if random.random() < 0.5:
                port["hostIP"] = random.choice(["0.0.0.0", "127.0.0.1", "10.0.0.1", ""])  # noqa: S104
            if random.random() < 0.5:
                port["protocol"] = random.choice(["TCP", "UDP"])
            ports.append(port)
        where = pod["spec"]["containers"][0]
        if random.random() < 0.2:
            where = {"name": "side", "image": "x"}
            if random.random() < 0.5:
                where["restartPolicy"] = "Always"
            pod["spec"]["initContainers"] = [*pod["spec"].get("initContainers", []), where]
        where["ports"] = ports


def _pod_terms(random: Random, pod: Json, kind: str, keys: tuple[str, ...], chance: float) -> None:
    if random.random() < chance:
        terms = [pod_term(random, keys) for _ in range(random.choice([1, 1, 2]))]
        affinity = pod["spec"].setdefault("affinity", {})
        affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def _host_anti_affinity(random: Random, world: World) -> None:
    for pod in [*world.pods, *world.members]:
        _pod_terms(random, pod, "podAntiAffinity", (HOSTNAME,), 0.5)


def _anti_affinity(random: Random, world: World) -> None:
    _drop_labels(random, world)
    for pod in [*world.pods, *world.members]:
        _pod_terms(random, pod, "podAntiAffinity", (HOSTNAME, ZONE, RACK), 0.4)


def _affinity(random: Random, world: World) -> None:
    _drop_labels(random, world)
    for pod in [*world.pods, *world.members]:
        _pod_terms(random, pod, "podAffinity", (HOSTNAME, ZONE, RACK), 0.6)


def _drop_labels(random: Random, world: World) -> None:
    """Some nodes lack a topology label, and some share a host name."""
    for node in world.nodes:
        if random.random() < 0.15:
            node["metadata"]["labels"].pop(random.choice((HOSTNAME, ZONE, RACK)), None)
        if random.random() < 0.05:
            node["metadata"]["labels"][HOSTNAME] = "n0"


def _spread(random: Random, world: World) -> None:
    _drop_labels(random, world)
    for node in world.nodes:
        if random.random() < 0.2:
            node["spec"]["taints"] = [{"key": "t", "effect": "NoSchedule"}]
    for member in world.members:
        if random.random() < 0.3:
            member["spec"]["nodeSelector"] = {ZONE: random.choice("ab")}
        if random.random() < 0.2:
            member["spec"]["tolerations"] = [{"key": "t", "operator": "Exists"}]
        keys = random.sample([HOSTNAME, ZONE, RACK], random.choice([0, 1, 1, 2]))
        member["spec"]["topologySpreadConstraints"] = [_constraint(random, key) for key in keys]


def _constraint(random: Random, key: str) -> Json:
    constraint: Json = {
        "topologyKey": key,
        "maxSkew": random.choice([1, 1, 2]),
        "whenUnsatisfiable": random.choice(
            ["DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]
        ),
    }
    if (chosen := selector(random)) is not None:
        constraint["labelSelector"] = chosen
    if random.random() < 0.3 and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = random.choice([1, 2, 3])
    for field_name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if random.random() < 0.4:
            constraint[field_name] = random.choice(["Honor", "Ignore"])
    if random.random() < 0.3 and "labelSelector" in constraint:
        constraint["matchLabelKeys"] = ["rev"]
    return constraint


def _features(random: Random, world: World) -> None:
    names = [
        "RestartAllContainersOnContainerExits",
        "UserNamespacesHostNetworkSupport",
        "VolumeBindMountOptions",
    ]
    for node in world.nodes:
        node["status"]["declaredFeatures"] = sorted(random.sample([*names, "Unknown"], random.randint(0, 4)))
    for member in world.members:
        spec = member["spec"]
        container = random.choice([spec["containers"][0], {"name": "first", "image": "x"}])
        if container["name"] == "first":
            spec["initContainers"] = [*spec.get("initContainers", []), container]
        if random.random() < 0.3:
            spec["hostNetwork"] = random.random() < 0.8
            spec["hostUsers"] = random.random() < 0.3
        if random.random() < 0.3:
            action = random.choice(["Restart", "RestartAllContainers"])
            exits = {"operator": "In", "values": [1]}
            container["restartPolicyRules"] = [{"action": action, "exitCodes": exits}]
        if random.random() < 0.3:
            mount: Json = {"name": "v", "mountPath": "/v"}
            if random.random() < 0.7:
                mount["bindMountOptions"] = ["noexec"]
            container["volumeMounts"] = [mount]


def _profile(random: Random, world: World) -> None:
    others = [each for each in FAMILIES.values() if each is not _profile]
    for decorate in random.sample(others, 3):
        decorate(random, world)
    world.configuration = configuration(Random(random.randrange(PROFILES)))  # noqa: S311 - no secret
    add_selectors(random, world)


FAMILIES: Final[dict[str, Callable[[Random, World], None]]] = {
    "resources": _resources,
    "taints": _taints,
    "node affinity": _node_affinity,
    "host ports": _ports,
    "host name anti-affinity": _host_anti_affinity,
    "anti-affinity": _anti_affinity,
    "affinity": _affinity,
    "spread": _spread,
    "declared features": _features,
    "volumes": add_volumes,
    "profile": _profile,
}
