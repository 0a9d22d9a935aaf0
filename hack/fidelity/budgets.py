"""Random PodDisruptionBudgets on a real control plane: what its disruption controller counts, and whom its API server
would evict; and what we say of both."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

from answers.reading.documents import JsonDocument
from answers.reading.node_objects import NodeObjects
from hack.controlplane.client import ApiError, Client, path_of
from hack.controlplane.components import Options
from hack.controlplane.plane import ControlPlane
from nodes.search.budgets import under
from nodes.state.columns.flags import STAYING, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = [
    "CONTROLLERS",
    "Counts",
    "compare_budgets",
    "count_offline",
    "evict_offline",
    "random_objects",
    "run",
]

Json = dict[str, Any]

CONTROLLERS: Final = ("disruption-controller", "serviceaccount-controller")
"""No other one: owners stay as they were made, and so do their pods."""
BUDGETS: Final = 5
"""Of one namespace."""
POLICIES: Final = (None, "IfHealthyBudget", "AlwaysAllow")
SECONDS: Final = 60.0
SEVERAL: Final = "more than one PodDisruptionBudget"
"""In the answer of the API server, which does not evict such a pod."""
PARALLEL: Final = 8
LABELS: Final = ("a", "b")
NARROW: Final = tuple({"app": app, "n": number} for app in LABELS for number in "01")
"""Labels of budgets that do not overlap: each pod has one of them at the most."""
KINDS: Final = (
    ("v1", "Pod"), ("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"), ("policy/v1", "PodDisruptionBudget"),
)  # fmt: skip


@dataclass
class Counts:
    """The result of a comparison."""

    budgets: int = 0
    allowing: int = 0
    """Budgets that allow a disruption."""
    unknown: int = 0
    """Budgets that we do not know. Each has a pod whose owner does not exist."""
    evictions: int = 0
    """Evictions that the API server was asked about."""
    exempt: int = 0
    """Pods that the API server would evict although a budget that selects them allows no disruption."""
    differences: list[str] = field(default_factory=list)


@dataclass
class Crowd:
    """The objects of a namespace, as they are created, in this order."""

    owners: list[Json] = field(default_factory=list)
    pods: list[Json] = field(default_factory=list)
    """With their status, and terminating ones with a deletionTimestamp."""
    budgets: list[Json] = field(default_factory=list)
    """With the pods in status.disruptedPods."""


def random_objects(random: Random, namespace: str, now: str) -> Crowd:
    """Owners, pods and budgets. UIDs of owners are their kind and name: an API server gives other ones."""
    crowd = Crowd()
    owners = [_owner(random, number, namespace, crowd) for number in range(random.randint(0, 4))]
    others = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "job"},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "daemon"},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gone"},
    ]
    for number in range(random.randint(0, 7)):
        owner = random.choice([*owners, *owners, *owners, None, None, *others[random.randint(0, 9) :]])
        crowd.pods.append(_pod(random, number, namespace, owner, now))
    overlap = random.random() < 0.5
    for number in range(BUDGETS):
        narrow = None if overlap or number >= len(NARROW) else NARROW[number]
        crowd.budgets.append(_budget(random, number, namespace, crowd.pods, now, narrow))
    return crowd


def _meta(name: str, namespace: str, uid: str, **more: Any) -> Json:
    return {"name": name, "namespace": namespace, "uid": uid, **more}


def _owner(random: Random, number: int, namespace: str, crowd: Crowd) -> Json:
    """A reference to the owner, which is put into the crowd."""
    kind = random.choice(["ReplicationController", "ReplicaSet", "StatefulSet", "Deployment"])
    name, version = f"o{number}", "v1" if kind == "ReplicationController" else "apps/v1"
    above: Json | None = None
    if kind == "Deployment":
        above = {"apiVersion": version, "kind": kind, "name": name}
        crowd.owners.append(_scaled(random, version, kind, _meta(name, namespace, f"{kind}/{name}")))
        kind, name = "ReplicaSet", f"{name}-set"
    meta = _meta(name, namespace, f"{kind}/{name}")
    if above is not None:
        uid = "another" if random.random() < 0.1 else f"{above['kind']}/{above['name']}"
        meta["ownerReferences"] = [{**above, "uid": uid, "controller": True}]
    crowd.owners.append(_scaled(random, version, kind, meta))
    return {"apiVersion": version, "kind": kind, "name": name}


def _scaled(random: Random, version: str, kind: str, meta: Json) -> Json:
    template = {
        "metadata": {"labels": {"of": meta["name"]}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    labels = {"of": meta["name"]}
    spec: Json = {"selector": labels if version == "v1" else {"matchLabels": labels}, "template": template}
    if random.random() < 0.9:
        spec["replicas"] = random.randint(0, 5)
    if kind == "StatefulSet":
        spec["serviceName"] = "s"
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}


def _pod(random: Random, number: int, namespace: str, owner: Json | None, now: str) -> Json:
    phase = random.choice(["Running", "Running", "Running", "Running", "Pending", "Succeeded"])
    ready = random.random() < (0.85 if phase == "Running" else 0.2)
    meta = _meta(
        f"p{number}", namespace, f"p{number}", labels={"app": random.choice(LABELS), "n": str(number % 2)}
    )
    if owner is not None:
        uid = "another" if random.random() < 0.05 else f"{owner['kind']}/{owner['name']}"
        meta["ownerReferences"] = [{**owner, "uid": uid, "controller": True}]
    if random.random() < 0.1:
        meta |= {"finalizers": ["example.com/keep"], "deletionTimestamp": now}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def _budget(
    random: Random, number: int, namespace: str, pods: Sequence[Json], now: str, narrow: Json | None
) -> Json:
    """`narrow`: the labels that it selects; None: any."""
    selector: Json | None = {"matchLabels": narrow} if narrow is not None else random.choice(
        [{"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}}, {"matchLabels": {"n": "0"}}, {}, None,
         {"matchExpressions": [{"key": "app", "operator": "Exists"}]}]
    )  # fmt: skip
    value = random.choice([random.randint(0, 4), f"{random.choice([0, 1, 33, 50, 51, 99, 100])}%"])
    spec: Json = {random.choice(["minAvailable", "maxUnavailable"]): value}
    if random.random() < 0.05:
        spec = {}
    if selector is not None:
        spec["selector"] = selector
    if policy := random.choice(POLICIES):
        spec["unhealthyPodEvictionPolicy"] = policy
    gone = [each["metadata"]["name"] for each in pods if random.random() < 0.1]
    return {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _meta(f"b{number}", namespace, ""),
        "spec": spec, "status": {"disruptedPods": dict.fromkeys(gone, now)},
    }  # fmt: skip


# ---- ours


def count_offline(objects: Sequence[Json]) -> dict[tuple[str, str], tuple[int, str]]:
    """By namespace and name of each budget what it allows, and what is not known. No status says what was counted."""
    rows = _read(objects).budgets
    return {(row.namespace, row.name): (row.allowed, row.unknown) for row in rows if row is not None}


class Verdict(NamedTuple):
    """What we say of the eviction of one pod."""

    goes: bool
    """Whether the API server would evict it."""
    spent: bool
    """Whether a budget that selects it allows no disruption."""


def evict_offline(objects: Sequence[Json]) -> dict[tuple[str, str], Verdict]:
    """By namespace and name, for each pod that runs. The eviction of the pod would be the only one.

    Not for pods that terminate, nor for those in `status.disruptedPods` of a budget: they are about to.
    """
    snapshot = _read(objects)
    stays = under(snapshot, "Respect").pod_flags & STAYING != 0
    found = {}
    for row in np.flatnonzero(snapshot.pod_live & (snapshot.pod_flags & TERMINATING == 0)).tolist():
        name = snapshot.pod_names[row]
        of_pod = [snapshot.budgets[at] for at in snapshot.label_budgets[snapshot.pod_labels[row]]]
        selecting = [each for each in of_pod if each is not None]
        if not any(name in each.disrupted for each in selecting):
            spent = any(not each.allowed for each in selecting)
            found[snapshot.pod_namespaces[row], name] = Verdict(not stays[row], spent)
    return found


def _read(objects: Sequence[Json]) -> Snapshot:
    """The objects as commands read them, without what the status of a budget counts."""
    reader = NodeObjects()
    for index, body in enumerate(objects):
        if body["kind"] == "PodDisruptionBudget":
            disrupted = (body.get("status") or {}).get("disruptedPods") or {}
            body = {**body, "status": {"disruptedPods": disrupted}}
        reader.add(JsonDocument(json.dumps(body).encode()), f"objects[{index}]")
    return reader.picture().snapshot


# ---- the controller's


def run(budgets: int, seed: int, folder: Path) -> Counts:
    """Start a control plane, and compare about this number of budgets. Raises BinariesError."""
    with ControlPlane(folder, Options(controllers=CONTROLLERS)) as plane:
        return compare_budgets(plane.client, range(seed, seed + -(-budgets // BUDGETS)))


def compare_budgets(client: Client, seeds: Sequence[int]) -> Counts:
    """Create a namespace for each seed, and compare when the controller has counted."""
    names = [f"budgets-{seed}" for seed in seeds]
    with ThreadPoolExecutor(PARALLEL) as pool:
        for _ in pool.map(partial(_create, client), seeds):
            pass
    counts, until = _compare(client, names), time.monotonic() + SECONDS
    while counts.differences and time.monotonic() < until:
        time.sleep(1)
        counts = _compare(client, names)
    if not counts.differences:
        _compare_evictions(client, names, counts)
    return counts


def _create(client: Client, seed: int) -> None:
    """Owners first, then pods, then what counts them."""
    random, namespace = Random(seed), f"budgets-{seed}"  # noqa: S311 - no secret
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    crowd = random_objects(random, namespace, now)
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    client.apply(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": namespace},
        }
    )
    uids = dict[str, str]()
    for body in crowd.owners:
        uid = body["metadata"].pop("uid")
        uids[uid] = client.create(_with_uids(body, uids))["metadata"]["uid"]
    for body in crowd.pods:
        _create_pod(client, _with_uids(body, uids))
    for body in crowd.budgets:
        made = client.create(_with_uids(body, uids))
        if body["status"]["disruptedPods"]:
            name = made["metadata"]["name"]
            client.patch(
                "policy/v1", "PodDisruptionBudget", name, {"status": body["status"]}, namespace, "status"
            )


def _with_uids(body: Json, uids: dict[str, str]) -> Json:
    """The object with the UIDs that the API server has given to its owners."""
    meta = {key: value for key, value in body["metadata"].items() if key not in ("uid", "deletionTimestamp")}
    if owners := meta.get("ownerReferences"):
        meta["ownerReferences"] = [{**each, "uid": uids.get(each["uid"], each["uid"])} for each in owners]
    terminates = {"_terminates": True} if "deletionTimestamp" in body["metadata"] else {}
    return {**body, "metadata": meta, **terminates}


def _create_pod(client: Client, body: Json) -> None:
    terminates = body.pop("_terminates", False)
    name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
    client.create(body)
    client.patch("v1", "Pod", name, {"status": body["status"]}, namespace, "status")
    if terminates:
        client.delete("v1", "Pod", name, namespace, grace_seconds=0)


def _compare(client: Client, namespaces: Sequence[str]) -> Counts:
    found, objects = Counts(), _list(client, namespaces)
    ours = count_offline(objects)
    for body in objects:
        if body["kind"] != "PodDisruptionBudget":
            continue
        meta, status = body["metadata"], body.get("status") or {}
        allowed, unknown = ours[meta["namespace"], meta["name"]]
        theirs = status.get("disruptionsAllowed", 0)
        failed = any(each.get("reason") == "SyncFailed" for each in status.get("conditions") or ())
        counted = failed or status.get("observedGeneration") == meta["generation"]
        found.budgets += 1
        found.allowing += theirs > 0
        found.unknown += bool(unknown)
        if not counted or theirs != allowed or (unknown and not (failed and "gone" in unknown)):
            who = f"{meta['namespace']}/{meta['name']} {body['spec']}"
            found.differences.append(f"{who}: it allows {theirs} ({status}), we say {allowed} {unknown}")
    return found


def _list(client: Client, namespaces: Sequence[str]) -> list[Json]:
    wanted = set(namespaces)
    return [
        {**each, "apiVersion": version, "kind": kind}
        for version, kind in KINDS
        for each in client.list(version, kind)
        if each["metadata"]["namespace"] in wanted
    ]


def _compare_evictions(client: Client, namespaces: Sequence[str], counts: Counts) -> None:
    """Ask the API server about the eviction of each pod alone. Nothing is evicted."""
    ours = evict_offline(_list(client, namespaces))
    with ThreadPoolExecutor(PARALLEL) as pool:
        theirs = list(pool.map(partial(_would_evict, client), ours))
    for (pod, verdict), (goes, said) in zip(ours.items(), theirs, strict=True):
        counts.evictions += 1
        counts.exempt += goes and verdict.spent
        if goes != verdict.goes:
            counts.differences.append(f"eviction of {'/'.join(pod)}: we say {verdict}, they {said or goes}")


def _would_evict(client: Client, pod: tuple[str, str]) -> tuple[bool, str]:
    """Whether the API server would evict the pod, and what it says if not. Raises ApiError."""
    namespace, name = pod
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    try:
        client.request("POST", f"{path_of('v1', 'Pod', namespace, name)}/eviction?dryRun=All", body)
    except ApiError as error:
        if error.status != HTTPStatus.TOO_MANY_REQUESTS and SEVERAL not in str(error):
            raise
        return False, str(error)
    return True, ""
