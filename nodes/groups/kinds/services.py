"""Pods by themselves, and what keeps a number of equal pods.

Sources: pkg/controller/{deployment,replicaset,statefulset,replication} of Kubernetes, pkg/controllers and
pkg/webhooks of kubernetes-sigs/lws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from api.foreign_owners import LeaderWorkerSet, Template
from api.meta import ObjectMeta
from api.pod_owners import BarePod, Deployment, PodSets, ReplicaSet, ReplicationController, StatefulSet
from nodes.groups.kinds.alone import Alone, key_of
from nodes.groups.kinds.kind import (
    MOST,
    Awaited,
    Grouping,
    Held,
    Kind,
    Part,
    Queueing,
    count_or,
    reference,
    revision_of,
)

__all__ = [
    "DEPLOYMENT",
    "LEADER_WORKER_SET",
    "POD",
    "REPLICATION_CONTROLLER",
    "REPLICA_SET",
    "STATEFUL_SET",
    "WORKLOAD",
]

LWS: Final = "leaderworkerset.sigs.k8s.io"
EXCLUSIVE_REPLICA: Final = f"{LWS}/exclusive-topology"
"""On a LeaderWorkerSet: each replica has a domain for itself."""
EXCLUSIVE_SUBGROUP: Final = f"{LWS}/subgroup-exclusive-topology"
"""On a LeaderWorkerSet: each subgroup of a replica has a domain for itself."""


# ---- Pod


def _pod(pod: BarePod, _: int) -> Iterator[Part]:
    meta = ObjectMeta(labels=pod.metadata.labels, annotations=pod.metadata.annotations)
    yield Part("main", 1, "", Template(meta, pod.spec), None, pod.metadata.name)


POD: Final = Kind("Pod", "v1", BarePod, _pod, Queueing.PODS)


# ---- a number of equal pods


def _replicas(
    api_version: str, kind: str, claims: str = "", revision: str = ""
) -> Callable[[ReplicaSet, int], Iterator[Part]]:
    """`kind`: of their controller. `claims`: where templates of their claims are.

    `revision`: the label that tells the pods of one template from those of another, if the controller adds one.
    """

    def parts(item: ReplicaSet, _: int) -> Iterator[Part]:
        meta, spec = item.metadata, item.spec
        owner = reference(api_version, kind, meta.name, meta)
        count = count_or(spec.replicas, 1)
        labels = {revision: revision_of(meta)} if revision else {}
        yield Part("main", count, "spec.template", spec.template, owner, meta.name, labels, claims=claims)

    return parts


def _paused(item: Deployment) -> Held | None:
    """A Deployment that is new and paused has no ReplicaSet. One that has pods keeps them."""
    return Held("it is paused, so it keeps the pods that it has", resumed=False) if item.spec.paused else None


DEPLOYMENT: Final = Kind(
    "Deployment",
    "apps/v1",
    Deployment,
    _replicas("apps/v1", "ReplicaSet", revision="pod-template-hash"),
    Queueing.PODS,
    held=_paused,
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
    _replicas("apps/v1", "StatefulSet", "spec.volumeClaimTemplates", "controller-revision-hash"),
    Queueing.WHOLE,
)


# ---- LeaderWorkerSet


def _replica(item: LeaderWorkerSet, copy: int) -> Iterator[Part]:
    """A replica: the leader, and its workers, which a StatefulSet with the leader's name creates."""
    meta, its = item.metadata, item.spec.leader_worker_template
    name, path = f"{meta.name}-{copy}", "spec.leaderWorkerTemplate"
    labels, alone = _of_replica(meta, name, copy)
    is_own = its.leader_template is not None
    leader = f"{path}.leaderTemplate" if is_own else f"{path}.workerTemplate"
    template = its.leader_template if is_own else its.worker_template
    owner = reference("apps/v1", "StatefulSet", meta.name, meta, meta.name)
    first, *others = _subgroups(item)
    own, more = _of_subgroup(item, name, first.number)
    own |= {**labels, f"{LWS}/worker-index": "0"}
    yield Part(f"leader-{copy}", 1, leader, template, owner, f"{name}-leader", own, alone=[*alone, *more])
    owner, path = reference("apps/v1", "StatefulSet", name, meta, name), f"{path}.workerTemplate"
    for each in others:
        own, more = _of_subgroup(item, name, each.number)
        yield Part(
            f"worker-{copy}",
            each.pods,
            path,
            its.worker_template,
            owner,
            f"{name}-worker" if each.number is None else f"{name}-worker-{each.number}",
            {**labels, **own},
            after=_awaited(item),
            alone=[*alone, *more],
        )


def _awaited(item: LeaderWorkerSet) -> Awaited | None:
    if item.spec.startup_policy == "LeaderReady":
        return Awaited("the leader is ready")
    return (
        Awaited("the leader has a node") if EXCLUSIVE_REPLICA in (item.metadata.annotations or {}) else None
    )


def _of_replica(meta: ObjectMeta, leader: str, copy: int) -> tuple[dict[str, str], list[Alone]]:
    """The labels of its pods, and why they have a domain for themselves."""
    label, key = f"{LWS}/group-key", key_of(meta.namespace, leader)
    labels = {
        f"{LWS}/name": meta.name,
        f"{LWS}/group-index": str(copy),
        f"{LWS}/template-revision-hash": revision_of(meta),
        label: key,
    }
    topology = (meta.annotations or {}).get(EXCLUSIVE_REPLICA)
    return labels, [Alone(topology, label, key, everywhere=False)] if topology else []


class _Subgroup(NamedTuple):
    """Pods of one replica that belong together."""

    pods: int
    number: int | None
    """None if they are in no subgroup."""


def _subgroups(item: LeaderWorkerSet) -> list[_Subgroup]:
    """That of the leader, and those of the workers. Only subgroups that have a domain for themselves matter."""
    its = item.spec.leader_worker_template
    workers, policy = max(0, count_or(its.size, 1) - 1), its.sub_group_policy
    size = policy.sub_group_size if policy is not None else None
    if not size or not (item.metadata.annotations or {}).get(EXCLUSIVE_SUBGROUP):
        return [_Subgroup(1, None), _Subgroup(workers, None)]
    without = policy is not None and policy.type == "LeaderExcluded"
    before = 0 if without or workers % size == 0 else 1
    counts = Counter((worker + before) // size for worker in range(min(workers, MOST)))
    lead = _Subgroup(1, None if without else 0)
    return [lead, *(_Subgroup(pods, index) for index, pods in sorted(counts.items()))]


def _of_subgroup(item: LeaderWorkerSet, leader: str, index: int | None) -> tuple[dict[str, str], list[Alone]]:
    """The labels of its pods, and why they have a domain for themselves."""
    if index is None:
        return {}, []
    label, key = f"{LWS}/subgroup-key", key_of(leader, str(index))
    topology = (item.metadata.annotations or {})[EXCLUSIVE_SUBGROUP]
    return {f"{LWS}/subgroup-index": str(index), label: key}, [Alone(topology, label, key, everywhere=False)]


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
