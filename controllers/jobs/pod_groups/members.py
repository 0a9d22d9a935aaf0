"""The members of PodGroups in queues, as quota counts them. A projection of watched pods, kept in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from api.core import Container, Pod
from api.disruption import DISRUPTION_TARGET
from api.groups import SCHEDULING_GATE
from api.integration import ADMISSION_GATE, POD_SET_LABEL, WORKLOAD_ANNOTATION
from api.meta import Condition
from nodes.groups.registry import group_of

__all__ = ["ADMITTED_BY", "POD_ADMITTED", "GroupMembers", "Member", "is_of_a_job", "pod_set_name"]

ADMITTED_BY: Final = "reprieve.dev/admitted-by"
"""Annotation of a member that has quota: the UID of the Workload."""
POD_ADMITTED: Final = "reprieve.dev/Admitted"
"""Our condition of a pod of a PodGroup in a queue. False: why it waits although its group is admitted."""
PREEMPTED: Final = "PreemptionByScheduler"
DIGEST: Final = 10

GroupKey = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A pod whose label names a PodGroup."""

    uid: str
    name: str
    version: str
    """The resourceVersion."""
    created: str
    pod_set: str
    """The pod set that it belongs to: its label, if it has quota, else by its shape."""
    admitted_by: str = ""
    """The UID of the Workload whose quota it has; empty if it has none."""
    is_gated: bool = False
    """It has the gate of quota."""
    can_select: bool = False
    """It has any gate. Then its node selector may change."""
    bound: bool = False
    leaving: bool = False
    """It terminates."""
    succeeded: bool = False
    preempted: str = ""
    """Why the nodes plane or the scheduler evicts it; empty if nobody does."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    said: Condition | None = None
    """What it says of its quota."""

    @property
    def lives(self) -> bool:
        """It neither terminates nor has ended."""
        return not self.leaving and not self.succeeded


class GroupMembers:
    """The pods by group and UID. Pods of Jobs that have quota are not here: they have the Job's."""

    def __init__(self, changed: Callable[[GroupKey], None]) -> None:
        self._groups: dict[GroupKey, dict[str, Member]] = {}
        self._known: dict[tuple[str, str], tuple[GroupKey, str]] = {}
        """By namespace and name of a pod: its group, and its UID."""
        self._changed = changed
        self._preempted: dict[GroupKey, str] = {}
        """Groups whose pods were evicted for others on nodes, and what was said."""

    @property
    def groups(self) -> list[GroupKey]:
        """All that have members."""
        return list(self._groups)

    def of(self, group: GroupKey) -> list[Member]:
        """The members, the oldest first."""
        found = self._groups.get(group, {}).values()
        return sorted(found, key=lambda each: (each.created, each.name))

    def preempted(self, group: GroupKey) -> str:
        """Why a member with quota was evicted for others on nodes; empty if none was since `forget_preempted`."""
        return self._preempted.get(group, "")

    def forget_preempted(self, group: GroupKey) -> None:
        """What is said of former members counts no longer."""
        self._preempted.pop(group, None)

    def upsert(self, item: Pod) -> bool:
        """See `runtime.mirror.views.Store`."""
        meta, key = item.metadata, group_of(item)
        if key is None or is_of_a_job(item):
            return self.delete(meta.namespace, meta.name)
        member = _member(item)
        known = self._known.get((meta.namespace, meta.name))
        if known is not None and known != (key, meta.uid):
            self.delete(meta.namespace, meta.name)
        self._known[meta.namespace, meta.name] = key, meta.uid
        self._groups.setdefault(key, {})[meta.uid] = member
        if member.admitted_by and member.preempted and member.leaving:
            self._preempted[key] = member.preempted
        self._changed(key)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        known = self._known.pop((namespace, name), None)
        if known is None:
            return False
        key, uid = known
        member = self._groups[key].pop(uid)
        if member.admitted_by and member.preempted:
            self._preempted[key] = member.preempted
        if not self._groups[key]:
            del self._groups[key]
        self._changed(key)
        return True


def is_of_a_job(pod: Pod) -> bool:
    """Whether a Job that was started with quota controls the pod."""
    meta = pod.metadata
    return WORKLOAD_ANNOTATION in (meta.annotations or {}) and any(
        each.controller and each.kind == "Job" and each.api_version.startswith("batch/")
        for each in meta.owner_references or ()
    )


def pod_set_name(pod: Pod) -> str:
    """The name of the pod set of pods with this shape. Pods of one shape are equal for quota and nodes."""
    spec = pod.spec
    shape = (
        [_container(each) for each in spec.init_containers or ()],
        [_container(each) for each in spec.containers or ()],
        spec.node_selector or {},
        spec.affinity,
        spec.tolerations or [],
        spec.overhead,
        spec.runtime_class_name,
        spec.resources,
        spec.resource_claims,
        spec.topology_spread_constraints,
        spec.priority,
    )
    text = msgspec.json.encode(shape, order="deterministic")
    return f"pods-{hashlib.sha1(text, usedforsecurity=False).hexdigest()[:DIGEST]}"


def _container(container: Container) -> tuple[object, ...]:
    return container.resources, container.restart_policy, container.ports


def _member(pod: Pod) -> Member:
    meta, spec = pod.metadata, pod.spec
    gates = {each.name for each in spec.scheduling_gates or ()}
    labels, annotations = meta.labels or {}, meta.annotations or {}
    admitted_by = annotations.get(ADMITTED_BY, "") if ADMISSION_GATE not in gates else ""
    return Member(
        uid=meta.uid,
        name=meta.name,
        version=meta.resource_version,
        created=meta.creation_timestamp or "",
        pod_set=labels.get(POD_SET_LABEL, "") if admitted_by else pod_set_name(pod),
        admitted_by=admitted_by,
        is_gated=ADMISSION_GATE in gates,
        can_select=bool(gates & {ADMISSION_GATE, SCHEDULING_GATE}),
        bound=bool(spec.node_name),
        leaving=meta.deletion_timestamp is not None,
        succeeded=pod.status.phase == "Succeeded",
        preempted=_preempted(pod),
        node_selector=spec.node_selector or {},
        said=next((each for each in pod.status.conditions or () if each.type == POD_ADMITTED), None),
    )


def _preempted(pod: Pod) -> str:
    for each in pod.status.conditions or ():
        if (each.type, each.status, each.reason) == (DISRUPTION_TARGET, "True", PREEMPTED):
            return each.message or "preempted"
    return ""
