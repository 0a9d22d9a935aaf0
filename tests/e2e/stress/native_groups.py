"""Groups of kube-scheduler's own kind under load: basic ones, gangs that lose single pods, and gangs that go whole.

An action draws from the cluster's random numbers.
"""

from __future__ import annotations

from typing import Any, Final

from api.groups import SCHEDULING_GATE
from hack.controlplane import objects
from hack.controlplane.client import Json
from tests.e2e.other_kinds import NATIVE
from tests.e2e.stress.actions import (
    GANGS,
    OWNED,
    Action,
    add_gang,
    add_job,
    add_pod,
    remove_gang,
    remove_owned,
)
from tests.e2e.stress.cluster import PRIORITIES, Cluster, Gang, Owned
from tests.e2e.stress.owners import add_gang_job, add_training

__all__ = ["ACTIONS_OF_NATIVES"]

POLICIES: Final = ("basic", "single", "all")
SIZES: Final = (1, 1, 2, 2, 3, 3, 4, 6)


def add_native(cluster: Cluster) -> None:
    """A native group and its pods; sometimes fewer pods than minCount, sometimes pods of another class."""
    rng = cluster.rng
    if len(cluster.gangs) >= GANGS:
        remove_gang(cluster)
    namespace, name = rng.choice(cluster.namespaces), cluster.name("native")
    policy, members, priority = rng.choice(POLICIES), rng.choice(SIZES), f"p{rng.choice(PRIORITIES)}"
    minimum = members if rng.random() < 0.7 else rng.randint(1, members)
    cluster.create(_group(namespace, name, policy, minimum, priority))
    pods = tuple(f"{name}-{number}" for number in range(members - (rng.random() < 0.1)))
    own = priority if rng.random() < 0.95 else f"p{rng.choice(PRIORITIES)}"
    is_gated = rng.random() < cluster.gated and policy != "basic"
    spec: dict[str, Any] = {"schedulingGates": [{"name": SCHEDULING_GATE}]} if is_gated else {}
    cpu, grace = rng.choice(("500m", "1", "1", "2")), rng.choice((0, 0, 1))
    for pod in pods:
        cluster.create(
            objects.pod(
                pod,
                namespace,
                cpu=cpu,
                priority_class=own,
                grace_seconds=grace,
                schedulingGroup={"podGroupName": name},
                **spec,
            )
        )
    cluster.gangs.append(Gang(namespace, name, pods, version=NATIVE))


def add_gang_in_basic(cluster: Cluster) -> None:
    """A gang of ours whose pods are also in a basic native group, as Kubernetes gives one to every Job."""
    rng = cluster.rng
    if len(cluster.gangs) >= GANGS:
        remove_gang(cluster)
    namespace, name = rng.choice(cluster.namespaces), cluster.name("both")
    members, priority = rng.choice(SIZES), f"p{rng.choice(PRIORITIES)}"
    mode = rng.choice(("all", "single"))
    cluster.create(objects.pod_group(name, namespace, min_count=members, mode=mode, priority_class=priority))
    cluster.create(_group(namespace, name, "basic", 1, priority))
    pods = tuple(f"{name}-{number}" for number in range(members))
    cpu = rng.choice(("500m", "1", "2"))
    for pod in pods:
        body = objects.pod(pod, namespace, cpu=cpu, group=name, priority_class=priority)
        body["spec"]["schedulingGroup"] = {"podGroupName": name}
        cluster.create(body)
    cluster.gangs.append(Gang(namespace, name, pods))
    cluster.gangs.append(Gang(namespace, name, (), version=NATIVE))


def add_native_deployment(cluster: Cluster) -> None:
    """Pods of low priority that come back at once, in a native group."""
    rng = cluster.rng
    if len(cluster.owned) >= OWNED:
        remove_owned(cluster, 0)
    namespace, name, priority = (
        rng.choice(cluster.namespaces),
        cluster.name("natdep"),
        f"p{rng.choice(PRIORITIES[:3])}",
    )
    cluster.create(_group(namespace, name, rng.choice(POLICIES), 1, priority))
    pod = objects.pod(
        "",
        namespace,
        cpu=rng.choice(("500m", "1")),
        priority_class=priority,
        schedulingGroup={"podGroupName": name},
    )
    labels = {"app": name}
    spec = {
        "replicas": rng.randint(1, 4),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
    }
    meta = {"namespace": namespace, "name": name}
    cluster.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})
    cluster.owned.append(Owned("apps/v1", "Deployment", namespace, name))
    cluster.owned.append(Owned(NATIVE, "PodGroup", namespace, name))


def _group(namespace: str, name: str, policy: str, minimum: int, priority: str) -> Json:
    """A native PodGroup. With the policies `single` and `all` it is a gang."""
    is_gang = policy != "basic"
    return objects.pod_group(
        name,
        namespace,
        min_count=minimum if is_gang else None,
        mode=policy if is_gang else None,
        priority_class=priority,
        api_version=NATIVE,
    )


ACTIONS_OF_NATIVES: Final[dict[Action, int]] = {
    add_native: 80,
    add_native_deployment: 20,
    add_gang_in_basic: 12,
    add_pod: 40,
    add_gang: 12,
    add_job: 4,
    add_training: 6,
    add_gang_job: 4,
}
"""How often, in relation to all other actions. There are fewer units that kube-scheduler does not know: beside many of
them it evicts nobody."""
