"""The requests that API servers ask us about. The webhook configurations and the server's paths come from this table.

`python -m webhooks.registrations manifests` writes the configurations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from api.core import NAMESPACE_NAME_LABEL
from api.disruption import COST_ANNOTATION
from api.groups import POD_GROUP_LABEL
from api.integration import QUEUE_NAME_LABEL
from api.jobs import JOB_CONTROLLER
from api.yaml import PlainDumper

__all__ = [
    "CONFIGURATION",
    "EXCLUDED_NAMESPACES",
    "REGISTRATIONS",
    "SERVICE",
    "Registration",
    "RuleWithOperations",
    "configurations",
    "mutating_webhook",
]

NAMESPACE: Final = "reprieve-system"
SERVICE: Final = "reprieve-webhooks"
CONFIGURATION: Final = "reprieve"
"""The name of both webhook configurations."""
QUEUES_CONFIGURATION: Final = "reprieve-queues"
"""The name of the two for Jobs in queues. They are there only where reprieve manages the queues."""
FILES: Final = {CONFIGURATION: "webhooks/webhooks.yaml", QUEUES_CONFIGURATION: "quota/webhooks.yaml"}
"""Where in manifests/ each configuration is."""
EXCLUDED_NAMESPACES: Final = ("kube-system", NAMESPACE)
"""The webhooks are not asked about these. kube-system must never wait for us, and we run in the other one."""
KUEUE: Final = ("kueue.x-k8s.io", "v1beta2")
OURS: Final = ("reprieve.dev", "v1alpha1")

Json = dict[str, Any]
Condition = tuple[str, str]
"""The name of a match condition, and its CEL expression."""

NOT_OURS: Final[Condition] = (
    "not-our-own",
    f"request.userInfo.username != 'system:serviceaccount:{NAMESPACE}:{SERVICE}'",
)
"""The re-check writes a condition on objects that are not valid. Its own writes must not be refused."""

NOT_READY_TO_WAIT: Final[Condition] = (
    "not-suspended-in-a-queue-of-others",
    f"!object.?spec.?suspend.orValue(false) || object.?metadata.?labels[?'{QUEUE_NAME_LABEL}'].orValue('') == ''"
    f" || object.?spec.?managedBy.orValue('{JOB_CONTROLLER}') == '{JOB_CONTROLLER}'",
)
"""A Job that names a queue, is suspended, and is not run by Kubernetes needs nothing. Others may get the default
queue, or be sent to another cluster."""

MEMBER: Final[Condition] = (
    "member-of-a-group",
    f"object.?metadata.?labels[?'{POD_GROUP_LABEL}'].hasValue()"
    " || object.?spec.?schedulingGroup.?podGroupName.orValue('') != ''",
)
"""Pods of our PodGroups, and of those of kube-scheduler's own kind. No selector finds the latter."""

MEMBER_OR_SAYS_MORE: Final[Condition] = (
    "new-member-or-new-cost",
    f"(request.operation == 'CREATE' && object.?metadata.?labels[?'{POD_GROUP_LABEL}'].hasValue())"
    f" || (object.?metadata.?annotations[?'{COST_ANNOTATION}'].hasValue()"
    f" && (request.operation == 'CREATE' || object.?metadata.?annotations[?'{COST_ANNOTATION}']"
    f" != oldObject.?metadata.?annotations[?'{COST_ANNOTATION}']))",
)
"""Pods are created and updated all the time, and few have something that we check."""

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
"""The fields of a Workload's status that are checked: rules read them, or they have times and quantities. Other fields
of the status change all the time."""


@dataclass(frozen=True, slots=True)
class RuleWithOperations:
    """admissionregistration/v1 RuleWithOperations, for the object itself (no subresource) or for its status."""

    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    subresource: str = ""
    conditions: tuple[Condition, ...] = ()
    """The match conditions. Only requests that meet all of them are sent."""
    selector: Json | None = None
    """The objectSelector; None for all objects."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A kind, and the requests about it that are sent to us."""

    kind: str
    plural: str
    group: str
    version: str
    namespaced: bool
    validating: tuple[RuleWithOperations, ...] = (RuleWithOperations(),)
    mutating: tuple[RuleWithOperations, ...] = ()
    has_conditions: bool = False
    """Whether the status of the kind has conditions."""
    required: bool = True
    """Whether a write fails if the webhook does not answer (failurePolicy Fail)."""
    configuration: str = CONFIGURATION

    @property
    def api_version(self) -> str:
        """The group and version, as in `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version


def _changes(fields: tuple[str, ...]) -> str:
    """The CEL expression that is true if one of these fields of the status changes.

    It is also true if the status is not an object. The schema must refuse that.
    """
    no_object = "[object, oldObject].exists(o, has(o.status) && type(o.status) != map)"
    return " || ".join(
        [no_object, *(f"object.?status.?{field} != oldObject.?status.?{field}" for field in fields)]
    )


def _with_label(key: str) -> Json:
    """The objectSelector for objects with the label. On an update the old object counts, too."""
    return {"matchExpressions": [{"key": key, "operator": "Exists"}]}


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
        validating=(RuleWithOperations(conditions=(MEMBER_OR_SAYS_MORE,)),),
        mutating=(RuleWithOperations(("CREATE",), conditions=(MEMBER,)),),
        required=False,
    ),
    Registration(
        "Job",
        "jobs",
        "batch",
        "v1",
        namespaced=True,
        validating=(RuleWithOperations(selector=_with_label(QUEUE_NAME_LABEL)),),
        mutating=(RuleWithOperations(("CREATE",), conditions=(NOT_READY_TO_WAIT,)),),
        required=False,
        configuration=QUEUES_CONFIGURATION,
    ),
)


def configurations(name: str = CONFIGURATION) -> list[Json]:
    """ValidatingWebhookConfiguration and MutatingWebhookConfiguration of that name, without a caBundle."""
    return [
        _configuration(name, "MutatingWebhookConfiguration", "mutate", lambda each: each.mutating),
        _configuration(name, "ValidatingWebhookConfiguration", "validate", lambda each: each.validating),
    ]


def _configuration(
    name: str, kind: str, purpose: str, rules: Callable[[Registration], tuple[RuleWithOperations, ...]]
) -> Json:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [
            _webhook(purpose, each, rule)
            for each in REGISTRATIONS
            if each.configuration == name
            for rule in rules(each)
        ],
    }


def mutating_webhook(kind: str) -> str:
    """The name of the mutating webhook of a kind. The kind must have one such webhook."""
    (name,) = (
        _name("mutate", each, rule) for each in REGISTRATIONS if each.kind == kind for rule in each.mutating
    )
    return name


def _name(purpose: str, registration: Registration, rule: RuleWithOperations) -> str:
    return ".".join(filter(None, (rule.subresource, registration.plural, purpose, OURS[0])))


def _webhook(purpose: str, registration: Registration, rule: RuleWithOperations) -> Json:
    webhook: Json = {
        "name": _name(purpose, registration, rule),
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
        excluded = {"key": NAMESPACE_NAME_LABEL, "operator": "NotIn"}
        webhook["namespaceSelector"] = {
            "matchExpressions": [{**excluded, "values": list(EXCLUDED_NAMESPACES)}]
        }
    if rule.selector is not None:
        webhook["objectSelector"] = rule.selector
    if rule.conditions:
        webhook["matchConditions"] = [
            {"name": condition, "expression": expression} for condition, expression in rule.conditions
        ]
    return webhook


def render(name: str = CONFIGURATION) -> str:
    """Both configurations of that name as YAML documents."""
    head = "# Made by python -m webhooks.registrations; do not edit.\n"
    return head + yaml.dump_all(configurations(name), Dumper=PlainDumper, sort_keys=False, width=110)


if __name__ == "__main__":
    for configuration, file in FILES.items():
        (Path(sys.argv[1]) / file).write_text(render(configuration), "utf-8")
