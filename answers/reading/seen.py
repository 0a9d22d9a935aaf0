"""Reads what `reprieve doctor` looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from answers.doctor.kinds import (
    Binding,
    ClusterRole,
    ConfigMap,
    Definition,
    Deployment,
    SeenPod,
    Slice,
    Webhooks,
)
from answers.doctor.seen import Seen
from answers.reading.documents import Kind, Reader
from answers.reading.node_objects import GROUPING_KINDS
from answers.reading.published import LEASE, LEASE_KIND
from api.checks import AdmissionCheck, MultiKueueCluster
from api.core import Namespace
from api.dispatch import DispatchPlan
from api.foreign_owners import OwningJob
from api.groups import API_VERSION, PodGroup
from api.kueue import API_VERSION as QUOTA
from api.lease import Lease
from api.plans import PreemptionPlan
from api.workloads import Workload

__all__ = ["CLUSTERS", "PartlySeen", "SeenObjects"]

OWNERS: Final[Mapping[tuple[str, str], Kind]] = {
    **GROUPING_KINDS,
    ("batch/v1", "Job"): Kind(OwningJob, True),
    ("v1", "Namespace"): Kind(Namespace, False),
}
"""Kinds that say whether pods belong together."""
CLUSTERS: Final[Mapping[tuple[str, str], Kind]] = {
    (QUOTA, "AdmissionCheck"): Kind(AdmissionCheck, False),
    (QUOTA, "MultiKueueCluster"): Kind(MultiKueueCluster, False),
    (QUOTA, "Workload"): Kind(Workload, True),
    (API_VERSION, "DispatchPlan"): Kind(DispatchPlan, True),
}
"""Kinds by which a manager of several clusters works."""


class SeenObjects(Reader):
    """Keeps the objects by kind."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        ("v1", "Pod"): Kind(SeenPod, True),
        ("v1", "ConfigMap"): Kind(ConfigMap, True),
        ("apps/v1", "Deployment"): Kind(Deployment, True),
        LEASE: LEASE_KIND._replace(struct=Lease),
        ("discovery.k8s.io/v1", "EndpointSlice"): Kind(Slice, True),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): Kind(Definition, False),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): Kind(Webhooks, False),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): Kind(Webhooks, False),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"): Kind(ClusterRole, False),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): Kind(Binding, False),
        **OWNERS,
        **CLUSTERS,
        (API_VERSION, "PodGroup"): Kind(PodGroup, True),
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
    }
    matter: ClassVar[str] = "the state of reprieve"

    def __init__(self) -> None:
        super().__init__()
        self._things: dict[type[Any], list[Any]] = {}
        self._unread: list[str] = []
        self._clusters_unread: list[str] = []
        self._missing: dict[type[Any], str] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        self._things.setdefault(type(thing), []).append(thing)

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`."""
        for kinds, unread in ((OWNERS, self._unread), (CLUSTERS, self._clusters_unread)):
            if kind in kinds and problem not in unread:
                unread.append(problem)
        return kind in OWNERS or kind in CLUSTERS

    def seen(self, pods: Sequence[SeenPod] = ()) -> Seen:
        """What was read. Call it after the last object was read. `pods`: those that somebody else has kept."""
        kept: dict[type[Any], list[Any]] = dict(self._things)
        kept[SeenPod] = [*kept.get(SeenPod, ()), *pods]
        things = {
            kind: tuple(sorted(every, key=lambda each: (each.metadata.namespace, each.metadata.name)))
            for kind, every in kept.items()
            if every
        }
        return Seen(things, tuple(self._unread), tuple(self._clusters_unread), missing=self._missing)


class PartlySeen(SeenObjects):
    """The same, for an answer that says which checks could not look at what they need."""

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`."""
        if not super().do_without(kind, problem):
            self._missing[self.kinds[kind].struct] = problem
        return True
