"""Histories in which rare moments are likely: a process is stopped or dies just there. The seed decides the sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from api.groups import SCHEDULING_GATE
from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.controlplane.processes import wait_until
from tests.e2e.other_kinds import NATIVE
from tests.e2e.stress.cluster import REPRIEVE, Cluster
from tests.e2e.stress.refusals import DELETION, LABEL
from tests.kit.clock import PATIENCE_SECONDS

__all__ = [
    "Scenario",
    "accounted",
    "beyond_minimum",
    "beside_a_unit",
    "cut_off",
    "different",
    "ended_by_another",
    "refused",
    "stale",
    "turned_down",
]

NAMESPACE: Final = "a"
HERO: Final = "hero"
HOSTNAME: Final = "kubernetes.io/hostname"
URGENT: Final = "urgent"
STALE_SECONDS: Final = 8.0
"""Longer than it takes until another process leads, and evicts."""
QUIET_SECONDS: Final = 2.0
LATE_SECONDS: Final = 8.0
"""Longer than it takes until a plan says whom a scheduler has preempted first, and that a gang is in pieces."""
LONG_SECONDS: Final = 35.0
"""Longer than it takes until a plan says that pods served nobody, and that a gang runs and its case is concluded."""


@dataclass(frozen=True)
class Scenario:
    """What is done to a new plane with two processes of reprieve."""

    act: Callable[[Cluster], None]
    leader: Mapping[str, str] = field(default_factory=dict)
    """Failpoints of the process that leads first, by name."""
    standby: Mapping[str, str] = field(default_factory=dict)
    """Of the other one."""
    bound: tuple[str, ...] = ()
    """Pods (NAMESPACE/NAME) that have a node when everything is at rest."""
    native: str = ""
    """With groups of kube-scheduler's own kind: `planning.nativeGroups`."""
    observes: bool = False
    """Both processes observe, and the account is judged."""
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    """What the scheduler's configuration says besides. reprieve is not told."""

    def run(self, cluster: Cluster) -> None:
        """Prepare both processes and the nodes, and act."""
        plane, first, second = cluster.plane, *cluster.plane.layout.replicas
        plane.processes[second].stop()
        for name, failpoints in ((first, self.leader), (second, self.standby)):
            process = plane.processes[name]
            process.stop()
            points = ",".join(f"{point}={action}" for point, action in failpoints.items())
            process.environment = {**process.environment, "REPRIEVE_FAILPOINTS": points}
            plane.start_reprieve(name)
            _until(lambda: plane.leader() == first, f"{first} does not lead")
        for node in cluster.nodes:
            cluster.delete("v1", "Node", node)
        cluster.nodes.clear()
        self.act(cluster)


def _cut_off(cluster: Cluster) -> None:
    leader, other = cluster.plane.layout.replicas
    for number in range(3):
        _crowd(cluster, number, cluster.rng.randint(2, 4))
        if not number:
            _until(lambda: bool(_marked(cluster)), "nobody is marked")
            cluster.plane.networks[leader].disturb("BlackHole")
            _until(lambda: cluster.plane.leader() == other, f"{other} does not lead")
            cluster.plane.networks[leader].disturb("Reset")
            cluster.plane.networks[leader].disturb("Pass")
            time.sleep(STALE_SECONDS)
        else:
            time.sleep(2 * QUIET_SECONDS)


def _stale(cluster: Cluster) -> None:
    leader, other = cluster.plane.layout.replicas
    node = _node(cluster, "n")
    cluster.create(objects.pod_group("low", NAMESPACE, min_count=1, priority_class="p0"))
    cluster.create(objects.pod("low", NAMESPACE, group="low", priority_class="p500", node_name=node))
    _gang(cluster, HERO, 1)
    _until(lambda: bool(_marked(cluster)), "nobody is marked")
    time.sleep(STALE_SECONDS + QUIET_SECONDS)  # now the other one knows of the plan
    cluster.delete(
        REPRIEVE, "PodGroup", "low", NAMESPACE
    )  # so the priority of the pod counts, which is higher
    cluster.plane.processes[leader].kill()
    _until(lambda: cluster.plane.leader() == other, f"{other} does not lead")
    time.sleep(STALE_SECONDS)


def _ended_by_another(cluster: Cluster) -> None:
    leader, other = cluster.plane.layout.replicas
    _crowd(cluster, 0, cluster.rng.randint(1, 4))
    _until(lambda: bool(_marked(cluster)), "nobody is marked")
    cluster.plane.processes[leader].kill()
    _remove(cluster, f"{HERO}-0")
    _until(lambda: cluster.plane.leader() == other, f"{other} does not lead")
    time.sleep(QUIET_SECONDS)


def _turned_down(cluster: Cluster) -> None:
    plane, (leader, other) = cluster.plane, cluster.plane.layout.replicas
    for number in range(cluster.rng.randint(1, 3)):
        name, node = f"low-{number}", _node(cluster, "n")
        cluster.create(objects.pod_group(name, NAMESPACE, min_count=1, priority_class="p10"))
        cluster.create(objects.pod(name, NAMESPACE, group=name, priority_class="p10", node_name=node))
    plane.selected = [other]
    if plane.service is not None:
        plane.service.cut()
    plane.processes[leader].pause()
    cluster.paused.add(leader)
    cluster.create(objects.pod(URGENT, NAMESPACE, priority_class="p100"))
    _until(lambda: _is_turned_down(cluster, URGENT), "the pod was not turned down")
    plane.processes[leader].kill()
    cluster.paused.discard(leader)
    _until(lambda: plane.leader() == other, f"{other} does not lead")
    plane.selected = None
    time.sleep(QUIET_SECONDS)


def _beside_a_unit(cluster: Cluster) -> None:
    size = cluster.rng.randint(2, 3)
    nodes = [_node(cluster, "n") for _ in range(size)]
    cluster.create(objects.pod_group("whole", NAMESPACE, min_count=size, mode="all", priority_class="p0"))
    for number, node in enumerate(nodes):
        body = objects.pod(f"whole-{number}", NAMESPACE, group="whole", priority_class="p0", node_name=node)
        cluster.create(body)
    _until(lambda: _running(cluster) == size, "the unit does not run")
    cluster.create(objects.pod_group(HERO, NAMESPACE, priority_class="p100", api_version=NATIVE))
    cluster.create(_native(f"{HERO}-0", HERO))
    _until(lambda: _is_bound(cluster, f"{HERO}-0"), "the pod of the basic group is not bound")


def _beyond_minimum(cluster: Cluster) -> None:
    first, second = _node(cluster, "n"), _node(cluster, "n", cpu=2)
    cluster.create(objects.pod("low", NAMESPACE, priority_class="p0", node_name=second))
    gated = [{"name": "example.com/wait"}]
    cluster.create(objects.pod(URGENT, NAMESPACE, priority_class="p100", schedulingGates=gated))
    status = {"status": {"nominatedNodeName": second}}
    cluster.client.patch("v1", "Pod", URGENT, status, NAMESPACE, subresource="status")
    cluster.create(
        objects.pod_group(
            HERO, NAMESPACE, min_count=1, mode="single", priority_class="p50", api_version=NATIVE
        )
    )
    cluster.create(_native(f"{HERO}-0", HERO, "p50", nodeSelector={HOSTNAME: first}))
    _until(lambda: _is_bound(cluster, f"{HERO}-0"), "the gang does not run")
    cluster.create(_native(f"{HERO}-1", HERO, "p50"))
    time.sleep(2 * QUIET_SECONDS)
    cluster.delete("v1", "Pod", URGENT, NAMESPACE)


def _refused(cluster: Cluster) -> None:
    size = cluster.rng.randint(3, 4)
    for number in range(size):
        node, label = _node(cluster, "n"), {LABEL: DELETION} if number == size - 1 else None
        body = objects.pod(f"low-{number}", NAMESPACE, priority_class="p0", node_name=node, labels=label)
        cluster.create(body)
    _until(lambda: _running(cluster) == size, "not all pods run")
    _gang(cluster, HERO, size)
    _until(lambda: bool(_plans(cluster)), "nothing is decided for the gang")
    time.sleep(2 * QUIET_SECONDS)
    _remove(cluster, HERO)


def _accounted(cluster: Cluster) -> None:
    plane, (leader, other) = cluster.plane, cluster.plane.layout.replicas
    size = cluster.rng.randint(2, 3)
    nodes = [_node(cluster, "n") for _ in range(size + 1)]
    cluster.create(objects.pod_group("whole", NAMESPACE, min_count=size + 1, mode="all", priority_class="p0"))
    for number, node in enumerate(nodes):
        body = objects.pod(f"whole-{number}", NAMESPACE, group="whole", priority_class="p0", node_name=node)
        cluster.create(body)
    _until(lambda: _running(cluster) == size + 1, "the unit does not run")
    time.sleep(2 * QUIET_SECONDS)  # so that it is certain how many of it ran
    late = cluster.name("late")
    _gang(cluster, HERO, size, size + 1)
    cluster.create(_member(f"{HERO}-late", HERO, late))
    _until(lambda: _is_bound(cluster, f"{HERO}-{size - 1}"), "no room was made for the gang")
    time.sleep(LATE_SECONDS)
    cluster.create(objects.node(late, cpu="1", pods=20))
    cluster.nodes.append(late)
    _until(lambda: _is_bound(cluster, f"{HERO}-late"), "the gang does not run")

    only = _node(cluster, "n")
    cluster.create(objects.pod("low", NAMESPACE, priority_class="p0", node_name=only))
    cluster.create(objects.pod_group("vain", NAMESPACE, min_count=2, priority_class="p100"))
    for number in range(2):
        cluster.create(_member(f"vain-{number}", "vain", only))
    _until(lambda: any(_is_bound(cluster, f"vain-{each}") for each in range(2)), "no room was made for one")
    time.sleep(LONG_SECONDS)
    plane.processes[leader].kill()
    _until(lambda: plane.leader() == other, f"{other} does not lead")
    time.sleep(QUIET_SECONDS)


def _different(cluster: Cluster) -> None:
    nodes = [_node(cluster, "n", labels={"rack": "a"}) for _ in range(3)]
    for number, node in enumerate(nodes):
        cluster.create(objects.pod(f"low-{number}", NAMESPACE, priority_class="p0", node_name=node))
    other, web = _node(cluster, "n", labels={"rack": "b"}), {"app": "web"}
    cluster.create(objects.pod("high", NAMESPACE, priority_class="p500", node_name=other))
    holder = objects.pod("web", NAMESPACE, cpu=None, priority_class="p500", node_name=nodes[-1], labels=web)
    cluster.create(holder)
    meta = {"name": "web", "namespace": NAMESPACE}
    ports = [{"port": 80}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": meta}
    cluster.create({**service, "spec": {"selector": web, "ports": ports}})
    _until(lambda: _running(cluster) == 5, "the nodes are not full")
    cluster.create(objects.pod_group(HERO, NAMESPACE, min_count=3, priority_class="p100"))
    gate: dict[str, Any] = {"schedulingGates": [{"name": SCHEDULING_GATE}]}
    for number, labels in enumerate(({}, {}, web)):
        name = f"{HERO}-{number}"
        pod = objects.pod(name, NAMESPACE, group=HERO, priority_class="p100", labels=labels, **gate)
        cluster.create(pod)
    time.sleep(STALE_SECONDS)


cut_off: Final = Scenario(_cut_off, leader={"evict.between": "1s"}, standby={"evict.before_first": "3s"})
"""The leader is cut off while it evicts. It comes back when another one leads, and gangs go on coming."""
stale: Final = Scenario(
    _stale, leader={"evict.marked": "60s"}, standby={"mirror.delay": f"{STALE_SECONDS:.0f}s"}
)
"""The leader dies before it deletes a pod. Right before that the pod became too important. The next one hears late."""
ended_by_another: Final = Scenario(_ended_by_another, leader={"evict.marked": "60s"})
"""The leader dies between mark and deletion, and then nobody wants the room any longer."""
turned_down: Final = Scenario(_turned_down, bound=(f"{NAMESPACE}/{URGENT}",))
"""While the leader stands still, a pod is turned down that could preempt a pod of a group: only a leader allows that.
Nothing happens then that would have the scheduler try it again."""
beside_a_unit: Final = Scenario(_beside_a_unit, bound=(f"{NAMESPACE}/{HERO}-0",), native="Drive")
"""A pod of a basic native group has no room, and every node has a pod of a unit that kube-scheduler does not know."""
beyond_minimum: Final = Scenario(_beyond_minimum, bound=(f"{NAMESPACE}/{HERO}-1",), native="Drive")
"""A native gang runs, and one more member comes. A node has room by its pods, but a more important pod is nominated
there. The scheduler finds room only if it supposes that a pod of low priority is gone."""

refused: Final = Scenario(_refused, bound=tuple(f"{NAMESPACE}/low-{number}" for number in range(3)))
"""A gang needs the nodes of several pods, and an admission policy refuses the deletion of one of them. So nothing is
evicted."""

different: Final = Scenario(
    _different,
    bound=tuple(f"{NAMESPACE}/low-{number}" for number in range(3)),
    scheduler={
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [
                    {
                        "name": "PodTopologySpread",
                        "args": {
                            "defaultingType": "List",
                            "defaultConstraints": [
                                {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
                            ],
                        },
                    }
                ],
            }
        ]
    },
)
"""The third member of a gang has a label that a Service selects. For such pods alone the scheduler spreads, and refuses
all nodes. Our model sees no difference to the other members."""

accounted: Final = Scenario(_accounted, observes=True)
"""Schedulers preempt for two gangs. One gets its last node late, and a group that is evicted whole loses a part for it.
The other one stays in pieces, and then the leader dies."""


# ---- steps


def _crowd(cluster: Cluster, number: int, size: int) -> None:
    """Full nodes, and a gang that wants all of them."""
    for _ in range(size):
        node = _node(cluster, "n")
        body = objects.pod(cluster.name("low"), NAMESPACE, priority_class="p0", node_name=node)
        cluster.create(body)
    _gang(cluster, f"{HERO}-{number}", size)


def _node(cluster: Cluster, prefix: str, *, cpu: int = 1, labels: Mapping[str, str] | None = None) -> str:
    name = cluster.name(prefix)
    cluster.create(objects.node(name, cpu=str(cpu), pods=20, labels=labels))
    cluster.nodes.append(name)
    return name


def _gang(cluster: Cluster, name: str, size: int, minimum: int | None = None) -> None:
    cluster.create(objects.pod_group(name, NAMESPACE, min_count=minimum or size, priority_class="p100"))
    for number in range(size):
        cluster.create(objects.pod(f"{name}-{number}", NAMESPACE, group=name, priority_class="p100"))


def _member(name: str, group: str, node: str) -> Json:
    """A pod of a gang that wants this node."""
    return objects.pod(name, NAMESPACE, group=group, priority_class="p100", nodeSelector={HOSTNAME: node})


def _native(name: str, group: str, priority: str = "p100", **spec: Any) -> Json:
    """A pod of a native group."""
    named = {"podGroupName": group}
    return objects.pod(name, NAMESPACE, priority_class=priority, schedulingGroup=named, **spec)


def _running(cluster: Cluster) -> int:
    pods = cluster.client.list("v1", "Pod", NAMESPACE)
    return sum(pod.get("status", {}).get("phase") == "Running" for pod in pods)


def _plans(cluster: Cluster) -> list[Json]:
    return cluster.client.list(REPRIEVE, "PreemptionPlan", NAMESPACE)


def _is_bound(cluster: Cluster, name: str) -> bool:
    pod = cluster.client.find("v1", "Pod", name, NAMESPACE) or {}
    return bool(pod.get("spec", {}).get("nodeName"))


def _remove(cluster: Cluster, gang: str) -> None:
    cluster.delete(REPRIEVE, "PodGroup", gang, NAMESPACE)
    for pod in cluster.client.list("v1", "Pod", NAMESPACE, labels=f"{objects.GROUP_LABEL}={gang}"):
        cluster.delete("v1", "Pod", pod["metadata"]["name"], NAMESPACE)


def _marked(cluster: Cluster) -> list[str]:
    return [
        pod["metadata"]["name"]
        for pod in cluster.client.list("v1", "Pod", NAMESPACE)
        if any(each["type"] == "DisruptionTarget" for each in _conditions(pod))
    ]


def _is_turned_down(cluster: Cluster, name: str) -> bool:
    pod = cluster.client.find("v1", "Pod", name, NAMESPACE) or {}
    return any((each["type"], each["status"]) == ("PodScheduled", "False") for each in _conditions(pod))


def _conditions(pod: Json) -> list[Json]:
    return list(pod.get("status", {}).get("conditions") or ())


def _until(check: Callable[[], bool], complaint: str) -> None:
    wait_until(check, PATIENCE_SECONDS, complaint.__str__)
