"""The objects of the nodes plane that commands read: nodes, pods, their groups, budgets and classes, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from answers.native_gangs import NativeSaid
from answers.reading.budgets import SCALED_KINDS, Budgets, as_changed
from answers.reading.documents import Kind, Reader, located, only
from answers.reading.field_checks import (
    check_budget,
    check_created,
    check_group,
    check_native_group,
    check_node,
    check_pod,
)
from answers.reading.published import (
    LEASE,
    LEASE_KIND,
    PublishedLease,
    by_owner_said,
    native_said,
)
from api.compression import expand
from api.core import Namespace, Node, Pod, PodDisruptionBudget, PriorityClass
from api.devices import DeviceClass
from api.foreign_groups import (
    COSCHEDULING,
    NATIVE_VERSIONS,
    VOLCANO,
    CoschedulingPodGroup,
    NativePodGroup,
    VolcanoPodGroup,
)
from api.foreign_owners import (
    OwningJob,
    OwningStatefulSet,
    ScaledDeployment,
    ScaledReplicaSet,
    ScaledReplicationController,
)
from api.groups import API_VERSION, PodGroup, PodGroupSchedulingPolicy, PodGroupSpec
from api.owner_annotations import ByOwner
from api.plans import PreemptionPlan
from api.priority import UnknownPriorityClass, group_priority, preemption_policy
from api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from api.stored_plans import holds_room
from api.validation import FieldError
from nodes.answers.picture import NodesPicture
from nodes.groups.forms import ALL_PREEMPTING
from nodes.groups.kinds.table import OWNERS
from nodes.groups.registry import OBJECTS
from nodes.state.costs import CostRules
from nodes.state.pods.pods import ENDED
from nodes.state.tables import Tables
from nodes.state.volumes.volumes import STORAGE_KINDS

__all__ = ["GROUPING_KINDS", "HELPFUL", "OWNER_KINDS", "PLAN", "NodeObjects", "give_priority"]

SCALES_ONLY: Final = (ScaledReplicaSet, ScaledDeployment, ScaledReplicationController)
"""Owners that only say how many pods there are to be."""
SAME_UID: Final = "metadata.uid: is also that of"

STORES: Final[dict[type[Any], Callable[[Tables, Any], object]]] = {
    Node: Tables.upsert_node,
    PodGroup: Tables.upsert_group,
    PodDisruptionBudget: Tables.upsert_budget,
    PriorityClass: Tables.upsert_priority_class,
    Namespace: Tables.upsert_namespace,
    DeviceClass: Tables.upsert_device_class,
    **dict.fromkeys(STORAGE_KINDS, Tables.upsert_storage),
    **dict.fromkeys(OBJECTS, Tables.upsert_foreign_group),
    **dict.fromkeys(OWNERS, Tables.upsert_owner),
    OwningStatefulSet: Tables.upsert_stateful_set,
}
OWNER_KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    (each.api_version, each.kind): Kind(each.type, True, title=f"{each.kind}.{each.api_version}")
    for each in OWNERS.values()
    if each.type is not OwningJob
}
"""Owners of groups, which not every cluster serves."""
GROUPING_KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    **OWNER_KINDS,
    ("apps/v1", "StatefulSet"): Kind(OwningStatefulSet, True),
}
"""Kinds that say whether pods belong together. Pods tell most of it without them."""
NATIVE_KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    (version, "PodGroup"): Kind(
        NativePodGroup, True, check_native_group, "PodGroup.scheduling.k8s.io", newer=NATIVE_VERSIONS[:place]
    )
    for place, version in enumerate(NATIVE_VERSIONS)
}
PLAN: Final = (API_VERSION, "PreemptionPlan")
HELPFUL: Final = frozenset([*GROUPING_KINDS, *SCALED_KINDS, LEASE, PLAN])
"""Kinds without which there is an answer, too."""


class NodeObjects(Reader):
    """Everything that was read, as tables. Every method raises InputError for an object that cannot be used."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        ("v1", "Node"): Kind(Node, False, check_node),
        ("resource.k8s.io/v1", "DeviceClass"): Kind(DeviceClass, False),
        ("v1", "Namespace"): Kind(Namespace, False),
        ("v1", "Pod"): Kind(Pod, True, check_pod),
        (API_VERSION, "PodGroup"): Kind(PodGroup, True, check_group),
        **NATIVE_KINDS,
        (COSCHEDULING, "PodGroup"): Kind(
            CoschedulingPodGroup, True, check_created, "PodGroup.scheduling.x-k8s.io"
        ),
        (VOLCANO, "PodGroup"): Kind(VolcanoPodGroup, True, check_created, "PodGroup.scheduling.volcano.sh"),
        **SCALED_KINDS,
        **GROUPING_KINDS,
        ("batch/v1", "Job"): Kind(OwningJob, True),
        ("policy/v1", "PodDisruptionBudget"): Kind(PodDisruptionBudget, True, check_budget),
        ("scheduling.k8s.io/v1", "PriorityClass"): Kind(PriorityClass, False),
        ("v1", "PersistentVolumeClaim"): Kind(PersistentVolumeClaim, True),
        ("v1", "PersistentVolume"): Kind(PersistentVolume, False),
        ("storage.k8s.io/v1", "StorageClass"): Kind(StorageClass, False),
        ("storage.k8s.io/v1", "CSINode"): Kind(CSINode, False),
        ("storage.k8s.io/v1", "CSIDriver"): Kind(CSIDriver, False),
        ("storage.k8s.io/v1", "CSIStorageCapacity"): Kind(CSIStorageCapacity, True),
        LEASE: LEASE_KIND,
        PLAN: Kind(PreemptionPlan, True),
    }
    matter: ClassVar[str] = "preemption"

    def __init__(self, costs: CostRules | None = None, by_owner: ByOwner | None = None) -> None:
        """`by_owner`: `groups.byOwner`. By default as the leader says on its Lease, else Victims."""
        super().__init__()
        self.tables = Tables(costs) if by_owner is None else Tables(costs, by_owner=by_owner)
        self.asks_lease = by_owner is None
        """Whether the Lease matters."""
        self.native = NativeSaid()
        """What the leader says of gangs of kube-scheduler's own kind."""
        self.published: Mapping[str, str] = {}
        """The annotations of the Lease."""
        self._misread = list[str]()
        """What is wrong with objects without which there is an answer, too."""
        self._plans: list[PreemptionPlan] = []
        self.budgets = Budgets()
        self.jobs: dict[tuple[str, str], OwningJob] = {}
        """By namespace and name."""
        self._ended: dict[str, str] = {}
        """Places of pods that have ended, by UID. The tables know all other pods."""
        self._unclassed: list[tuple[Pod, str]] = []

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`. Pods tell their groups without the objects of their owners."""
        if kind not in HELPFUL:
            return False
        said = f"Not read: {problem}"
        if (kind != LEASE or self.asks_lease) and said not in self.notes:
            self.notes.append(said)
        return True

    def replacing(self, thing: Any) -> Any:
        """See `Reader`."""
        return as_changed(thing)

    def keep(self, thing: Any, place: str) -> None:
        """Store an object. A pod without a priority waits until all classes have been read."""
        self.budgets.note(thing)
        if isinstance(thing, SCALES_ONLY):
            return
        if isinstance(thing, Pod) and thing.spec.priority is None:
            self._unclassed.append((thing, place))
        else:
            self._keep(thing, place)

    def _keep(self, thing: Any, place: str) -> None:
        if isinstance(thing, Pod):  # perhaps one with more fields
            self._check_uid(thing, place)
            self.tables.upsert_pod(thing)
            return
        if isinstance(thing, PublishedLease):
            self._listen(thing, place)
            return
        if isinstance(thing, PreemptionPlan):
            self._promise(thing, place)
            return
        if isinstance(thing, OwningJob):
            self.jobs[thing.metadata.namespace, thing.metadata.name] = thing
        STORES[type(thing)](self.tables, thing)

    def _listen(self, lease: PublishedLease, place: str) -> None:
        """Do what the process does. An answer does not fail because it says something that cannot be read."""
        self.published = lease.metadata.annotations or {}
        try:
            self.native = native_said(lease)
            if self.native.plans:
                self.tables.set_preempting(ALL_PREEMPTING)
            said = by_owner_said(lease)
        except FieldError as error:
            self._misread.append(f"{place}: {error}")
            return
        if said is not None and self.asks_lease:
            self.tables.set_by_owner(said)

    def _promise(self, plan: PreemptionPlan, place: str) -> None:
        """Keep the plan for the room that it holds. A live process passes over one that cannot be read, too."""
        try:
            if holds_room(plan):  # the victims of the others do not matter
                plan.spec = expand(plan.spec)
        except ValueError as error:
            self._misread.append(f"{place}: {error}")
            return
        self._plans.append(plan)

    def misread_notes(self) -> list[str]:
        """A line about each plan that cannot be read, and about such a Lease."""
        return [f"Not counted: {each}" for each in self._misread]

    def _check_uid(self, pod: Pod, place: str) -> None:
        uid = pod.metadata.uid
        row = self.tables.pod(uid)
        if row is not None:
            other = self.tables.view(row)
            there = self.place(f"Pod {other.namespace}/{other.name}")
            raise FieldError("", f"{SAME_UID} {there}")
        if pod.status.phase in ENDED or uid in self._ended:
            only(self._ended, uid, place, SAME_UID)

    def picture(self) -> NodesPicture:
        """What was read. Call it after the last object was read."""
        for pod, place in self._unclassed:
            with located(place):
                give_priority(pod, self.tables.priority_classes)
                self._keep(pod, place)
        self._unclassed.clear()
        self.budgets.count(self.tables)
        return NodesPicture.of(self.tables).with_plans(self._plans)


def give_priority(pod: Pod, classes: Mapping[str, PriorityClass]) -> None:
    """Give the pod its priority and preemption policy, as admission would. The rules are those for a group with its
    class. Raises FieldError if the class does not exist."""
    spec = PodGroupSpec(PodGroupSchedulingPolicy(), priority_class_name=pod.spec.priority_class_name)
    stand_in = PodGroup(metadata=pod.metadata, spec=spec)
    try:
        pod.spec.priority = group_priority(stand_in, classes)
        pod.spec.preemption_policy = pod.spec.preemption_policy or preemption_policy(stand_in, classes)
    except UnknownPriorityClass as error:
        raise FieldError(
            "spec.priorityClassName", f"there is no PriorityClass {error.priority_class}"
        ) from None
