"""A tenant with all rights in one namespace, and one way to have a foreign pod evicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from api.dispatch import DispatchedWorkload, DispatchPlan, DispatchPlanSpec
from api.meta import ObjectMeta
from api.plans import (
    PREEMPTOR_KIND,
    Placement,
    PreemptionPlan,
    PreemptionPlanSpec,
    Preemptor,
    PreemptorQuota,
    QuotaAmount,
    Victim,
    VictimPod,
    VictimQuota,
)
from controllers.gangs.lifecycle.stored_plan import FINALIZER
from hack.controlplane import objects
from hack.controlplane.client import ApiError, Client, Json
from tests.e2e.support import REPRIEVE, Sandbox

__all__ = [
    "ATTEMPT",
    "FOREIGN_PRIORITY",
    "HIGHEST",
    "OWN_PRIORITY",
    "USER",
    "Attempt",
    "allow_everything",
    "forged_plan",
    "forged_quota_plan",
    "forged_turn",
    "victim_of",
]

USER: Final = "tenant"
ATTEMPT: Final = "reprieve.dev/attempt"
"""The label of a node: the attempt whose foreign pod is there."""
OWN_PRIORITY: Final = 10
FOREIGN_PRIORITY: Final = 1000
HIGHEST: Final = 1_000_000_000

Write = Callable[[], object]


@dataclass
class Attempt:
    """One way, with a node and a foreign pod of its own."""

    name: str
    client: Client
    """The tenant's."""
    sandbox: Sandbox
    """The tenant's namespace."""
    node: str
    foreign: Json
    """The pod that fills the node."""
    refused: list[str] = field(default_factory=list)
    """What the API server did not let the tenant do."""

    @property
    def namespace(self) -> str:
        """The tenant's."""
        return self.sandbox.namespace

    def tries(self, write: Write) -> None:
        """The write may be refused."""
        try:
            write()
        except ApiError as error:
            self.refused.append(str(error))

    def pod(self, suffix: str = "", **fields: object) -> Json:
        """A pod of low priority, for the node of this attempt."""
        body = self.sandbox.pod_body(f"{self.name}{suffix}", priority=OWN_PRIORITY, **fields)
        body["spec"]["nodeSelector"][ATTEMPT] = self.name
        return body

    def create(self, *bodies: Json) -> None:
        """Try to create them."""
        for body in bodies:
            self.tries(lambda body=body: self.client.create(body))  # type: ignore[misc]  # mypy infers no lambda here

    def group(self, *, value: int | None = OWN_PRIORITY, **group: object) -> Json:
        """A PodGroup for one member, of the class of this value."""
        name = self.sandbox.priority(value) if value is not None else None
        return objects.pod_group(self.name, self.namespace, min_count=1, priority_class=name, **group)  # type: ignore[arg-type]  # more fields of the spec

    def gang(self, **group: object) -> None:
        """Try to create the group and its member."""
        self.create(self.group(**group), self.pod(group=self.name))  # type: ignore[arg-type]  # more fields of the spec

    def send(self, method: str, path: str, body: Json | None = None) -> None:
        """Try something below the tenant's namespace; patches are merge patches."""
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        version, _, rest = path.partition(" ")
        prefix = "/apis" if "/" in version else "/api"
        where = f"{prefix}/{version}/namespaces/{self.namespace}/{rest}"
        self.tries(lambda: self.client.request(method, where, body, content))

    def pod_status(self, status: Json) -> None:
        """Try to write the status of the own pod."""
        self.send("PATCH", f"v1 pods/{self.name}/status", {"status": status})

    def uid_of(self, api_version: str, kind: str) -> str:
        """Of an own object."""
        uid: str = self.client.get(api_version, kind, self.name, self.namespace)["metadata"]["uid"]
        return uid


def allow_everything(admin: Client, namespace: str) -> Client:
    """A client of the tenant, and of a service account named like ours, which may do everything in the namespace."""
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    meta = {"name": "everything", "namespace": namespace}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": meta}
    admin.create({**rbac, "kind": "Role", "rules": rules})
    group = "rbac.authorization.k8s.io"
    subjects = [
        {"kind": "User", "name": USER, "apiGroup": group},
        {"kind": "ServiceAccount", "name": "reprieve", "namespace": namespace},
    ]
    role = {"apiGroup": group, "kind": "Role", "name": "everything"}
    admin.create({**rbac, "kind": "RoleBinding", "roleRef": role, "subjects": subjects})
    return admin.impersonating(USER, "tenants")


def victim_of(pod: Json) -> Victim:
    """A foreign pod as a plan names it, with a priority that may be evicted."""
    meta = pod["metadata"]
    where = VictimPod(meta["namespace"], meta["name"], meta["uid"], pod["spec"]["nodeName"])
    return Victim("Pod", meta["namespace"], meta["name"], meta["uid"], 0, False, [where])


def forged_plan(attempt: Attempt, name: str, *victims: Victim, member: str = "") -> Json:
    """A plan as reprieve writes it, for a group and a member of the tenant's. `member`: its UID."""
    preemptor = Preemptor(
        "PodGroup", REPRIEVE, attempt.namespace, attempt.name, attempt.uid_of(REPRIEVE, "PodGroup"), HIGHEST
    )
    spec = PreemptionPlanSpec(
        preemptor=preemptor,
        outcome="Preempts",
        reason="because",
        victims=list(victims or [victim_of(attempt.foreign)]),
        placements=[Placement(attempt.name, attempt.node, member or attempt.uid_of("v1", "Pod"))],
        priority_cutoff=FOREIGN_PRIORITY,
    )
    meta = ObjectMeta(name=name, namespace=attempt.namespace, finalizers=[FINALIZER])
    body: Json = msgspec.to_builtins(PreemptionPlan(metadata=meta, spec=spec))
    return body


def forged_turn(attempt: Attempt, name: str) -> Json:
    """The turn of a worker cluster to preempt for a Workload of the tenant's."""
    workload = DispatchedWorkload(attempt.name, "u", "2026-01-01T00:00:00Z", HIGHEST)
    times = "2026-01-01T00:00:00.000000Z", "2036-01-01T00:00:00.000000Z"
    spec = DispatchPlanSpec(workload, 1, "east", "LeastDisruption", "because", *times)
    meta = ObjectMeta(name=name, namespace=attempt.namespace)
    body: Json = msgspec.to_builtins(DispatchPlan(metadata=meta, spec=spec))
    return body


def forged_quota_plan(attempt: Attempt, name: str) -> Json:
    """A plan of the quota plane, for a Workload of the tenant's. Its victim is a Workload of the foreign namespace."""
    quota = PreemptorQuota("queue", "/queue", 1, 0, [QuotaAmount("default", "cpu", "1", "0", "0")])
    preemptor = Preemptor(
        "Workload", "kueue.x-k8s.io/v1beta2", attempt.namespace, attempt.name, "u", HIGHEST, quota
    )
    theirs = attempt.foreign["metadata"]
    given_back = VictimQuota("InClusterQueue", "queue", "/queue", "2026-01-01T00:00:00Z")
    victim = Victim("Workload", theirs["namespace"], theirs["name"], theirs["uid"], 0, False, [], given_back)
    spec = PreemptionPlanSpec(preemptor=preemptor, outcome="Preempts", reason="because", victims=[victim])
    meta = ObjectMeta(name=name, namespace=attempt.namespace, labels={PREEMPTOR_KIND: "Workload"})
    body: Json = msgspec.to_builtins(PreemptionPlan(metadata=meta, spec=spec))
    return body
