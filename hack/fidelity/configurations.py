"""Random configurations of kube-scheduler."""

from __future__ import annotations

from random import Random
from typing import Final

from hack.fidelity.selectors import APPS, HOSTNAME, RACK, ZONE, Json, requirement
from hack.fidelity.world import World

__all__ = ["PROFILES", "add_selectors", "configuration"]

PROFILES: Final = 60
"""Different profiles. The probe keeps each of them."""
CONTROLLERS: Final = {
    "ReplicaSet": ("apps/v1", "replicaSets"),
    "StatefulSet": ("apps/v1", "statefulSets"),
    "ReplicationController": ("v1", "replicationControllers"),
}
"""The controllers whose selectors default constraints read: apiVersion, and the list in the case (see main.go)."""
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
    if random.random() < 0.5:
        args["PodTopologySpread"] = _default_spread(random)
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


def _default_spread(random: Random) -> Json:
    """PodTopologySpreadArgs."""
    if random.random() < 0.2:
        return {"defaultingType": "System"}
    constraints = [
        {
            "topologyKey": key,
            "maxSkew": random.choice([1, 2]),
            "whenUnsatisfiable": random.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
        }
        for key in random.sample([HOSTNAME, ZONE, RACK], random.choice([1, 1, 2]))
    ]
    return {"defaultingType": "List", "defaultConstraints": constraints}


def add_selectors(random: Random, world: World) -> None:
    """Services and controllers whose selectors count where a profile has default constraints."""
    random = Random(random.getrandbits(64))  # noqa: S311 - no secret
    services = [{"app": app} for app in APPS if random.random() < 0.4]
    world.objects["services"] = [
        {"metadata": {"name": f"s{number}", "namespace": "default"}, "spec": {"selector": selector}}
        for number, selector in enumerate(services)
    ]
    for member in world.members:
        if random.random() < 0.6:
            kind = random.choice([*CONTROLLERS])
            (version, name), app = CONTROLLERS[kind], member["metadata"]["labels"]["app"]
            labels = {"app": app}
            selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
            meta = {"name": f"{kind.lower()}-{app}", "namespace": "default"}
            known = world.objects.setdefault(name, [])
            if meta["name"] not in (each["metadata"]["name"] for each in known):
                known.append({"metadata": meta, "spec": {"selector": selector}})
            owner = {
                "apiVersion": version,
                "kind": kind,
                "name": meta["name"],
                "uid": "u",
                "controller": True,
            }
            member["metadata"]["ownerReferences"] = [owner]
