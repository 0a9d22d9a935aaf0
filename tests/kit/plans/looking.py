"""Small clusters whose pods look at pods on other nodes, from a die: plain objects, for `tests.kit.plans.afar`."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.kit.plans.raw import GROUP_LABEL, Object

__all__ = ["looking"]

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
HOSTNAME: Final = "kubernetes.io/hostname"
KEYS: Final = ("zone", "zone", "rack", HOSTNAME)


def looking(dice: Random, *, alone: bool = False) -> list[Object]:
    """A cluster and a gang of one to four members; `alone`: a single pod."""
    nodes = [_node(dice, number) for number in range(dice.randint(2, 4))]
    names = [node["metadata"]["name"] for node in nodes]
    templates = [_template(dice) for _ in range(dice.choice((1, 1, 2)))]
    running = [_running(dice, number, names, templates) for number in range(dice.randint(0, 4))]
    groups: list[Object] = []
    if dice.random() < 0.2:
        groups.append(_group("whole", 1, {"disruptionMode": {"all": {}}, "priority": 0}))
        for pod in running[:2]:
            pod["metadata"]["labels"][GROUP_LABEL] = "whole"
            pod["spec"]["priority"] = 0
    if alone:
        return [*nodes, *groups, *running, _member("hero", templates[0])]
    members = [
        _member(f"h{number}", dice.choice(templates), {GROUP_LABEL: "hero"})
        for number in range(dice.choice((1, 2, 2, 3, 3, 4)))
    ]
    spec: dict[str, Any] = {"priority": 100}
    if dice.random() < 0.3:
        spec["schedulingConstraints"] = {"topology": [{"key": dice.choice(("zone", "rack"))}]}
    fewer = dice.random() < 0.15 and len(members) > 1
    group = _group("hero", len(members) - fewer, spec)
    return [*nodes, *groups, group, *running, *members]


def _node(dice: Random, number: int) -> Object:
    labels = {HOSTNAME: f"n{number}", "zone": dice.choice("ab"), "rack": dice.choice(("r", "s", "t"))}
    if dice.random() < 0.1:
        del labels[dice.choice(("zone", "rack"))]
    if dice.random() < 0.15:
        labels["disk"] = "hdd"
    spec: dict[str, Any] = {}
    if dice.random() < 0.12:
        spec = {
            "unschedulable": True,
            "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
        }
    meta = {"name": f"n{number}", "uid": f"uid-n{number}", "labels": labels}
    allocatable = {"cpu": str(dice.choice((1, 2, 2, 3))), "pods": "110"}
    return {"kind": "Node", "metadata": meta, "spec": spec, "status": {"allocatable": allocatable}}


def _selector(dice: Random) -> Object:
    return dice.choice(
        ({"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}}, {"matchLabels": {"team": "x"}}, {})
    )


def _constraint(dice: Random) -> Object:
    found: dict[str, Any] = {
        "topologyKey": dice.choice(KEYS),
        "maxSkew": dice.choice((1, 1, 1, 2)),
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": _selector(dice),
    }
    if dice.random() < 0.15:
        found["minDomains"] = dice.choice((2, 3))
    if dice.random() < 0.15:
        found["nodeTaintsPolicy"] = dice.choice(("Honor", "Ignore"))
    if dice.random() < 0.15:
        found["nodeAffinityPolicy"] = dice.choice(("Honor", "Ignore"))
    if dice.random() < 0.15:
        found["matchLabelKeys"] = ["version"]
    return found


def _term(dice: Random) -> Object:
    found: dict[str, Any] = {"topologyKey": dice.choice(KEYS), "labelSelector": _selector(dice)}
    if dice.random() < 0.1:
        found["matchLabelKeys"] = ["version"]
    if dice.random() < 0.1:
        found["mismatchLabelKeys"] = ["version"]
    return found


def _template(dice: Random) -> dict[str, Any]:
    """Labels and spec of pods that look at others."""
    labels = {"app": dice.choice("ab"), "version": dice.choice("12")}
    if dice.random() < 0.5:
        labels["team"] = "x"
    spec: dict[str, Any] = {"containers": [_container(dice.choice(("1", "1", "2", "0")))]}
    if dice.random() < 0.15:
        spec["nodeSelector"] = {"disk": "hdd"} if dice.random() < 0.3 else {"zone": dice.choice("ab")}
    if dice.random() < 0.6:
        spec["topologySpreadConstraints"] = [_constraint(dice) for _ in range(dice.choice((1, 1, 2)))]
    affinity: dict[str, Any] = {}
    if dice.random() < 0.3:
        affinity["podAffinity"] = {REQUIRED: [_term(dice) for _ in range(dice.choice((1, 1, 2)))]}
    if dice.random() < 0.3:
        affinity["podAntiAffinity"] = {REQUIRED: [_term(dice)]}
    if affinity:
        spec["affinity"] = affinity
    return {"labels": labels, "spec": spec}


def _container(cpu: str) -> Object:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}}


def _running(dice: Random, number: int, nodes: list[str], templates: list[dict[str, Any]]) -> Any:
    """A pod that is like a member, or is looked at by them, or repels them."""
    template = dice.choice([*templates, {"labels": {"app": dice.choice("ab"), "version": "1"}, "spec": {}}])
    spec = {key: value for key, value in template["spec"].items() if key != "nodeSelector"}
    spec |= {
        "containers": [_container(dice.choice(("0", "1", "1")))],
        "nodeName": dice.choice(nodes),
        "priority": dice.choice((0, 0, 5, 900)),
    }
    meta = {"name": f"v{number}", "namespace": "d", "uid": f"uid-v{number}", "labels": {**template["labels"]}}
    start = f"2026-01-01T{dice.randint(0, 23):02}:00:00Z"
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running", "startTime": start}}


def _member(name: str, template: dict[str, Any], more: dict[str, str] | None = None) -> Object:
    meta = {
        "name": name,
        "namespace": "d",
        "uid": f"uid-{name}",
        "labels": {**template["labels"], **(more or {})},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    spec = {**template["spec"], "priority": 100}
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


def _group(name: str, minimum: int, more: dict[str, Any]) -> Object:
    spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}, **more}
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "d", "uid": f"uid-{name}"},
        "spec": spec,
    }
