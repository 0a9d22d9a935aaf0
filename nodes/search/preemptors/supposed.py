"""Pods that do not exist yet, and pods that will be gone: a snapshot with the first and without the others.

The quota plane asks whether the pods of a Workload would find places once the pods of its victims have left. The
Workload's templates say what its pods will be like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from api.core import Pod, PriorityClass
from api.priority import SYSTEM_CLASSES, global_default, preemption_policy
from nodes.filters.pod_volumes import PodVolumes
from nodes.filters.profile import DEFAULT_SCHEDULER
from nodes.groups.forms import by_its_pods, is_basic
from nodes.groups.keys import is_foreign
from nodes.groups.registry import GroupKey, groups_of
from nodes.search.preemptors.gangs import topology_key_of
from nodes.search.preemptors.more_rows import longer, with_classes, with_resources
from nodes.search.preemptors.preemptor import DecisionError, Preemptor, priority_of_group
from nodes.state.columns.classes import PodClass, pod_class, with_claims
from nodes.state.columns.flags import STAYING, TERMINATING, UNSAID, UNSELECTED
from nodes.state.columns.shared import copied
from nodes.state.snapshot import Snapshot
from nodes.state.volumes.volume_facts import ClaimUse

__all__ = [
    "Supposed",
    "SupposedPods",
    "WorkloadName",
    "leaving_with",
    "priorities_of",
    "priority_of",
    "supposed",
]


@dataclass(frozen=True, slots=True)
class WorkloadName:
    """The Workload that the pods will belong to."""

    api_version: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class SupposedPods:
    """Pods that are equal and do not exist yet."""

    pod_set: str
    count: int
    pod: Pod
    """What each of them will be like: namespace, labels and spec. Its name and its UID do not count."""
    volumes: PodVolumes | None = None
    """What is behind its claims; None if nobody has looked: then they are named."""
    claims: tuple[ClaimUse, ...] = ()
    """The claims that each of them will use."""
    own: frozenset[tuple[str, str]] = frozenset()
    """Those (namespace and name) that are made anew for each pod, and that no other pod uses."""

    def claims_of(self, number: int) -> tuple[ClaimUse, ...]:
        """The claims of one of them."""
        if not self.own:
            return self.claims
        return tuple(
            each._replace(claim=(each.claim[0], f"{each.claim[1]} {number}"))
            if each.claim in self.own
            else each
            for each in self.claims
        )


@dataclass(frozen=True, slots=True)
class Supposed:
    """A snapshot with supposed pods in it, and the Workload as a preemptor whose members they are."""

    snapshot: Snapshot
    preemptor: Preemptor


def supposed(snapshot: Snapshot, workload: WorkloadName, sets: Sequence[SupposedPods]) -> Supposed:
    """The Workload as a preemptor: all its pods must find places, or none does.

    Raises DecisionError if a PriorityClass does not exist, and ValueError for a quantity that cannot be read.
    """
    group, priority, evicts = _standing(snapshot, workload, sets)
    known = snapshot.groups[group] if group >= 0 else None
    snapshot, rows = with_pods(snapshot, sets, group=group, priority=priority)
    return Supposed(
        snapshot,
        Preemptor(
            kind="Workload",
            api_version=workload.api_version,
            namespace=workload.namespace,
            name=workload.name,
            uid=workload.uid,
            priority=priority,
            evicts=evicts,
            mismatch=None,
            group=group,
            policy="gang",
            minimum=len(rows),
            topology_key=topology_key_of(known) if known is not None else None,
            bound=(),
            unbound=rows,
            budgets=snapshot.costs.budget_policy(workload.namespace, known),
        ),
    )


def priority_of(snapshot: Snapshot, workload: WorkloadName, sets: Sequence[SupposedPods]) -> int:
    """The priority with which the Workload asks for nodes. Raises DecisionError as `supposed` does."""
    return _standing(snapshot, workload, sets)[1]


def priorities_of(snapshot: Snapshot, workload: WorkloadName, sets: Sequence[SupposedPods]) -> set[int]:
    """The priorities that the pods will have, whatever their group says. Raises DecisionError as `supposed` does."""
    return {_of_pod(snapshot, workload, each)[0] for each in sets if each.count}


def leaving_with(snapshot: Snapshot, pods: Iterable[str]) -> Snapshot:
    """The snapshot in which these pods (UIDs) terminate: their room is free for those who plan.

    A pod whose room nobody may plan with (STAYING) keeps it. Pods that are not there are passed over.
    """
    known = {row for uid in pods if (row := snapshot.pod_rows.get(uid)) is not None}
    going = np.array(sorted(known), np.intp)
    going = going[snapshot.pod_flags[going] & (TERMINATING | STAYING) == 0]
    if not len(going):
        return snapshot
    flags, leaving = snapshot.pod_flags.copy(), snapshot.leaving.copy()
    flags[going] |= TERMINATING
    bound = going[snapshot.pod_node[going] >= 0]
    np.add.at(leaving, snapshot.pod_node[bound], snapshot.class_requests[snapshot.pod_class[bound]])
    return replace(snapshot, pod_flags=flags, leaving=leaving)


# ---- with more pods


def with_pods(
    snapshot: Snapshot, sets: Sequence[SupposedPods], *, group: int, priority: int
) -> tuple[Snapshot, tuple[int, ...]]:
    """The snapshot with pods that wait, and their rows in order. They are named after pod set and number.

    `group`: the row of their PodGroup, -1 for none. Raises ValueError for a quantity that cannot be read.
    """
    classes = [_supposed_class(each, snapshot) for each in sets]
    snapshot = with_resources(snapshot, classes)
    class_rows, snapshot = with_classes(snapshot, classes)
    label_rows = [len(snapshot.label_sets) + place for place in range(len(sets))]
    counts = [each.count for each in sets]
    before, added = len(snapshot.pod_live), sum(counts)
    names = [f"{each.pod_set}-{number}" for each in sets for number in range(each.count)]

    more = replace(
        snapshot,
        pod_live=longer(added, snapshot.pod_live, True),
        pod_namespaces=snapshot.pod_namespaces.extended(
            each.pod.metadata.namespace for each in sets for _ in range(each.count)
        ),
        pod_names=snapshot.pod_names.extended(names),
        pod_uids=snapshot.pod_uids.extended([""] * added),
        pod_node=longer(added, snapshot.pod_node, -1),
        pod_class=longer(added, snapshot.pod_class, np.repeat(class_rows, counts)),
        pod_group=longer(added, snapshot.pod_group, group),
        pod_labels=longer(added, snapshot.pod_labels, np.repeat(label_rows, counts)),
        pod_priority=longer(added, snapshot.pod_priority, priority),
        pod_scheduler=longer(added, snapshot.pod_scheduler, np.repeat(_schedulers(snapshot, sets), counts)),
        pod_start=longer(added, snapshot.pod_start, 0),
        pod_created=longer(added, snapshot.pod_created, 0),
        pod_cost=longer(added, snapshot.pod_cost, UNSAID),
        pod_flags=longer(added, snapshot.pod_flags, 0),
        pod_health=longer(added, snapshot.pod_health, 0),
        schedulers=[
            *snapshot.schedulers,
            *(each.pod.spec.scheduler_name or DEFAULT_SCHEDULER for each in sets),
        ],
        label_sets=[
            *snapshot.label_sets,
            *((each.pod.metadata.namespace, each.pod.metadata.labels or {}) for each in sets),
        ],
        label_budgets=[*snapshot.label_budgets, *[()] * len(sets)],
        label_budget=longer(len(sets), snapshot.label_budget, UNSELECTED),
        pod_claims=_claims(snapshot, sets, before),
    )
    return more, tuple(range(before, before + added))


def _supposed_class(pods: SupposedPods, snapshot: Snapshot) -> PodClass:
    bare = pod_class(pods.pod, snapshot.profiles)
    return bare if pods.volumes is None else with_claims(bare, pods.volumes)


def _claims(
    snapshot: Snapshot, sets: Sequence[SupposedPods], first: int
) -> Mapping[int, tuple[ClaimUse, ...]]:
    """The claims of the pods of the snapshot and of those that are supposed, whose rows begin with `first`."""
    using = [each.claims_of(number) for each in sets for number in range(each.count)]
    added = {first + place: claims for place, claims in enumerate(using) if claims}
    return copied(snapshot.pod_claims) | added if added else snapshot.pod_claims


def _schedulers(snapshot: Snapshot, sets: Sequence[SupposedPods]) -> list[int]:
    return [len(snapshot.schedulers) + place for place in range(len(sets))]


# ---- with which right they ask


def _standing(
    snapshot: Snapshot, workload: WorkloadName, sets: Sequence[SupposedPods]
) -> tuple[int, int, bool]:
    """The row of the PodGroup that all pods belong to (-1 without one), their priority, and whether they may evict.

    A group's priority and policy replace those of its pods. Otherwise the lowest priority of a pod counts, and one pod
    that may evict nobody is enough. A gang of another kind evicts nothing if its pods differ in their priority.
    """
    group = _group_of(snapshot, sets)
    known = snapshot.groups[group] if group >= 0 else None
    evicts = True
    if known is not None:
        own = None if by_its_pods(known) else priority_of_group(snapshot, known)
        evicts = preemption_policy(known, snapshot.priority_classes) != "Never"
        evicts = evicts and known.spec.scheduling_policy.gang is not None
        if own is not None:
            return group, own, evicts
    found = [_of_pod(snapshot, workload, each) for each in sets if each.count]
    priorities = {priority for priority, _ in found}
    evicts = evicts and all(may for _, may in found) and (known is None or len(priorities) <= 1)
    return group, min(priorities, default=0), evicts


def _group_of(snapshot: Snapshot, sets: Sequence[SupposedPods]) -> int:
    groups = {_named_group(snapshot, each.pod) for each in sets}
    key = groups.pop() if len(groups) == 1 else None
    row = snapshot.group_keys.index(key) if key in snapshot.group_keys else -1
    known = snapshot.groups[row] if row >= 0 else None
    is_group = known is not None and (
        not is_foreign(known.metadata.name) or known.spec.scheduling_policy.gang is not None
    )
    return row if is_group else -1


def _named_group(snapshot: Snapshot, pod: Pod) -> GroupKey | None:
    """The group that the pod names. A basic one of kube-scheduler's own kind comes last: see `OwnerGroups.unit`."""
    keys = [(pod.metadata.namespace, name) for name in groups_of(pod)]
    rows = [snapshot.group_keys.index(key) if key in snapshot.group_keys else -1 for key in keys]
    basic = [row >= 0 and is_basic(snapshot.groups[row]) for row in rows]
    return next((key for _, key in sorted(zip(basic, keys, strict=True), key=lambda each: each[0])), None)


def _of_pod(snapshot: Snapshot, workload: WorkloadName, pods: SupposedPods) -> tuple[int, bool]:
    """Priority, and whether the pod may evict, as the API server's admission will write them to the pod."""
    spec = pods.pod.spec
    its_class = _class_of(snapshot, workload, pods)
    priority = spec.priority if spec.priority is not None else its_class.value if its_class is not None else 0
    policy = spec.preemption_policy or (its_class.preemption_policy if its_class is not None else None)
    return priority, policy != "Never"


def _class_of(snapshot: Snapshot, workload: WorkloadName, pods: SupposedPods) -> PriorityClass | None:
    classes, name = snapshot.priority_classes, pods.pod.spec.priority_class_name
    if not name:
        return global_default(classes.values())
    known = classes.get(name) or SYSTEM_CLASSES.get(name)
    if known is None:
        subject = f"Workload {workload.namespace}/{workload.name}"
        field = f"spec.podSets[{pods.pod_set}].template.spec.priorityClassName"
        raise DecisionError(subject, field, f"there is no PriorityClass {name!r}")
    return known
