"""A cluster read from plain JSON objects, with none of the engine's code: what the checker holds plans against."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

Object = Mapping[str, Any]
Amounts = dict[str, int]

GROUP_LABEL: Final = "reprieve.dev/pod-group"
OUR_GATE: Final = "reprieve.dev/gang"
SUFFIXES: Final = {
    "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
}  # fmt: skip


def amount(resource: str, quantity: str | int) -> int:
    """Milli for cpu, whole units for the rest, rounded up."""
    text = str(quantity)
    digits = text.rstrip("".join(SUFFIXES))
    value = Fraction(digits) * SUFFIXES[text[len(digits) :]]
    return math.ceil(value * 1000 if resource == "cpu" else value)


def plus(*several: Mapping[str, int]) -> Amounts:
    total: Amounts = defaultdict(int)
    for amounts in several:
        for resource, value in amounts.items():
            total[resource] += value
    return dict(total)


def _container(container: Object) -> Amounts:
    requests = (container.get("resources") or {}).get("requests") or {}
    return {resource: amount(resource, quantity) for resource, quantity in requests.items()}


def requests_of(pod: Object) -> Amounts:
    """Containers and sidecars together, or what the init containers need in their turn; overhead; one pod."""
    spec = pod["spec"]
    running = plus(*(_container(c) for c in spec["containers"]))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            sidecars = plus(sidecars, _container(container))
            now = sidecars
        else:
            now = plus(sidecars, _container(container))
        peak = {r: max(peak.get(r, 0), now.get(r, 0)) for r in peak | now}
    running = plus(running, sidecars)
    most = {r: max(running.get(r, 0), peak.get(r, 0)) for r in running | peak}
    overhead = {r: amount(r, q) for r, q in (spec.get("overhead") or {}).items()}
    return plus(most, overhead, {"pods": 1})


def _expression(expression: Object, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case operator:
            raise ValueError(operator)


def selects(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """policy/v1: no selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(k) == v for k, v in wanted.items()) and all(
        _expression(e, labels) for e in selector.get("matchExpressions") or []
    )


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def admits(pod: Object, node: Object) -> bool:
    """NodeUnschedulable, TaintToleration and NodeAffinity."""
    spec, labels = pod["spec"], node["metadata"].get("labels") or {}
    tolerations = spec.get("tolerations") or []
    taints = list(node.get("spec", {}).get("taints") or [])
    if node.get("spec", {}).get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    hard = [taint for taint in taints if taint["effect"] in ("NoSchedule", "NoExecute")]
    if any(not any(_tolerates(toleration, taint) for toleration in tolerations) for taint in hard):
        return False
    if any(labels.get(k) != v for k, v in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    terms = [term.get("matchExpressions") or [] for term in required["nodeSelectorTerms"]]
    return any(term and all(_expression(e, labels) for e in term) for term in terms)


@dataclass(frozen=True)
class Unit:
    """What may be evicted, whole."""

    kind: str
    namespace: str
    name: str
    priority: int
    pods: tuple[tuple[str, str], ...]
    start: str


@dataclass
class Cluster:
    """Pods by (namespace, name); ended ones are left out, and of those that Succeeded the metadata is kept."""

    nodes: dict[str, Object] = field(default_factory=dict)
    pods: dict[tuple[str, str], Object] = field(default_factory=dict)
    groups: dict[tuple[str, str], Object] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    budgets: list[Object] = field(default_factory=list)
    succeeded: list[Object] = field(default_factory=list)

    @classmethod
    def of(cls, objects: Iterable[Object]) -> Cluster:
        cluster = cls()
        for item in objects:
            meta = item["metadata"]
            key = (meta.get("namespace", ""), meta["name"])
            match item["kind"]:
                case "Node":
                    cluster.nodes[meta["name"]] = item
                case "Pod":
                    phase = item.get("status", {}).get("phase")
                    if phase == "Succeeded":
                        cluster.succeeded.append(meta)
                    elif phase != "Failed":
                        cluster.pods[key] = item
                case "PodGroup":
                    cluster.groups[key] = item
                case "PriorityClass":
                    cluster.classes[meta["name"]] = item["value"]
                case "PodDisruptionBudget":
                    cluster.budgets.append(item)
                case _:
                    raise ValueError(item["kind"])
        return cluster

    def group_of(self, pod: Object) -> Object | None:
        meta = pod["metadata"]
        name = (meta.get("labels") or {}).get(GROUP_LABEL)
        return self.groups.get((meta["namespace"], name)) if name else None

    def group_priority(self, group: Object) -> int:
        spec = group["spec"]
        if spec.get("priority") is not None:
            return int(spec["priority"])
        return self.classes[spec["priorityClassName"]] if spec.get("priorityClassName") else 0

    @cached_property
    def requests(self) -> dict[tuple[str, str], Amounts]:
        return {key: requests_of(pod) for key, pod in self.pods.items()}

    def stays(self, key: tuple[str, str]) -> bool:
        pod = self.pods[key]
        return bool(pod["spec"].get("nodeName")) and not pod["metadata"].get("deletionTimestamp")

    def on(self, node: str) -> list[tuple[str, str]]:
        """Pods that run there and stay, if nobody evicts them."""
        return self._by_node[node]

    @cached_property
    def _by_node(self) -> dict[str, list[tuple[str, str]]]:
        by_node: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for key, pod in self.pods.items():
            if self.stays(key):
                by_node[pod["spec"]["nodeName"]].append(key)
        return by_node

    @cached_property
    def units(self) -> dict[tuple[str, str, str], Unit]:
        """Everything that runs, whatever its priority."""
        members: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
        for key, pod in self.pods.items():
            if self.stays(key):
                group = self.group_of(pod)
                whole = group is not None and "all" in (group["spec"].get("disruptionMode") or {})
                name = group["metadata"]["name"] if group is not None and whole else key[1]
                members[("PodGroup" if whole else "Pod", key[0], name)].append(key)
        units = {}
        for (kind, namespace, name), keys in members.items():
            pod = self.pods[keys[0]]
            group = self.group_of(pod)
            own = min(self.pods[each]["spec"].get("priority") or 0 for each in keys)
            priority = own if group is None else self.group_priority(group)
            priority = min(own, priority) if kind == "PodGroup" else priority
            start = min(self.pods[k]["status"].get("startTime") or "" for k in keys)
            units[(kind, namespace, name)] = Unit(kind, namespace, name, priority, tuple(sorted(keys)), start)
        return units

    def mirrored(self, unit: Unit) -> bool:
        annotations = (self.pods[key]["metadata"].get("annotations") or {} for key in unit.pods)
        return any("kubernetes.io/config.mirror" in each for each in annotations)

    def room(self, gone: Iterable[tuple[str, str]] = ()) -> dict[str, Amounts]:
        """Per node, allocatable minus everything that neither terminates nor is in `gone`."""
        away = set(gone)
        room = {
            name: {r: amount(r, q) for r, q in node["status"]["allocatable"].items()}
            for name, node in self.nodes.items()
        }
        for key, pod in self.pods.items():
            node = pod["spec"].get("nodeName")
            if self.stays(key) and key not in away and node in room:
                for resource, value in self.requests[key].items():
                    room[node][resource] = room[node].get(resource, 0) - value
        return room

    def violations(self, evicted: Iterable[tuple[str, str]]) -> int:
        """Over all budgets, how many more pods go than may."""
        gone, total = set(evicted), 0
        for budget in self.budgets:
            status, namespace = budget.get("status") or {}, budget["metadata"]["namespace"]
            disrupted = status.get("disruptedPods") or {}
            matching = sum(
                key[0] == namespace
                and key[1] not in disrupted
                and selects(budget["spec"].get("selector"), self.pods[key]["metadata"].get("labels") or {})
                for key in gone
            )
            total += max(0, matching - status.get("disruptionsAllowed", 0))
        return total
