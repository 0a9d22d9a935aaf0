"""What `reprieve doctor` looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from api.groups import API_VERSION, PodGroup
from api.plans import PreemptionPlan
from api.published import QUOTA_MODE, SCHEDULERS
from cli.common.documents import Kind, Reader
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
from kube.lease import Lease

__all__ = ["NAMESPACE", "PROCESS", "Seen"]

NAMESPACE = "reprieve-system"
PROCESS = "reprieve"
"""The name of the Deployment, its Lease, its service account and its role."""


class Seen(Reader):
    """The objects by kind, in the order of their names."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        ("v1", "Pod"): Kind(SeenPod, True),
        ("v1", "ConfigMap"): Kind(ConfigMap, True),
        ("apps/v1", "Deployment"): Kind(Deployment, True),
        ("coordination.k8s.io/v1", "Lease"): Kind(Lease, True),
        ("discovery.k8s.io/v1", "EndpointSlice"): Kind(Slice, True),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): Kind(Definition, False),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): Kind(Webhooks, False),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): Kind(Webhooks, False),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"): Kind(ClusterRole, False),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): Kind(Binding, False),
        (API_VERSION, "PodGroup"): Kind(PodGroup, True),
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
    }
    matter: ClassVar[str] = "the state of reprieve"

    def __init__(self) -> None:
        super().__init__()
        self._things: dict[type[Any], list[Any]] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        self._things.setdefault(type(thing), []).append(thing)

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
