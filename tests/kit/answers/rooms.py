"""A small cluster with gangs, a plan that has victims, and a pod that leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["GPU", "NOW", "OLD", "WORLD", "gang", "node", "plan", "pod"]

NOW: Final = "2026-03-01T12:00:00Z"
OURS: Final = "reprieve.dev/v1alpha1"
GPU: Final = "example.com/gpu"
Object = dict[str, Any]


def node(name: str, rack: str | None = None, gpus: int = 8, **spec: Any) -> Object:
    labels = {"kubernetes.io/hostname": name, **({"rack": rack} if rack is not None else {})}
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "20", **({GPU: str(gpus)} if gpus else {})}
    meta = {"name": name, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "spec": spec,
        "status": {"allocatable": amounts},
    }


def pod(name: str, space: str, gpus: int, on: str = "", group: str = "", **meta: Any) -> Object:
    requests = {"cpu": "500m", **({GPU: str(gpus)} if gpus else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": space,
            "uid": f"uid-{name}",
            "labels": {"reprieve.dev/pod-group": group} if group else {},
            **meta,
        },
        "spec": {
            "priority": 5,
            "containers": [{"name": "c", "resources": {"requests": requests, "limits": requests}}],
            **({"nodeName": on} if on else {}),
        },
        "status": {"phase": "Running" if on else "Pending"},
    }


def gang(name: str, space: str, key: str | None = "rack") -> Object:
    topology = {"schedulingConstraints": {"topology": [{"key": key}]}} if key is not None else {}
    return {
        "apiVersion": OURS,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": space, "uid": f"uid-{name}"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 1000, **topology},
    }


def plan(name: str, space: str, phase: str, placements: Mapping[str, str], victims: list[Object]) -> Object:
    preemptor = {
        "kind": "PodGroup",
        "apiVersion": OURS,
        "namespace": space,
        "name": name,
        "uid": f"uid-{name}",
    }
    return {
        "apiVersion": OURS,
        "kind": "PreemptionPlan",
        "metadata": {
            "name": f"{name}-1",
            "namespace": space,
            "uid": f"uid-{name}-1",
            "creationTimestamp": NOW,
        },
        "spec": {
            "preemptor": {**preemptor, "priority": 1000},
            "outcome": "Preempts",
            "reason": "it fits with victims gone",
            "domain": {"topologyKey": "rack", "value": "r2"},
            "placements": [
                {"pod": each, "node": on, "uid": f"uid-{each}"} for each, on in placements.items()
            ],
            "victims": [
                {
                    "kind": "Pod",
                    "namespace": each["metadata"]["namespace"],
                    "name": each["metadata"]["name"],
                    "uid": each["metadata"]["uid"],
                    "priority": 5,
                    "violatesPodDisruptionBudget": False,
                    "pods": [
                        {
                            "namespace": each["metadata"]["namespace"],
                            "name": each["metadata"]["name"],
                            "uid": each["metadata"]["uid"],
                            "node": each["spec"]["nodeName"],
                        }
                    ],
                }
                for each in victims
            ],
        },
        "status": {"phase": phase, "lastDecisionTime": NOW},
    }


OLD: Final = pod("old-0", "b", 6, "n2", "old")
GONE: Final = pod("gone", "b", 1, "n2", deletionTimestamp=NOW, deletionGracePeriodSeconds=30)
WORLD: Final = (
    node("n10", "r1"),
    node("n2", "r2"),
    node("n1", "r2"),
    node("plain", None, 0),
    gang("train", "a"),
    gang("old", "b", None),
    pod("train-0", "a", 4, group="train"),
    pod("train-1", "a", 3, group="train"),
    pod("runs", "a", 2, "n10"),
    OLD,
    GONE,
    plan("train", "a", "Evicting", {"train-0": "n2", "train-1": "n10"}, [OLD]),
)
