"""Random selectors of nodes, pods and namespaces, and the few names that they are about."""

from __future__ import annotations

from random import Random
from typing import Any, Final

__all__ = [
    "APPS",
    "HOSTNAME",
    "NAMESPACES",
    "RACK",
    "ZONE",
    "Json",
    "pod_term",
    "requirement",
    "selector",
]

Json = dict[str, Any]

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
RACK: Final = "rack"
NAMESPACES: Final = {"default": {"team": "a"}, "other": {"team": "b"}, "plain": {}}
"""Labels by namespace."""
APPS: Final = ("web", "db")


def requirement(random: Random) -> Json:
    """A requirement on the labels of a node."""
    operator = random.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    if operator in ("Gt", "Lt"):
        return {"key": "size", "operator": operator, "values": [random.choice(["1", "4", "7"])]}
    key, values = random.choice([(ZONE, "abc"), (RACK, "xyz"), ("none", "q")])
    requirement: Json = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        requirement["values"] = random.sample(values, random.randint(1, min(2, len(values))))
    return requirement


def selector(random: Random) -> Json | None:
    """A label selector of pods, which may be empty; None for no selector."""
    choice = random.random()
    if choice < 0.1:
        return {}
    if choice < 0.15:
        return None
    if choice < 0.6:
        return {"matchLabels": {"app": random.choice(APPS)}}
    operator = random.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    requirement: Json = {"key": random.choice(["app", "rev"]), "operator": operator}
    if operator in ("In", "NotIn"):
        requirement["values"] = [random.choice(["web", "1"])]
    return {"matchExpressions": [requirement]}


def pod_term(random: Random, keys: tuple[str, ...]) -> Json:
    """A term of pod affinity or anti-affinity. `keys`: topology keys to choose from."""
    term: Json = {"topologyKey": random.choice(keys)}
    if (chosen := selector(random)) is not None:
        term["labelSelector"] = chosen
    if random.random() < 0.3:
        term["namespaces"] = random.sample([*NAMESPACES], random.randint(1, 2))
    if random.random() < 0.3:
        term["namespaceSelector"] = random.choice(
            [
                {},
                {"matchLabels": {"team": "a"}},
                {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
                {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["b"]}]},
            ]
        )
    return term
