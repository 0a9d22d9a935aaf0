"""Random configurations of kube-scheduler."""

from __future__ import annotations

from random import Random
from typing import Final

from hack.fidelity.selectors import Json, requirement

__all__ = ["PROFILES", "configuration"]

PROFILES: Final = 60
"""Different profiles. The probe keeps each of them."""
DISABLED: Final = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
)


def configuration(random: Random) -> Json:
    """A KubeSchedulerConfiguration with one profile."""
    multi_point, filters = (random.sample(DISABLED, random.choice([0, 0, 1, 2])) for _ in range(2))
    plugins: Json = {
        "multiPoint": {"disabled": [{"name": name} for name in multi_point]},
        "filter": {"disabled": [{"name": name} for name in filters]},
    }
    if random.random() < 0.1:
        plugins["filter"] = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}
    elif multi_point and random.random() < 0.3:
        again = [{"name": multi_point[0]}]
        plugins["filter"]["enabled"] = again
        if multi_point[0] not in ("NodeUnschedulable", "TaintToleration"):
            plugins["preFilter"] = {"enabled": again}
    args: Json = {}
    if random.random() < 0.5:
        terms = [{"matchExpressions": [requirement(random)]} for _ in range(random.randint(1, 2))]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        args["NodeAffinity"] = {"addedAffinity": required}
    if random.random() < 0.5:
        name = random.choice(["ignoredResources", "ignoredResourceGroups"])
        args["NodeResourcesFit"] = {name: ["example.com" if name.endswith("Groups") else "example.com/gpu"]}
    extender: Json = {"urlPrefix": "http://127.0.0.1/v1", "filterVerb": "filter", "preemptVerb": "preempt"}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": plugins,
                "pluginConfig": [{"name": name, "args": each} for name, each in args.items()],
            }
        ],
        "extenders": [extender],
    }
