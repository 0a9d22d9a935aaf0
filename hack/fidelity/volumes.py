"""Random claims, volumes and what describes storage, for random clusters."""

from __future__ import annotations

from random import Random
from typing import Final

from hack.fidelity.selectors import HOSTNAME, NAMESPACES, RACK, ZONE, Json
from hack.fidelity.world import World

__all__ = ["add_volumes", "crowd"]

DRIVERS: Final = ("csi.example.com", "tracked.example.com")
"""The second one says how much room it has."""
CLASSES: Final = ("wait", "tracked", "static", "now", "gone")
"""`static` has no provisioner, `now` binds at once, and `gone` does not exist."""
REGION: Final = "topology.kubernetes.io/region"
OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
SLOT: Final = "example.com/slot"
"""A label of nodes whose values are numbers."""
OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
CLAIMS: Final = 4
"""Claims of each namespace. Some do not exist."""


def add_volumes(random: Random, world: World) -> None:
    """Give pods and members claims and disks.

    However many numbers are drawn here, what is drawn for the world afterwards stays the same.
    """
    random = Random(random.getrandbits(64))  # noqa: S311 - no secret
    objects: dict[str, list[Json]] = {
        "persistentVolumes": [],
        "persistentVolumeClaims": [],
        "storageClasses": [_class(random, name) for name in CLASSES if name != "gone"],
        "csiNodes": [_csi_node(random, node) for node in world.nodes if random.random() < 0.5],
        "csiDrivers": [_driver(random, name) for name in DRIVERS if random.random() < 0.9],
        "csiStorageCapacities": [_capacity(random, number) for number in range(random.randint(0, 3))],
    }
    world.objects |= objects
    for node in world.nodes:
        _relabel(random, node["metadata"]["labels"])
    for number in range(random.randint(0, 4)):
        objects["persistentVolumes"].append(_free_volume(random, world, number))
    for namespace in NAMESPACES:
        for number in range(CLAIMS):
            if random.random() < 0.9:
                _claim(random, world, namespace, f"c{number}")
    for pod in [*world.pods, *world.members]:
        count = random.choice([0, 1, 1, 2])
        pod["spec"]["volumes"] = [_volume(random, world, pod, f"v{number}") for number in range(count)]
    if random.random() < 0.6:
        random.choice([_contend, _share_claim, _provision, _use_alone, _share_disks])(random, world)
    if random.random() < 0.2:
        crowd(world)


# ---- worlds that are about one rule


def _mount(pod: Json, claim: str) -> None:
    pod["spec"]["volumes"] = [{"name": "own", "persistentVolumeClaim": {"claimName": claim}}]


def _new_claim(world: World, name: str, storage_class: str, mode: str = "ReadWriteOnce") -> Json:
    claim = _bare_claim(name, "default", [mode], storage_class)
    claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    world.objects["persistentVolumeClaims"].append(claim)
    return claim


def _contend(random: Random, world: World) -> None:
    """Each member waits for a volume of a class that has about as many of them."""
    for number, member in enumerate(world.members):
        _new_claim(world, f"own{number}", "static")
        _mount(member, f"own{number}")
        if random.random() < 0.8:
            world.objects["persistentVolumes"].append(_bare_volume(random, world, f"for{number}", "static"))


def _share_claim(random: Random, world: World) -> None:
    """All members use a claim that has no volume yet."""
    _new_claim(world, "shared", random.choice(["static", "wait"]))
    for member in world.members:
        _mount(member, "shared")
    for number in range(random.randint(1, 2)):
        world.objects["persistentVolumes"].append(_bare_volume(random, world, f"for{number}", "static"))


def _provision(random: Random, world: World) -> None:
    """Each member waits for a volume that somebody makes, where the class allows it."""
    for each in world.objects["storageClasses"]:
        allowed = {"key": random.choice([ZONE, RACK]), "values": random.sample("abxyz", 2)}
        each["allowedTopologies"] = [{"matchLabelExpressions": [allowed]}]
    for number, member in enumerate(world.members):
        _new_claim(world, f"own{number}", random.choice(["wait", "tracked"]))
        _mount(member, f"own{number}")


def _use_alone(random: Random, world: World) -> None:
    """A member wants the claim with ReadWriteOncePod that a running pod may use."""
    _bind(random, world, _new_claim(world, "alone", "wait", "ReadWriteOncePod"))
    users = [pod for pod in world.pods if pod["metadata"]["namespace"] == "default"]
    for pod in [*users[:1], random.choice(world.members)]:
        _mount(pod, "alone")


def _share_disks(random: Random, world: World) -> None:
    """Pods use the same few disks."""
    for pod in [*world.pods, *world.members]:
        disks = (_disk(random) for _ in range(random.randint(0, 8)))
        pod["spec"]["volumes"] = [{"name": "disk", **each} for each in disks if {"iscsi", "rbd"} & set(each)][
            :1
        ]


def crowd(world: World) -> None:
    """Two pods fill a node, so a gang has victims."""
    for node in world.nodes:
        for amounts in (node["status"]["allocatable"], node["status"]["capacity"]):
            amounts["cpu"] = "2"
    for pod in [*world.pods, *world.members]:
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}


def _relabel(random: Random, labels: dict[str, str]) -> None:
    """Nodes say where they are in the new words, in the old ones, or not at all."""
    labels[SLOT] = str(random.randint(1, 4))
    if random.random() < 0.2:
        labels.pop(ZONE, None)
    if random.random() < 0.2:
        labels[OLD_ZONE] = random.choice("ab")
    if random.random() < 0.4:
        labels[random.choice([REGION, REGION, OLD_REGION])] = random.choice("ab")


def _driver(random: Random, name: str) -> Json:
    tracked = (name == DRIVERS[1]) != (random.random() < 0.1)
    spec: Json = {"storageCapacity": tracked} if tracked else {}
    if random.random() < 0.2:
        spec["preventPodSchedulingIfMissing"] = random.random() < 0.8
    return {"metadata": {"name": name}, "spec": spec}


def _class(random: Random, name: str) -> Json:
    provisioner = {"static": "kubernetes.io/no-provisioner", "tracked": DRIVERS[1]}.get(name, DRIVERS[0])
    found: Json = {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "Immediate" if name == "now" else "WaitForFirstConsumer",
    }
    if random.random() < 0.3:
        allowed = {"key": random.choice([ZONE, RACK]), "values": random.sample("abxyz", 2)}
        found["allowedTopologies"] = [{"matchLabelExpressions": [allowed]}]
    return found


def _csi_node(random: Random, node: Json) -> Json:
    drivers = [
        {"name": name, "nodeID": "x", "allocatable": {"count": random.randint(0, 3)}}
        for name in DRIVERS
        if random.random() < 0.6
    ]
    return {"metadata": {"name": node["metadata"]["name"]}, "spec": {"drivers": drivers}}


def _capacity(random: Random, number: int) -> Json:
    found: Json = {
        "metadata": {"name": f"capacity{number}", "namespace": "default"},
        "storageClassName": random.choice(["tracked", "wait"]),
        "capacity": random.choice(["1Gi", "5Gi", "20Gi"]),
    }
    if random.random() < 0.8:
        among = {"key": RACK, "operator": random.choice(["In", "NotIn"]), "values": random.sample("xyz", 2)}
        found["nodeTopology"] = random.choice(
            [{"matchLabels": {ZONE: random.choice("ab")}}, {"matchExpressions": [among]}, {}]
        )
    if random.random() < 0.3:
        found["maximumVolumeSize"] = random.choice(["1Gi", "10Gi"])
    return found


def _affinity(random: Random, world: World) -> Json:
    names = [node["metadata"]["name"] for node in world.nodes]
    expressions = random.choices(
        [
            {
                "key": HOSTNAME,
                "operator": "In",
                "values": random.sample(names, random.randint(1, len(names))),
            },
            {"key": ZONE, "operator": random.choice(["In", "NotIn"]), "values": [random.choice("ab")]},
            {"key": RACK, "operator": random.choice(["Exists", "DoesNotExist"])},
            {"key": SLOT, "operator": random.choice(["Gt", "Lt"]), "values": [random.choice("123")]},
        ],
        k=random.choice([1, 1, 2]),
    )
    terms = [{"matchExpressions": [each]} for each in expressions]
    if random.random() < 0.3:
        terms = [{"matchExpressions": expressions}]
    return {"required": {"nodeSelectorTerms": terms}}


def _bare_volume(random: Random, world: World, name: str, storage_class: str) -> Json:
    """A volume that no claim has yet."""
    spec: Json = {
        "capacity": {"storage": random.choice(["1Gi", "5Gi", "10Gi"])},
        "accessModes": random.choice(
            [["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]]
        ),
        "storageClassName": storage_class,
    }
    if random.random() < 0.7:
        spec["csi"] = {"driver": random.choice(DRIVERS), "volumeHandle": name}
    else:
        spec["local"] = {"path": "/x"}
    if random.random() < 0.6:
        spec["nodeAffinity"] = _affinity(random, world)
    if random.random() < 0.1:
        spec["volumeMode"] = "Block"
    if random.random() < 0.05:
        spec["volumeAttributesClassName"] = "gold"
    meta: Json = {"name": name, "uid": f"uid-{name}", "labels": {"kind": random.choice("mn")}}
    if random.random() < 0.3:
        label = random.choice([ZONE, OLD_ZONE, REGION, OLD_REGION])
        meta["labels"][label] = random.choice(["a", "b", "a__b", "a__"])
    if random.random() < 0.05:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": meta, "spec": spec, "status": {"phase": "Available"}}


def _free_volume(random: Random, world: World, number: int) -> Json:
    volume = _bare_volume(random, world, f"free{number}", random.choice(["static", "wait", "now"]))
    if random.random() < 0.2:
        reference = {"namespace": random.choice([*NAMESPACES]), "name": f"c{random.randrange(CLAIMS)}"}
        if random.random() < 0.5:
            uid = f"uid-{reference['namespace']}-{reference['name']}"
            reference["uid"] = random.choice([uid, uid, "uid-of-another"])
        volume["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **reference}
    if random.random() < 0.1:
        volume["status"]["phase"] = random.choice(["Released", "Pending"])
    return volume


def _claim(random: Random, world: World, namespace: str, name: str, owner: Json | None = None) -> None:
    """A claim that is bound, or waits, or cannot be used."""
    modes = random.choice([["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteOncePod"]])
    storage_class = random.choice([*CLASSES, "static", "wait", "wait"])
    claim = _bare_claim(name, namespace, modes, storage_class)
    if random.random() < 0.9:
        claim["spec"]["resources"] = {"requests": {"storage": random.choice(["1Gi", "2Gi", "8Gi"])}}
    if random.random() < 0.15:
        claim["spec"]["selector"] = {"matchLabels": {"kind": random.choice("mn")}}
    _describe(random, claim)
    if owner is not None:
        reference = {"apiVersion": "v1", "kind": "Pod", "controller": True, **owner}
        claim["metadata"]["ownerReferences"] = [reference]
    world.objects["persistentVolumeClaims"].append(claim)
    if random.random() < 0.55:
        _bind(random, world, claim)
    elif random.random() < 0.1:
        where = random.choice(world.nodes)["metadata"]["name"]
        claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = where
    if random.random() < 0.04:
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if random.random() < 0.03:
        claim["status"]["phase"] = "Lost"


def _bare_claim(name: str, namespace: str, modes: list[str], storage_class: str) -> Json:
    """A claim without a volume, that does not say how much it needs."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            "annotations": {},
        },
        "spec": {"accessModes": modes, "storageClassName": storage_class},
        "status": {"phase": "Pending"},
    }


def _describe(random: Random, claim: Json) -> None:
    """Say the rare things of a claim."""
    spec = claim["spec"]
    if random.random() < 0.1:
        spec["volumeMode"] = random.choice(["Block", "Filesystem"])
    if random.random() < 0.05:
        spec["volumeAttributesClassName"] = "gold"
    if random.random() < 0.1:
        claim["metadata"]["annotations"][OLD_CLASS] = spec.pop("storageClassName")
    elif random.random() < 0.05:
        spec["storageClassName"] = ""


def _bind(random: Random, world: World, claim: Json) -> None:
    meta = claim["metadata"]
    name = f"pv-{meta['namespace']}-{meta['name']}"
    claim["spec"]["volumeName"] = name
    if random.random() < 0.95:
        meta["annotations"]["pv.kubernetes.io/bind-completed"] = "yes"
        claim["status"]["phase"] = "Bound"
    if random.random() < 0.05:
        return
    volume = _bare_volume(random, world, name, claim["spec"].get("storageClassName", ""))
    volume["spec"]["claimRef"] = {key: meta[key] for key in ("namespace", "name", "uid")}
    volume["status"]["phase"] = "Bound"
    world.objects["persistentVolumes"].append(volume)


def _volume(random: Random, world: World, pod: Json, name: str) -> Json:
    kind = random.choice(["claim"] * 6 + ["ephemeral", "disk", "disk", "empty"])
    if kind == "claim":
        return {"name": name, "persistentVolumeClaim": {"claimName": f"c{random.randrange(CLAIMS)}"}}
    if kind == "ephemeral":
        meta = pod["metadata"]
        if random.random() < 0.8:
            owner = {"name": meta["name"], "uid": meta["uid"]}
            # It is the pod's own: of a pod on a node with the claim of another one, the scheduler reports an error.
            _claim(random, world, meta["namespace"], f"{meta['name']}-{name}", owner)
        return {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    return {"name": name, **(_disk(random) if kind == "disk" else {"emptyDir": {}})}


def _disk(random: Random) -> Json:
    read_only = random.random() < 0.5
    monitors = random.sample(["m1", "m2", "m3"], random.randint(1, 2))
    return random.choice(
        [
            {"gcePersistentDisk": {"pdName": random.choice("pq"), "readOnly": read_only}},
            {"awsElasticBlockStore": {"volumeID": random.choice("pq"), "readOnly": read_only}},
            {"csi": {"driver": random.choice(DRIVERS), "readOnly": read_only}},
            {"iscsi": {"targetPortal": "x", "lun": 0, "iqn": random.choice("pq"), "readOnly": read_only}},
            {
                "rbd": {
                    "monitors": monitors,
                    "image": random.choice("pq"),
                    "pool": "rbd",
                    "readOnly": read_only,
                }
            },
        ]
    )
