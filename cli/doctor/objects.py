"""What `reprieve doctor` looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from answers.reading.documents import Kind, Reader
from answers.reading.node_objects import GROUPING_KINDS
from answers.reading.published import LEASE, LEASE_KIND
from api.core import Namespace
from api.foreign_owners import OwningJob, OwningStatefulSet
from api.groups import API_VERSION, PodGroup
from api.lease import Lease
from api.meta import controller_reference
from api.plans import PreemptionPlan
from api.published import NAMESPACE, PROCESS, QUOTA_MODE, SCHEDULERS
from cli.doctor.kinds import (
    Binding,
    ClusterRole,
    ConfigMap,
    Definition,
    Deployment,
    SeenPod,
    Slice,
    Webhooks,
)
from nodes.groups.owner_objects import by_owner_of
from nodes.state.groups.owner_groups import OwnerGroups

__all__ = ["NAMESPACE", "PROCESS", "Seen"]

OWNERS: Final[Mapping[tuple[str, str], Kind]] = {
    **GROUPING_KINDS,
    ("batch/v1", "Job"): Kind(OwningJob, True),
    ("v1", "Namespace"): Kind(Namespace, False),
}
"""Kinds that say whether pods belong together."""


class Seen(Reader):
    """The objects by kind, in the order of their names."""

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
        (API_VERSION, "PodGroup"): Kind(PodGroup, True),
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
    }
    matter: ClassVar[str] = "the state of reprieve"

    def __init__(self) -> None:
        super().__init__()
        self._things: dict[type[Any], list[Any]] = {}
        self.unread: list[str] = []
        """Rights that are missing to read what says whether pods belong together."""

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        self._things.setdefault(type(thing), []).append(thing)

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`."""
        if kind in OWNERS:
            self.unread.append(problem)
        return kind in OWNERS

    def owners(self) -> OwnerGroups:
        """What owners and namespaces say of the groups of pods."""
        controllers = {
            each.metadata.uid: owner.uid if (owner := controller_reference(each.metadata)) is not None else ""
            for each in self.all(SeenPod)
        }
        groups = OwnerGroups(by_owner_of(self.published()) or "Victims", controllers.get)
        for kind in OWNERS.values():
            for each in self.all(kind.struct):
                match each:
                    case Namespace():
                        groups.upsert_namespace(each.metadata.name, each.metadata.annotations)
                    case OwningStatefulSet():
                        groups.upsert_stateful_set(each)
                    case _:
                        groups.upsert_owner(each)
        return groups

    def all(self, kind: type[Any]) -> list[Any]:
        """All objects of that struct."""
        things = self._things.get(kind, [])
        return sorted(things, key=lambda each: (each.metadata.namespace, each.metadata.name))

    def ours(self, kind: type[Any], name: str = PROCESS) -> Any | None:
        """The object of that name that belongs to reprieve; None if it is not there."""
        found = (each for each in self.all(kind) if each.metadata.name == name)
        return next((each for each in found if each.metadata.namespace in ("", NAMESPACE)), None)

    def published(self) -> dict[str, str]:
        """What the process that leads says of itself: the annotations of its Lease."""
        lease = self.ours(Lease)
        return (lease.metadata.annotations or {}) if lease is not None else {}

    def called_at(self) -> dict[str, str]:
        """When each scheduler called last (RFC 3339), by schedulerName. Text that somebody else wrote says nothing."""
        try:
            return msgspec.json.decode(self.published().get(SCHEDULERS, "{}"), type=dict[str, str])
        except msgspec.DecodeError:
            return {}

    def manages_quota(self) -> bool:
        """Whether reprieve writes to Kueue's kinds."""
        return self.published().get(QUOTA_MODE) == "Enforce"
