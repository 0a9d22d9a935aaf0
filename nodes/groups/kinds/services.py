"""Pods by themselves, and what keeps a number of equal pods.

Sources: pkg/controller/{deployment,replicaset,statefulset,replication} of Kubernetes, pkg/controllers and
pkg/webhooks of kubernetes-sigs/lws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from api.foreign_owners import LeaderWorkerSet, Template
from api.meta import ObjectMeta
from api.pod_owners import BarePod, Deployment, PodSets, ReplicaSet, ReplicationController, StatefulSet
from nodes.groups.kinds.kind import Awaited, Grouping, Held, Kind, Part, Queueing, count_or, reference

__all__ = [
    "DEPLOYMENT",
    "LEADER_WORKER_SET",
    "POD",
    "REPLICATION_CONTROLLER",
    "REPLICA_SET",
    "STATEFUL_SET",
    "WORKLOAD",
]

EXCLUSIVE_REPLICA: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
"""On a LeaderWorkerSet: each replica has a domain for itself."""


# ---- Pod


def _pod(pod: BarePod, _: int) -> Iterator[Part]:
    meta = ObjectMeta(labels=pod.metadata.labels, annotations=pod.metadata.annotations)
    yield Part("main", 1, "", Template(meta, pod.spec), None, pod.metadata.name)


POD: Final = Kind("Pod", "v1", BarePod, _pod, Queueing.PODS)


# ---- a number of equal pods


def _replicas(api_version: str, kind: str, claims: str = "") -> Callable[[ReplicaSet, int], Iterator[Part]]:
    """`kind`: of their controller. `claims`: where templates of their claims are."""

    def parts(item: ReplicaSet, _: int) -> Iterator[Part]:
        meta, spec = item.metadata, item.spec
        owner = reference(api_version, kind, meta.name, meta)
        count = count_or(spec.replicas, 1)
        yield Part("main", count, "spec.template", spec.template, owner, meta.name, claims=claims)

    return parts


def _paused(item: Deployment) -> Held | None:
    """A Deployment that is new and paused has no ReplicaSet. One that has pods keeps them."""
    return Held("it is paused, so it keeps the pods that it has", resumed=False) if item.spec.paused else None


DEPLOYMENT: Final = Kind(
    "Deployment", "apps/v1", Deployment, _replicas("apps/v1", "ReplicaSet"), Queueing.PODS, held=_paused
)
REPLICA_SET: Final = Kind(
    "ReplicaSet", "apps/v1", ReplicaSet, _replicas("apps/v1", "ReplicaSet"), Queueing.NONE
)
REPLICATION_CONTROLLER: Final = Kind(
    "ReplicationController",
    "v1",
    ReplicationController,
    _replicas("v1", "ReplicationController"),
    Queueing.NONE,
)
STATEFUL_SET: Final = Kind(
    "StatefulSet",
    "apps/v1",
    StatefulSet,
    _replicas("apps/v1", "StatefulSet", "spec.volumeClaimTemplates"),
    Queueing.WHOLE,
)


# ---- LeaderWorkerSet


def _replica(item: LeaderWorkerSet, copy: int) -> Iterator[Part]:
    """A replica: the leader, and its workers, which a StatefulSet with the leader's name creates."""
    meta, its, said = item.metadata, item.spec.leader_worker_template, item.metadata.annotations or {}
    name, path = f"{meta.name}-{copy}", "spec.leaderWorkerTemplate"
    labels = {
        "leaderworkerset.sigs.k8s.io/name": meta.name,
        "leaderworkerset.sigs.k8s.io/group-index": str(copy),
    }
    is_own = its.leader_template is not None
    leader = f"{path}.leaderTemplate" if is_own else f"{path}.workerTemplate"
    template = its.leader_template if is_own else its.worker_template
    owner = reference("apps/v1", "StatefulSet", meta.name, meta, meta.name)
    yield Part(f"leader-{copy}", 1, leader, template, owner, f"{name}-leader", labels)
    after = None
    if item.spec.startup_policy == "LeaderReady":
        after = Awaited("the leader is ready")
    elif EXCLUSIVE_REPLICA in said:
        after = Awaited("the leader has a node")
    workers = max(0, count_or(its.size, 1) - 1)
    owner = reference("apps/v1", "StatefulSet", name, meta, name)
    path = f"{path}.workerTemplate"
    yield Part(
        f"worker-{copy}", workers, path, its.worker_template, owner, f"{name}-worker", labels, after=after
    )


LEADER_WORKER_SET: Final = Kind(
    kind="LeaderWorkerSet",
    api_version="leaderworkerset.x-k8s.io/v1",
    type=LeaderWorkerSet,
    parts=_replica,
    queueing=Queueing.COPIES,
    copies=lambda item: count_or(item.spec.replicas, 1),
    grouping=Grouping.YES,
    plural="leaderworkersets",
)


# ---- Workload


def _pod_sets(item: PodSets, _: int) -> Iterator[Part]:
    meta = item.metadata
    for at, each in enumerate(item.spec.pod_sets or ()):
        path = f"spec.podSets[{at}].template"
        yield Part(each.name, count_or(each.count, 1), path, each.template, None, f"{meta.name}-{each.name}")


WORKLOAD: Final = Kind("Workload", "kueue.x-k8s.io/v1beta2", PodSets, _pod_sets, Queueing.WHOLE)
