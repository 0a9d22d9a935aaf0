"""What API servers ask us about: one table, from which the webhook configurations and the server's paths are made.

`python -m webhooks.registrations manifests/base/webhooks/webhooks.yaml` writes the configurations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from api.groups import POD_GROUP_LABEL
from api.yaml import PlainDumper

__all__ = [
    "EXCLUDED_NAMESPACES",
    "NAMESPACE",
    "REGISTRATIONS",
    "SERVICE",
    "Registration",
    "RuleWithOperations",
    "configurations",
]

NAMESPACE: Final = "reprieve-system"
SERVICE: Final = "reprieve-webhooks"
CONFIGURATION: Final = "reprieve"
"""The name of both webhook configurations."""
EXCLUDED_NAMESPACES: Final = ("kube-system", NAMESPACE)
"""What we need ourselves, and what must never wait for us."""
KUEUE: Final = ("kueue.x-k8s.io", "v1beta2")
OURS: Final = ("reprieve.dev", "v1alpha1")

Json = dict[str, Any]
Condition = tuple[str, str]
"""(name, CEL)."""

NOT_OURS: Final[Condition] = (
    "not-our-own",
    f"request.userInfo.username != 'system:serviceaccount:{NAMESPACE}:{SERVICE}'",
)
"""The re-check writes the condition of objects that are not valid, too."""

CHECKED_STATUS: Final = (
    "admission",
    "admissionChecks",
    "clusterName",
    "conditions",
    "nominatedClusterNames",
    "preemptionGates",
    "reclaimablePods",
    "requeueState",
    "resourceRequests",
)
"""Of Workloads: what rules look at, and times and quantities, which may be unreadable. Other fields of their status
are written all the time."""


@dataclass(frozen=True, slots=True)
class RuleWithOperations:
    """A webhook's rule: for the object itself (no subresource), or for its status."""

    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    subresource: str = ""
    conditions: tuple[Condition, ...] = ()
    """Only requests that meet all of them."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A kind, and when we are asked about it."""

    kind: str
    plural: str
    group: str
    version: str
    namespaced: bool
    validating: tuple[RuleWithOperations, ...] = (RuleWithOperations(),)
    mutating: tuple[RuleWithOperations, ...] = ()
    has_conditions: bool = False
    """Its status has them."""
    required: bool = True
    """Without an answer there is no write (failurePolicy Fail)."""
    selector: Json | None = None
    """objectSelector: only these objects."""

    @property
    def api_version(self) -> str:
        """As in `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version


def _changes(fields: tuple[str, ...]) -> str:
    """Whether one of these fields of the status does; or the status has none, which the schema is to refuse."""
    no_object = "[object, oldObject].exists(o, has(o.status) && type(o.status) != map)"
    return " || ".join(
        [no_object, *(f"object.?status.?{field} != oldObject.?status.?{field}" for field in fields)]
    )


REGISTRATIONS: Final = (
    Registration("ClusterQueue", "clusterqueues", *KUEUE, namespaced=False, has_conditions=True),
    Registration("Cohort", "cohorts", *KUEUE, namespaced=False),
    Registration("ResourceFlavor", "resourceflavors", *KUEUE, namespaced=False),
    Registration(
        "Workload",
        "workloads",
        *KUEUE,
        namespaced=True,
        validating=(
            RuleWithOperations(),
            RuleWithOperations(
                ("UPDATE",), "status", (NOT_OURS, ("checked-fields-change", _changes(CHECKED_STATUS)))
            ),
        ),
        mutating=(
            RuleWithOperations(("UPDATE",), "status", (("gates-change", _changes(("preemptionGates",))),)),
        ),
        has_conditions=True,
    ),
    Registration(
        "PodGroup", "podgroups", *OURS, namespaced=True, mutating=(RuleWithOperations(),), has_conditions=True
    ),
    Registration(
        "Pod",
        "pods",
        "",
        "v1",
        namespaced=True,
        validating=(RuleWithOperations(("CREATE",)),),
        required=False,
        selector={"matchExpressions": [{"key": POD_GROUP_LABEL, "operator": "Exists"}]},
    ),
)


def configurations() -> list[Json]:
    """ValidatingWebhookConfiguration and MutatingWebhookConfiguration, without a caBundle."""
    return [
        _configuration("MutatingWebhookConfiguration", "mutate", lambda each: each.mutating),
        _configuration("ValidatingWebhookConfiguration", "validate", lambda each: each.validating),
    ]


def _configuration(
    kind: str, purpose: str, rules: Callable[[Registration], tuple[RuleWithOperations, ...]]
) -> Json:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": CONFIGURATION},
        "webhooks": [_webhook(purpose, each, rule) for each in REGISTRATIONS for rule in rules(each)],
    }


def _webhook(purpose: str, registration: Registration, rule: RuleWithOperations) -> Json:
    name = ".".join(filter(None, (rule.subresource, registration.plural, purpose, OURS[0])))
    webhook: Json = {
        "name": name,
        "clientConfig": {
            "service": {
                "name": SERVICE,
                "namespace": NAMESPACE,
                "path": f"/{purpose}/{registration.kind.lower()}",
                "port": 443,
            }
        },
        "rules": [
            {
                "apiGroups": [registration.group],
                "apiVersions": [registration.version],
                "resources": ["/".join(filter(None, (registration.plural, rule.subresource)))],
                "operations": list(rule.operations),
                "scope": "Namespaced" if registration.namespaced else "Cluster",
            }
        ],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 5 if registration.required else 2,
        "failurePolicy": "Fail" if registration.required else "Ignore",
    }
    if registration.namespaced:
        excluded = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
        webhook["namespaceSelector"] = {
            "matchExpressions": [{**excluded, "values": list(EXCLUDED_NAMESPACES)}]
        }
    if registration.selector is not None:
        webhook["objectSelector"] = registration.selector
    if rule.conditions:
        webhook["matchConditions"] = [
            {"name": condition, "expression": expression} for condition, expression in rule.conditions
        ]
    return webhook


def render() -> str:
    """The configurations as YAML documents."""
    head = "# Made by python -m webhooks.registrations; do not edit.\n"
    return head + yaml.dump_all(configurations(), Dumper=PlainDumper, sort_keys=False, width=110)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render(), "utf-8")
