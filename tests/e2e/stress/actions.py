"""What the load does, one action at a step. An action draws from the cluster's random numbers.

It does not look at the real cluster: the seed alone decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from api.groups import SCHEDULING_GATE
from hack.controlplane import objects
from hack.controlplane.client import Json
from tests.e2e.stress.cluster import (
    FINALIZER,
    PRIORITIES,
    RACKS,
    REPRIEVE,
    SECOND_SCHEDULER,
    TAINT,
    Cluster,
    Gang,
    Owned,
)
from tests.e2e.stress.refusals import DELETION, STATUS

__all__ = [
    "ACTIONS",
    "GANGS",
    "OWNED",
    "Action",
    "add_gang",
    "add_job",
    "add_pod",
    "kill",
    "pause",
    "remove_gang",
    "remove_owned",
]

Action = Callable[[Cluster], object]

GANGS: Final = 10
"""The number of gangs that stay. Beyond it, any one is removed before a new one comes, so that some wait for long."""
OWNED: Final = 9
STUCK: Final = 3
REFUSED: Final = 3


def add_gang(cluster: Cluster) -> None:
    """A group and its pods; sometimes fewer pods than minCount, sometimes pods of another class than their group."""
    rng = cluster.rng
    if len(cluster.gangs) >= GANGS:
        remove_gang(cluster)
    namespace, name = rng.choice(cluster.namespaces), cluster.name("gang")
    members, priority = rng.randint(1, 6), f"p{rng.choice(PRIORITIES)}"
    _add_group(cluster, namespace, name, members if rng.random() < 0.7 else rng.randint(1, members), priority)
    pods = tuple(f"{name}-{number}" for number in range(members - (rng.random() < 0.1)))
    own = priority if rng.random() < 0.92 else f"p{rng.choice(PRIORITIES)}"
    gates: dict[str, Any] = (
        {"schedulingGates": [{"name": SCHEDULING_GATE}]} if rng.random() < cluster.gated else {}
    )
    cpu, grace = rng.choice(("500m", "1", "1", "2")), rng.choice((0, 0, 1))
    for pod in pods:
        body = objects.pod(
            pod, namespace, cpu=cpu, group=name, priority_class=own, grace_seconds=grace, **gates
        )
        cluster.create(body)
    cluster.gangs.append(Gang(namespace, name, pods))


def add_job(cluster: Cluster) -> None:
    """A gang whose pods a Job creates, and creates again when they are evicted."""
    rng = cluster.rng
    if len(cluster.gangs) >= GANGS:
        remove_gang(cluster)
    namespace, name, priority = (
        rng.choice(cluster.namespaces),
        cluster.name("job"),
        rng.choice(PRIORITIES[:4]),
    )
    pods = rng.randint(2, 4)
    _add_group(cluster, namespace, name, pods, f"p{priority}")
    template = _template(cluster, namespace, f"p{priority}", group=name, restartPolicy="Never")
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 1000, "template": template}
    cluster.create(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": _meta(namespace, name), "spec": spec}
    )
    cluster.gangs.append(Gang(namespace, name, (), job=True))


def _add_group(cluster: Cluster, namespace: str, name: str, minimum: int, priority: str) -> None:
    rng = cluster.rng
    mode, topology = rng.choice(("all", "single", None)), rng.choice(("rack", None, None))
    body = objects.pod_group(
        name, namespace, min_count=minimum, mode=mode, topology=topology, priority_class=priority
    )
    cluster.create(body)


def add_pod(cluster: Cluster) -> None:
    """A pod without a group; some for the second scheduler, some put on a node by name."""
    rng = cluster.rng
    _make_space(cluster)
    namespace, name = rng.choice(cluster.namespaces), cluster.name("pod")
    body = objects.pod(
        name,
        namespace,
        cpu=rng.choice(("500m", "1")),
        priority_class=f"p{rng.choice(PRIORITIES[:4])}",
        **_place(cluster),
    )
    cluster.create(body)
    cluster.owned.append(Owned("v1", "Pod", namespace, name))


def add_deployment(cluster: Cluster) -> None:
    """Pods of low priority that come back at once, wherever they are put; sometimes in a group that goes whole."""
    rng = cluster.rng
    _make_space(cluster)
    namespace, name, priority = (
        rng.choice(cluster.namespaces),
        cluster.name("dep"),
        f"p{rng.choice(PRIORITIES[:3])}",
    )
    replicas = rng.randint(1, 4)
    in_group = rng.random() < 0.3
    if in_group:
        body = objects.pod_group(name, namespace, min_count=1, mode="all", priority_class=priority)
        cluster.create(body)
    place = {} if in_group else _place(cluster)
    template = _template(cluster, namespace, priority, group=name if in_group else None, **place)
    template["metadata"]["labels"]["app"] = name
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    cluster.create(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _meta(namespace, name), "spec": spec}
    )
    cluster.owned.append(Owned("apps/v1", "Deployment", namespace, name))
    if in_group:
        cluster.owned.append(Owned(REPRIEVE, "PodGroup", namespace, name))


def _place(cluster: Cluster) -> dict[str, Any]:
    """Mostly nothing."""
    draw = cluster.rng.random()
    if draw < 0.15:
        return {"schedulerName": SECOND_SCHEDULER}
    return {"node_name": cluster.rng.choice(cluster.nodes)} if draw < 0.25 else {}


def _template(cluster: Cluster, namespace: str, priority: str, **pod: Any) -> Json:
    body = objects.pod("", namespace, cpu=cluster.rng.choice(("500m", "1")), priority_class=priority, **pod)
    return {"metadata": {"labels": body["metadata"]["labels"]}, "spec": body["spec"]}


def _meta(namespace: str, name: str) -> Json:
    return {"namespace": namespace, "name": name}


def _make_space(cluster: Cluster) -> None:
    if len(cluster.owned) >= OWNED:
        remove_owned(cluster, 0)


def remove_gang(cluster: Cluster) -> None:
    """The work of a gang is done."""
    if cluster.gangs:
        cluster.delete_gang(cluster.gangs.pop(cluster.rng.randrange(len(cluster.gangs))))


def remove_owned(cluster: Cluster, place: int | None = None) -> None:
    """A pod, a Deployment, a budget, or the group of a Deployment that stays."""
    if cluster.owned:
        gone = cluster.owned.pop(cluster.rng.randrange(len(cluster.owned)) if place is None else place)
        cluster.delete(gone.version, gone.kind, gone.name, gone.namespace)


def remove_group(cluster: Cluster) -> None:
    """A group goes, its pods stay for a while."""
    if cluster.gangs:
        gang = cluster.rng.choice(cluster.gangs)
        cluster.delete(gang.version, "PodGroup", gang.name, gang.namespace)


def remove_member(cluster: Cluster) -> None:
    """One pod of a gang."""
    if pods := cluster.pods_of_all():
        namespace, name = cluster.rng.choice(pods)
        cluster.delete("v1", "Pod", name, namespace)


def change_minimum(cluster: Cluster) -> None:
    """Another minCount."""
    if cluster.gangs:
        gang = cluster.rng.choice(cluster.gangs)
        spec = {"schedulingPolicy": {"gang": {"minCount": cluster.rng.randint(1, 6)}}}
        cluster.patch(gang.version, "PodGroup", (gang.name, gang.namespace), {"spec": spec})


def cordon(cluster: Cluster) -> None:
    """Nobody new on a node for a while."""
    name = cluster.rng.choice(cluster.nodes)
    cluster.patch_node(name, {"unschedulable": True})
    cluster.in_steps(20, partial(cluster.patch_node, name, {"unschedulable": None}))


def taint(cluster: Cluster) -> None:
    """The same by a taint; one in four drives the node's pods away."""
    name = cluster.rng.choice(cluster.nodes)
    effect = "NoExecute" if cluster.rng.random() < 0.25 else "NoSchedule"
    cluster.patch_node(name, {"taints": [{"key": TAINT, "effect": effect}]})
    cluster.in_steps(20, partial(cluster.patch_node, name, {"taints": None}))


def relabel(cluster: Cluster) -> None:
    """A node moves to another rack."""
    name = cluster.rng.choice(cluster.nodes)
    labels = {"labels": {"rack": f"r{cluster.rng.randrange(RACKS)}"}}
    cluster.patch("v1", "Node", (name, None), {"metadata": labels})


def resize(cluster: Cluster) -> None:
    """A node has more or less room."""
    name = cluster.rng.choice(cluster.nodes)
    cpu = {"cpu": str(cluster.rng.randint(2, 4))}
    cluster.patch("v1", "Node", (name, None), {"status": {"allocatable": cpu, "capacity": cpu}}, "status")


def replace_node(cluster: Cluster) -> None:
    """A node goes, and another one comes a little later."""
    name = cluster.nodes.pop(cluster.rng.randrange(len(cluster.nodes)))
    cluster.delete("v1", "Node", name)
    cluster.add_node()


def stick(cluster: Cluster) -> None:
    """A deleted pod stays for a while."""
    pods = cluster.pods_of_all()
    if not pods or len(cluster.stuck) >= STUCK:
        return
    pod = cluster.rng.choice(pods)
    cluster.set_finalizers(pod, [FINALIZER])
    cluster.stuck.append(pod)
    cluster.in_steps(80, partial(_unstick, cluster, pod))


def _unstick(cluster: Cluster, pod: tuple[str, str]) -> None:
    cluster.set_finalizers(pod, None)
    cluster.stuck.remove(pod)


def refuse_deletion(cluster: Cluster) -> None:
    """For a while the API server lets nobody preempt one pod, most often of a gang."""
    _refuse(cluster, DELETION)


def refuse_status(cluster: Cluster) -> None:
    """For a while the API server lets nobody who preempts write a pod's status: no mark, no nomination."""
    _refuse(cluster, STATUS)


def _refuse(cluster: Cluster, what: str) -> None:
    pods = cluster.pods_of_all()
    if not pods or len(cluster.refused) >= REFUSED:
        return
    pod = cluster.rng.choice(pods)
    cluster.refuse(pod, what)
    cluster.refused.append(pod)
    cluster.in_steps(60, partial(_allow, cluster, pod))


def _allow(cluster: Cluster, pod: tuple[str, str]) -> None:
    cluster.refuse(pod, None)
    cluster.refused.remove(pod)


def refuse_bindings(cluster: Cluster) -> None:
    """For a while the API server lets nobody be bound to a node, though the scheduler chooses it."""
    name = cluster.rng.choice(cluster.nodes)
    cluster.refuse_bindings(name, refused=True)
    cluster.in_steps(30, partial(cluster.refuse_bindings, name, refused=False))


def add_budget(cluster: Cluster) -> None:
    """A budget for the pods of a gang or of a Deployment."""
    rng = cluster.rng
    if not cluster.gangs:
        return
    _make_space(cluster)
    gang, name = rng.choice(cluster.gangs), cluster.name("budget")
    labels = {objects.GROUP_LABEL: gang.name}
    cluster.create(
        objects.pod_disruption_budget(name, gang.namespace, labels, min_available=rng.randint(1, 3))
    )
    cluster.owned.append(Owned("policy/v1", "PodDisruptionBudget", gang.namespace, name))


def visit_namespace(cluster: Cluster) -> None:
    """A namespace comes, and goes with all that is in it."""
    name = cluster.name("visitor")
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    cluster.namespaces.append(name)
    cluster.in_steps(60, partial(_remove_namespace, cluster, name))


def _remove_namespace(cluster: Cluster, name: str) -> None:
    cluster.namespaces.remove(name)
    cluster.gangs = [gang for gang in cluster.gangs if gang.namespace != name]
    cluster.owned = [each for each in cluster.owned if each.namespace != name]
    cluster.training = {key: each for key, each in cluster.training.items() if key[0] != name}
    cluster.delete("v1", "Namespace", name)


def kill(cluster: Cluster) -> None:
    """SIGKILL for a process of reprieve, and a new one a little later."""
    name = _draw_process(cluster)
    if name is not None:
        cluster.plane.processes[name].kill()
        cluster.in_steps(15, partial(cluster.restart, name))


def pause(cluster: Cluster) -> None:
    """SIGSTOP for a process of reprieve, and SIGCONT a little later."""
    name = _draw_process(cluster)
    if name is not None:
        cluster.paused.add(name)
        cluster.plane.processes[name].pause()
        cluster.in_steps(30, partial(cluster.restart, name))


def _draw_process(cluster: Cluster) -> str | None:
    """The name of one of reprieve's processes, if that one runs."""
    name = cluster.rng.choice(cluster.plane.layout.replicas)
    return name if name in cluster.running() else None


ACTIONS: Final[dict[Action, int]] = {
    add_gang: 24,
    add_job: 8,
    add_pod: 20,
    add_deployment: 10,
    remove_gang: 8,
    remove_owned: 14,
    remove_group: 4,
    remove_member: 6,
    change_minimum: 6,
    cordon: 6,
    taint: 6,
    relabel: 4,
    resize: 4,
    replace_node: 4,
    stick: 6,
    refuse_deletion: 6,
    refuse_status: 3,
    refuse_bindings: 3,
    add_budget: 4,
    visit_namespace: 2,
    kill: 1,
    pause: 1,
}
"""How often, in relation to one another."""
