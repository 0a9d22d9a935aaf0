"""Webhooks and admission policies (`admissionregistration.k8s.io`), as far as they say which requests reach them.

What they look at beyond that is not read: match conditions, expressions and parameters. The fields mean the same in v1,
v1beta1 and v1alpha1.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from api.meta import LabelSelector, ObjectMeta, Struct
from api.selectors import check_selector

__all__ = [
    "Admission",
    "AdmissionPolicy",
    "AdmissionPolicyBinding",
    "MatchResources",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "PolicyBindingSpec",
    "PolicySpec",
    "Rule",
    "Selector",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "Webhook",
    "WebhookConfiguration",
]


class Selector(LabelSelector):
    """A valid label selector. An object with another one cannot be read."""

    def __post_init__(self) -> None:
        check_selector(self)


class Rule(Struct):
    """A RuleWithOperations, or a NamedRuleWithOperations of a policy."""

    operations: list[str] | None = None
    api_groups: list[str] | None = None
    api_versions: list[str] | None = None
    resources: list[str] | None = None
    """Such as `pods`, `pods/status`, `pods/*`, `*/status`, `*` and `*/*`."""
    scope: str | None = None
    """Namespaced, Cluster or `*`, which is the default."""
    resource_names: list[str] | None = None
    """Names of objects, only in a policy. Empty: any name."""


class Webhook(Struct):
    """A ValidatingWebhook or a MutatingWebhook."""

    rules: list[Rule] | None = None
    match_policy: str | None = None
    """Exact, or Equivalent, which is the default."""
    namespace_selector: Selector | None = None
    object_selector: Selector | None = None


class WebhookConfiguration(Struct):
    """Webhooks that are configured together."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    webhooks: list[Webhook] | None = None


class ValidatingWebhookConfiguration(WebhookConfiguration):
    """Its webhooks may refuse requests."""


class MutatingWebhookConfiguration(WebhookConfiguration):
    """Its webhooks may change objects, and refuse requests."""


class MatchResources(Struct):
    """Which requests a policy or a binding is about."""

    namespace_selector: Selector | None = None
    object_selector: Selector | None = None
    resource_rules: list[Rule] | None = None
    exclude_resource_rules: list[Rule] | None = None
    match_policy: str | None = None
    """Exact, or Equivalent, which is the default."""


class PolicySpec(Struct):
    """What of a policy decides whether a request reaches it."""

    match_constraints: MatchResources | None = None
    param_kind: Any = None
    """The kind of its parameters. If the API server does not know that kind, every request that matches is refused."""


class AdmissionPolicy(Struct):
    """A policy. Without a binding it is about no request."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PolicySpec = field(default_factory=PolicySpec)


class ValidatingAdmissionPolicy(AdmissionPolicy):
    """It may refuse requests."""


class MutatingAdmissionPolicy(AdmissionPolicy):
    """It may change objects, and refuse requests where it cannot."""


class PolicyBindingSpec(Struct):
    """Which policy holds for which requests."""

    policy_name: str = ""
    match_resources: MatchResources | None = None


class AdmissionPolicyBinding(Struct):
    """It puts a policy to work."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PolicyBindingSpec = field(default_factory=PolicyBindingSpec)


class ValidatingAdmissionPolicyBinding(AdmissionPolicyBinding):
    """Of a ValidatingAdmissionPolicy."""


class MutatingAdmissionPolicyBinding(AdmissionPolicyBinding):
    """Of a MutatingAdmissionPolicy."""


Admission = WebhookConfiguration | AdmissionPolicy | AdmissionPolicyBinding
